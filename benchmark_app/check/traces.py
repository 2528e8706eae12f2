"""How the rules drive an environment, and how they compare what it did."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.torch_env import TorchEnv

Outcome = dict[str, torch.Tensor]


def limit(env: TorchEnv) -> int:
    """Steps until the time limit."""
    return env.cfg.max_episode_steps


def is_exact(env: TorchEnv) -> bool:
    """Whether two runs are to be compared bitwise."""
    return env.backend.capabilities.deterministic


def random_actions(env: TorchEnv, steps: int) -> torch.Tensor:
    """Actions `[steps, N, num_actions]`, uniform in [-1, 1) and always the same."""
    shape = (steps, env.num_envs, env.num_actions)
    return (2.0 * torch.rand(*shape, generator=torch.Generator().manual_seed(0)) - 1.0).to(env.device)


def row_ids(env: TorchEnv, rows: list[int]) -> torch.Tensor:
    """Rows as `reset` takes them."""
    return torch.tensor(rows, dtype=torch.int64, device=env.device)


def outcome(state: TorchEnvState) -> Outcome:
    """A copy of all a step says of each row; `last.GROUP` is what the row saw last before any reset."""
    found = {"reward": state.reward, "terminated": state.terminated, "truncated": state.truncated}
    found["steps"] = state.info["steps"]
    for name, obs in state.obs.items():
        found[f"obs.{name}"] = found[f"last.{name}"] = obs
        if state.final_observation is not None and state.final_mask is not None:
            final = state.final_observation.get(name, obs)
            ended = state.final_mask.view(-1, *[1] * (obs.ndim - 1))
            found[f"last.{name}"] = torch.where(ended, final, obs)
    return {name: tensor.clone() for name, tensor in found.items()}


def current(env: TorchEnv) -> Outcome:
    """The outcome that `env.state` holds."""
    assert env.state is not None
    return outcome(env.state)


def record(env: TorchEnv, actions: torch.Tensor) -> list[Outcome]:
    """Take these steps; the outcome of each."""
    return [outcome(env.step(action)) for action in actions]


def only(found: Outcome, row: int) -> Outcome:
    """One row of an outcome, as an environment of one row would show it."""
    return {name: tensor[row : row + 1] for name, tensor in found.items()}


def tensors_of(state: TorchEnvState, change: Callable[[torch.Tensor], torch.Tensor] = lambda tensor: tensor) -> Outcome:
    """Every tensor in a state, `info` included."""
    found: dict[str, Any] = {
        "reward": state.reward,
        "terminated": state.terminated,
        "truncated": state.truncated,
        "final_mask": state.final_mask,
    }
    for part, tensors in (("obs", state.obs), ("info", state.info), ("final", state.final_observation or {})):
        found |= {f"{part}.{name}": tensor for name, tensor in tensors.items()}
    return {name: change(tensor) for name, tensor in found.items() if isinstance(tensor, torch.Tensor)}


def joints(env: TorchEnv) -> Outcome:
    """A copy of the robot's state."""
    return {name: tensor.clone() for name, tensor in env.backend.robot_state.items()}


def drained(env: TorchEnv) -> list[tuple[int, int, int, float]]:
    """Row, number, length and return of the episodes finished since the last call."""
    episodes = env.drain_episodes()
    columns = (episodes.rows, episodes.index, episodes.lengths, episodes.returns)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def misfits(state: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Exported states that fit no environment like the one this state is of."""
    yield {**state, "version": state["version"] + 1}
    yield {**state, "num_envs": state["num_envs"] + 1}
    yield {key: value for key, value in state.items() if key != "env"}
    for part in ("env", "backend"):
        name, tensor = next(iter(state[part].items()))
        for bad in (tensor.to(torch.complex64), tensor.unsqueeze(0)):
            yield {**state, part: {**state[part], name: bad}}
        yield {**state, part: {**state[part], "unheard_of": tensor}}
        lacking = copy.copy(state[part])
        del lacking[name]
        yield {**state, part: lacking}


def observations(name: str) -> bool:
    """Picks what is seen of a state, whatever led to it."""
    return name.startswith("obs.")


def before_a_reset(name: str) -> bool:
    """Picks what does not depend on which episode comes next in a row that just ended."""
    return not name.startswith("obs.")


def require_same(
    found: Sequence[Outcome],
    wanted: Sequence[Outcome],
    rows: list[int] | None = None,
    names: Callable[[str], bool] = lambda name: True,
    exact: bool = True,
) -> None:
    """Compare outcomes, one after the other, in some rows: bitwise, or closely where an engine promises no more."""
    assert len(found) == len(wanted)
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        for name in filter(names, other):
            a, b = (one[name], other[name]) if rows is None else (one[name][rows], other[name][rows])
            assert a.dtype == b.dtype, f"{name} is {a.dtype}, not {b.dtype}"
            same = torch.equal(a, b) if exact else torch.allclose(a.float(), b.float(), rtol=1e-3, atol=1e-4)
            assert same, f"{name} differs at {number}: {_shown(a)} is not {_shown(b)}"


def _shown(tensor: torch.Tensor) -> Any:
    """Its numbers, or how many there are and their sum: nobody reads those of an image."""
    return tensor.tolist() if tensor.numel() <= 400 else f"{list(tensor.shape)} of sum {float(tensor.double().sum())}"


def require_equal(name: str, found: object, wanted: object) -> None:
    """Say what differs."""
    assert found == wanted, f"{name}: {found} is not {wanted}"


def require_tensor(env: TorchEnv, name: str, tensor: object, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    """A finite tensor of this shape and type on the environment's device."""
    assert isinstance(tensor, torch.Tensor), f"{name} is no tensor"
    found = (tuple(tensor.shape), tensor.dtype, tensor.device)
    assert found == (shape, dtype, env.device), f"{name} is {found}, not {(shape, dtype, env.device)}"
    assert torch.isfinite(tensor).all(), f"{name} is not finite"


def require_refusal(call: Callable[[], object], kinds: tuple[type[Exception], ...], *words: str) -> None:
    """The call raises one of these, with these words in its message."""
    try:
        call()
    except kinds as error:
        said = str(error)
    else:
        raise AssertionError(f"expected {' or '.join(kind.__name__ for kind in kinds)}, and nothing was raised")
    for word in words:
        assert word in said, f"'{said}' does not say '{word}'"
