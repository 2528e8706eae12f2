"""The rules of the environment contract: what every environment keeps, whatever its task and its engine.

A rule is a function of a factory, which makes a new environment of as many rows as it is asked for, not yet started.
It raises where the environment breaks the rule (AssertionError, or what the environment itself raised) and
`unittest.SkipTest` where the rule does not concern its engine. Nothing here needs pytest, so that anyone's environment
can be put through `RULES`; short episodes, of some sixty steps, that end in both ways, make them quick and sharp.
Each looks at one thing only: an environment that breaks one of them passes all others, as far as that can be.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any
from unittest import SkipTest

import numpy as np
import torch

from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.envs.training_state import VERSION

from .traces import (
    Outcome,
    before_a_reset,
    current,
    drained,
    is_exact,
    joints,
    limit,
    misfits,
    observations,
    only,
    outcome,
    random_actions,
    record,
    require_equal,
    require_refusal,
    require_same,
    require_tensor,
    row_ids,
    tensors_of,
)

Factory = Callable[[int], TorchEnv]

ROWS = 4
PARTS = ("env", "backend", "task")


def same_seed_same_run(make: Factory) -> None:
    """Two environments of one seed do bitwise the same, in training and in evaluation."""
    with closing(make(ROWS)) as one, closing(make(ROWS)) as two:
        if not is_exact(one):
            raise SkipTest("the engine does not declare itself deterministic")
        actions = random_actions(one, 2 * limit(one))
        runs: list[list[Outcome]] = []
        for env in (one, two):
            env.seed(7)
            env.init_state()
            run = record(env, actions)
            env.seed_episodes(7)
            env.reset()
            runs.append(run + record(env, actions))
        require_same(runs[0], runs[1])


def resetting_rows_leaves_the_others_alone(make: Factory) -> None:
    """Rows that `reset` was not asked for stay bitwise as they were, now and in all steps to come."""
    with closing(make(ROWS)) as env, closing(make(ROWS)) as untouched:
        actions = random_actions(env, 2 * limit(env))
        start = limit(env) // 2
        for each in (env, untouched):
            each.init_state()
            record(each, actions[:start])
        chosen, others = [0, 2], [1, 3]
        before = current(env)
        env.reset(row_ids(env, chosen))
        require_same([current(env)], [before], others, names=observations)
        assert torch.equal(current(env)["steps"][others], before["steps"][others]), "a reset counts other rows anew"
        require_same(record(env, actions[start:]), record(untouched, actions[start:]), others, exact=is_exact(env))


def a_reset_equals_a_fresh_start(make: Factory) -> None:
    """An episode is the same whatever its row went through before, and whether it was reset by itself or by a caller.

    The n-th episode of a row of a fresh environment, where nothing was ever stepped, is what the n-th is compared to.
    """
    for by_caller in (False, True):
        with closing(make(ROWS)) as env:
            actions = random_actions(env, 2 * limit(env))
            env.init_state()
            start, resets = 0, torch.zeros(ROWS, dtype=torch.int64)
            while not resets.any():
                state = env.step(actions[start])
                start, resets = start + 1, (state.terminated | state.truncated).long()
            if by_caller:
                env.reset()
                resets += 1
            first, rest = current(env), record(env, actions[start:])
            exact = is_exact(env)
        for count in sorted(set(resets.tolist()) - {0}):
            with closing(make(ROWS)) as fresh:
                fresh.init_state()
                for _ in range(count):
                    fresh.reset()
                rows = (resets == count).nonzero().flatten().tolist()
                require_same([first], [current(fresh)], rows, names=observations, exact=exact)
                require_same(rest, record(fresh, actions[start:]), rows, exact=exact)


def rows_do_not_know_of_one_another(make: Factory) -> None:
    """N rows do what N environments of one row do; row r of N plays episode r first.

    Where an engine claims no independence its rows begin alike; contacts then multiply what rounding differs by.
    """
    with closing(make(ROWS)) as many:
        actions = random_actions(many, limit(many))
        many.init_state()
        first, together = current(many), record(many, actions)
        independent = many.backend.capabilities.row_independent
        exact = is_exact(many) and independent
    for row in range(ROWS):
        with closing(make(1)) as single:
            single.init_state()
            for _ in range(row):
                single.reset()
            require_same([only(first, row)], [current(single)], names=observations, exact=exact)
            for number, action in enumerate(actions if independent else ()):
                alone = outcome(single.step(action[row : row + 1]))
                # A row that ends shows the next episode, which is another one here and there.
                require_same([only(together[number], row)], [alone], names=before_a_reset, exact=exact)
                if alone["terminated"] | alone["truncated"]:
                    break


def terminated_and_truncated_are_disjoint(make: Factory) -> None:
    """An episode ends in one way: by the task's rules, or else by the time limit."""
    with closing(make(ROWS)) as env:
        env.init_state()
        ended = 0
        for action in random_actions(env, 4 * limit(env)):
            state = env.step(action)
            both = (state.terminated & state.truncated).nonzero().flatten().tolist()
            assert not both, f"terminated and truncated both set in rows {both}"
            ended += int((state.terminated | state.truncated).sum())
        assert ended >= ROWS, "episodes outlast the time limit"


