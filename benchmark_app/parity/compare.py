"""The same seeds and actions wherever environments run, and where what came of them differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from benchmark_app.check.traces import Outcome, current, is_exact, limit, outcome, random_actions, row_ids
from benchmark_app.envs.torch_env import TorchEnv

SEED = 7
CLOSE = 1e-6
"""Largest difference of an observation, in its own unit."""
LOOSE = 1e-3
"""The same where the engine promises neither repeatability nor rows that are independent: then first states alone."""
Episode = tuple[int, int, int, float]


@dataclass(frozen=True)
class Moment:
    """One thing that was done, and what came of it.

    Attributes:
        what: `step 12`, `reset of all rows`.
        outcome: What all rows showed.
    """

    what: str
    outcome: Outcome


@dataclass(frozen=True)
class Played:
    """What an environment did.

    Attributes:
        moments: In order; the state after the first start is the first.
        episodes: Row, number, length and return of every episode that ended, in order.
        resets: How often rows were reset by the caller.
        exact: Whether the engine promises the same numbers wherever and in whatever company a row is computed.
    """

    moments: list[Moment]
    episodes: list[Episode]
    resets: int
    exact: bool


@dataclass(frozen=True)
class Verdict:
    """How two environments compare.

    Attributes:
        steps: Control steps compared.
        episodes: Episodes that ended in them.
        largest: Largest difference of an observation.
        allowed: The largest there may be.
        bitwise: Every number was the same.
        difference: The first thing that must not differ and does: field, row and step; "" if there is none.
    """

    steps: int
    episodes: int
    largest: float
    allowed: float
    bitwise: bool
    difference: str


def play(env: TorchEnv) -> Played:
    """Play random actions through the end of an episode in every row and three resets by the caller.

    The environment is made for episodes short enough for that, and not yet started.
    """
    longest = limit(env)
    actions = random_actions(env, 2 * longest + 5)
    env.seed(SEED)
    env.init_state()
    moments = [Moment("the first start", current(env))]

    def step(numbers: range) -> None:
        for number in numbers:
            moments.append(Moment(f"step {number + 1}", outcome(env.step(actions[number]))))

    step(range(longest + 5))  # every row comes to an end by itself
    env.reset()
    moments.append(Moment(f"the reset of all rows after step {longest + 5}", current(env)))
    step(range(longest + 5, longest + 5 + longest // 2))
    half = longest + 5 + longest // 2
    env.reset(row_ids(env, [env.num_envs - 1]))
    moments.append(Moment(f"the reset of the last row after step {half}", current(env)))
    step(range(half, len(actions)))
    env.seed_episodes(SEED)
    env.reset()
    moments.append(Moment("the reset to episodes of evaluation", current(env)))
    ended = env.drain_episodes()
    columns = (ended.rows, ended.index, ended.lengths, ended.returns)
    episodes = list(zip(*(column.tolist() for column in columns), strict=True))
    exact = is_exact(env) and env.backend.capabilities.row_independent
    return Played(moments, episodes, resets=3, exact=exact)


def compare(base: Played, other: Played) -> Verdict:
    """Hold one environment against another.

    Observations may differ by `CLOSE`; rewards, flags, steps and episodes must be the same. Of an engine that does not
    promise it, only the first states are compared, to `LOOSE`.
    """
    exact = base.exact and other.exact
    allowed = CLOSE if exact else LOOSE
    moments = list(zip(base.moments, other.moments, strict=True))
    compared = moments if exact else moments[:1]
    largest, bitwise, difference = 0.0, True, ""
    for ours, theirs in compared:
        for name, a in ours.outcome.items():
            b = theirs.outcome[name]
            apart = _apart(a, b)
            bitwise = bitwise and not apart.any()
            seen = name.startswith(("obs.", "last."))
            if seen:
                largest = max(largest, float(apart.max()))
            if not difference and bool((apart > (allowed if seen else 0.0)).any()):
                difference = _told(name, theirs.what, a, b, apart)
    if exact and not difference and base.episodes != other.episodes:
        difference = _episodes_differ(base.episodes, other.episodes)
        bitwise = False
    steps = sum(moment.what.startswith("step") for moment, _ in compared)
    return Verdict(steps, len(other.episodes) if exact else 0, largest, allowed, bitwise, difference)


def _apart(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """How far numbers are apart; NaN is as far as can be."""
    apart = (a.double() - b.double()).abs()
    return torch.where(apart.isnan(), torch.inf, apart)


def _told(name: str, when: str, a: torch.Tensor, b: torch.Tensor, apart: torch.Tensor) -> str:
    """The field, row and step of the largest difference."""
    at = tuple(int(index) for index in torch.unravel_index(apart.argmax(), apart.shape))
    field = {"obs": "observation", "last": "last observation"}.get(name.partition(".")[0], name)
    group = f" '{name.partition('.')[2]}'" if "." in name else ""
    place = f"[{', '.join(map(str, at[1:]))}]" if len(at) > 1 else ""
    return f"{field}{group}{place} of row {at[0]} at {when}: {b[at].item():.9g} instead of {a[at].item():.9g}"


def _episodes_differ(ours: Sequence[Episode], theirs: Sequence[Episode]) -> str:
    for number, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a != b:
            words = "row, number, length, return"
            return f"episode {number + 1} in order of ending ({words}): {b} instead of {a}"
    return f"{len(theirs)} episodes ended instead of {len(ours)}"