def episodes_are_counted_exactly(make: Factory) -> None:
    """Lengths, returns and numbers of finished episodes are those a caller finds by adding up what `step` returned."""
    with closing(make(ROWS)) as env:
        longest = limit(env)
        env.init_state()
        number, steps, returns = list(range(ROWS)), [0] * ROWS, [np.float32(0)] * ROWS
        expected = []
        for at, action in enumerate(random_actions(env, 3 * longest)):
            if at == longest // 2:  # an abandoned episode counts for nothing
                env.reset(row_ids(env, [0]))
                number[0], steps[0], returns[0] = number[0] + ROWS, 0, np.float32(0)
            found = outcome(env.step(action))
            for row in range(ROWS):
                steps[row] += 1
                returns[row] += np.float32(found["reward"][row].item())
                terminated, truncated = bool(found["terminated"][row]), bool(found["truncated"][row])
                assert not truncated or steps[row] == longest, f"row {row} truncated after {steps[row]} steps"
                assert steps[row] < longest or terminated or truncated, f"row {row} outlasts {longest} steps"
                if terminated or truncated:
                    expected.append((row, number[row], steps[row], float(returns[row])))
                    number[row], steps[row], returns[row] = number[row] + ROWS, 0, np.float32(0)
            assert found["steps"].tolist() == steps, f"info['steps'] is {found['steps'].tolist()}, not {steps}"
        require_equal("episodes", drained(env), expected)
        require_equal("episodes drained again", drained(env), [])


def an_exported_state_continues(make: Factory) -> None:
    """What is exported, imported elsewhere, continues: bitwise where the engine declares an exact snapshot.

    Where it does not, joint state (to rounding) and step counts are those exported, and nothing is promised for what
    follows. A state that does not fit is refused, and changes nothing.
    """
    with closing(make(ROWS)) as env, closing(make(ROWS)) as fresh, closing(make(ROWS)) as used:
        start = limit(env) + limit(env) // 2
        actions = random_actions(env, start + 2 * limit(env))
        env.init_state()
        used.init_state()
        record(env, actions[:start])
        record(used, actions[1:3])
        try:
            state = env.export_training_state()
        except NotImplementedError as error:  # as plain Gymnasium environments have to say
            raise SkipTest(str(error)) from None
        require_equal("keys", set(state), {"version", "num_envs", "autoreset", "env", "backend", "task"})
        require_equal("header", (state["version"], state["num_envs"], state["autoreset"]), (VERSION, ROWS, True))
        for part in PARTS:
            for name, tensor in state[part].items():
                assert isinstance(tensor, torch.Tensor), f"{part}.{name} is no tensor"
                assert tensor.device.type == "cpu", f"{part}.{name} is not on the CPU"
        kept = copy.deepcopy(state)
        for bad in misfits(state):
            require_refusal(partial(env.import_training_state, bad), (TypeError, ValueError))
        held, steps = joints(env), current(env)["steps"]
        drained(env)
        wanted = record(env, actions[start:])
        episodes = drained(env)
        for part in PARTS:
            require_same([state[part]], [kept[part]])
        for target in (fresh, used):
            target.import_training_state(state)
            drained(target)
            exact = env.backend.capabilities.exact_state  # if not, it may round, as PhysX does a floating root
            require_same([joints(target)], [held], exact=exact)
            if exact:
                require_same(record(target, actions[start:]), wanted)
                require_equal("episodes", drained(target), episodes)
            else:
                found = outcome(target.step(actions[start]))
                going_on = ~(found["terminated"] | found["truncated"])
                assert torch.equal(found["steps"][going_on], steps[going_on] + 1), "step counts were not restored"


def observations_match_their_spec(make: Factory) -> None:
    """Groups, widths, types and spaces are those declared, in every state returned, and every number is finite."""
    with closing(make(ROWS)) as env:
        kinds: dict[str, tuple[tuple[int, ...], torch.dtype]] = {
            name: ((ROWS, width), torch.float32) for name, width in env.obs_groups_spec.items()
        }
        kinds |= {name: ((ROWS, *of.shape), getattr(torch, of.dtype)) for name, of in env.image_groups.items()}
        seen = [name for name in kinds if name == "policy" or name in env.image_groups]
        assert seen, "there is neither a group 'policy' nor an image"
        space: Any = env.observation_space if env.image_groups else {"policy": env.observation_space}
        spaces = {name: (ROWS, *part.shape) for name, part in space.items()}
        require_equal("observation_space", spaces, {name: kinds[name][0] for name in seen})
        require_equal("action_space", env.action_space.shape, (env.num_actions,))
        states = [env.init_state()]
        for action in random_actions(env, limit(env) + 2):
            states.append(env.step(action))
        groups = [state.obs for state in states] + [env.reset()[0], env.reset(row_ids(env, [1]))[0]]
        groups += [state.final_observation for state in states if state.final_observation is not None]
        for obs in groups:
            require_equal("observation groups", list(obs), list(kinds))
            for name, (shape, dtype) in kinds.items():
                require_tensor(env, name, obs[name], shape, dtype)
        for state in states:
            require_tensor(env, "reward", state.reward, (ROWS,), torch.float32)
            for name in ("terminated", "truncated"):
                require_tensor(env, name, getattr(state, name), (ROWS,), torch.bool)
            require_tensor(env, "steps", state.info["steps"], (ROWS,), torch.int64)


def closing_twice_is_harmless(make: Factory) -> None:
    """`close` may be called again, started or not."""
    for started in (False, True):
        env = make(ROWS)
        if started:
            env.init_state()
        env.close()
        env.close()


def a_closed_environment_says_so(make: Factory) -> None:
    """Whatever would start or step an environment that was closed raises a RuntimeError that says it is closed."""
    env = make(ROWS)
    env.init_state()
    action = random_actions(env, 1)[0]
    env.close()
    for call in (lambda: env.step(action), env.init_state, env.reset, lambda: env.reset(row_ids(env, [0]))):
        require_refusal(call, (RuntimeError,), "closed")


def returned_states_are_the_callers(make: Factory) -> None:
    """A state once returned never changes, and a caller may overwrite everything in it."""
    with closing(make(ROWS)) as env, closing(make(ROWS)) as overwritten:
        actions = random_actions(env, 2 * limit(env))
        kept = [env.init_state()]
        copies = [tensors_of(kept[0], torch.clone)]
        for tensor in tensors_of(overwritten.init_state()).values():
            tensor.fill_(1)
        for at, action in enumerate(actions):
            if at == limit(env) // 2:
                for each in (env, overwritten):
                    each.reset(row_ids(each, [0]))
            kept.append(env.step(action))
            copies.append(tensors_of(kept[-1], torch.clone))
            state = overwritten.step(action.clone())
            require_same([outcome(state)], [outcome(kept[-1])], exact=is_exact(env))
            for tensor in tensors_of(state).values():
                tensor.fill_(1)
        require_same([tensors_of(state) for state in kept], copies)


def the_first_state_has_nothing_finished(make: Factory) -> None:
    """Before the first step, and after `reset()`, no row has ended, earned or stepped anything."""
    with closing(make(ROWS)) as env:
        assert env.state is None, "there is a state before the first episodes"
        first = env.init_state()
        record(env, random_actions(env, limit(env)))
        env.reset()
        for state in (first, env.state):
            assert state is not None, "there is no state after a reset"
            for name in ("terminated", "truncated"):
                assert not getattr(state, name).any(), f"{name} is set in the first state"
            assert not state.reward.any(), "there is a reward before the first step"
            assert not state.info["steps"].any(), "steps are counted before the first one"
            assert state.final_observation is None, "a final observation before the first step"
            assert state.final_mask is None, "a final mask before the first step"


def finished_rows_freeze(make: Factory) -> None:
    """Without autoreset a row that ended stays as it ended, whatever is done to it, until it is reset."""
    with closing(make(ROWS)) as env:
        env.set_autoreset(False)
        env.init_state()
        ended = torch.zeros(ROWS, dtype=torch.bool, device=env.device)
        before = current(env)
        count = 0
        for action in random_actions(env, limit(env) + 5):
            action[ended] = torch.nan  # what a frozen row is told is nobody's business
            state = env.step(action)
            found = outcome(state)
            frozen = ended
            assert state.final_observation is None, "a final observation without autoreset"
            assert torch.equal(state.info["frozen"], frozen), "info['frozen'] is not the rows that ended earlier"
            assert not found["reward"][frozen].any(), "a frozen row earns a reward"
            now = found["terminated"] | found["truncated"]
            assert not now[frozen].any(), "a frozen row ends again"
            require_same([found], [before], frozen.nonzero().flatten().tolist(), names=observations)
            assert torch.equal(found["steps"], before["steps"] + ~frozen), "a frozen row counts steps"
            count += int(now.sum())
            ended, before = ended | now, found
        assert ended.all(), "an episode outlasts the time limit"
        assert count == len(drained(env)) == ROWS, "a frozen row adds an episode"
        env.reset(row_ids(env, [1]))
        action[:], action[1] = torch.nan, 0.0
        state = env.step(action)
        assert state.info["frozen"].tolist() == [True, False, True, True], "a reset does not thaw its row alone"
        assert state.info["steps"][1] == 1, "a row that was reset does not step"


def receipts_are_as_declared(make: Factory) -> None:
    """Every step publishes a receipt where the engine declares it, last and never stale; on a CPU none does."""
    with closing(make(ROWS)) as env:
        declared = env.backend.capabilities.completion_receipts
        require_equal("produces_completion_receipts", env.produces_completion_receipts, declared)
        assert not (declared and env.device.type == "cpu"), "a CPU is done when a step returns"
        assert "completion" not in env.init_state().info
        sequence = -1
        for action in random_actions(env, 3):
            info = env.step(action).info
            require_equal("'completion' in info", "completion" in info, declared)
            if declared:
                assert list(info)[-1] == "completion", "the receipt was not published last"
                assert info["completion"].sequence > sequence, "a stale receipt"
                sequence = info["completion"].sequence
                info["completion"].wait_before_read()


def terminal_observations_stand_apart(make: Factory) -> None:
    """`final_observation` holds what an episode ended with, and `final_mask` exactly the rows it is valid for."""
    with closing(make(ROWS)) as env, closing(make(ROWS)) as held:
        held.set_autoreset(False)  # shows terminal observations as they are
        env.init_state()
        held.init_state()
        for action in random_actions(env, limit(env)):
            state, terminal = env.step(action), held.step(action)
            ended = state.terminated | state.truncated
            if ended.any():
                break
            assert state.final_observation is None, "a final observation though no row ended"
            assert state.final_mask is None, "a final mask though no row ended"
        assert state.final_observation is not None, "no final observation though a row ended"
        assert state.final_mask is not None, "no final mask though a row ended"
        assert torch.equal(state.final_mask, ended), "final_mask is not the rows that ended"
        rows = ended.nonzero().flatten().tolist()
        require_same([state.final_observation], [terminal.obs], rows, exact=is_exact(env))


def bad_actions_are_refused(make: Factory) -> None:
    """What is no finite tensor of the right type and shape is refused by name, and by row where rows are to blame."""
    with closing(make(ROWS)) as env:
        env.init_state()
        action = random_actions(env, 1)[0]
        unfit: Any = ((action.cpu().numpy(), TypeError), (action.double(), TypeError), (action[:-1], ValueError))
        for bad, kind in unfit:
            require_refusal(partial(env.step, bad), (kind,), "actions")
        action[1, 0] = torch.nan
        require_refusal(lambda: env.step(action), (ValueError,), "actions", "row 1")


RULES: tuple[Callable[[Factory], None], ...] = (
    same_seed_same_run,
    resetting_rows_leaves_the_others_alone,
    a_reset_equals_a_fresh_start,
    rows_do_not_know_of_one_another,
    terminated_and_truncated_are_disjoint,
    episodes_are_counted_exactly,
    an_exported_state_continues,
    observations_match_their_spec,
    closing_twice_is_harmless,
    a_closed_environment_says_so,
    returned_states_are_the_callers,
    the_first_state_has_nothing_finished,
    finished_rows_freeze,
    receipts_are_as_declared,
    terminal_observations_stand_apart,
    bad_actions_are_refused,
)
"""Every rule; each stands for itself."""
