"""Environments that break the contract, one rule each, and are sound in everything else.

`BROKEN` names them by the rule of `benchmark_app/check/contract.py` that must catch them, and no other rule may.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import torch

from benchmark_app.physics.base import RECEIPT_VERSION, CompletionToken
from tests.envs.doubles import GliderEnv


class Sound(GliderEnv):
    """The glider with short episodes that end in both ways."""

    def __init__(self, num_envs):
        super().__init__(num_envs, steps=8, limit=2.0)
        # Position and velocity are all a glider has, so that what an engine exports by default is everything.
        self.backend.capabilities = replace(self.backend.capabilities, exact_state=True)


class SeedsFromElsewhere(Sound):
    """Seeding mixes in how often it was done before in this process."""

    _times = itertools.count()

    def seed(self, seed):
        constructing = not hasattr(self, "spoil")
        super().seed(seed if constructing else seed + next(self._times))

    def seed_episodes(self, seed):
        super().seed_episodes(seed + next(self._times))


class ResetTouchesNeighbours(Sound):
    """Resetting some rows nudges the others a little."""

    def reset(self, env_ids=None):
        found = super().reset(env_ids)
        if env_ids is not None:
            others = torch.ones(self.num_envs, 1)
            others[env_ids] = 0.0
            self.backend.joint_vel.add_(1e-6 * others)
        return found


class RemembersTheLastEpisode(Sound):
    """The effort is smoothed over steps, and a reset forgets to clear what that remembers."""

    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.smooth = torch.zeros(num_envs, 1)

    def apply_action(self, actions, state):
        self.smooth.mul_(0.5).add_(actions)
        return super().apply_action(self.smooth, state)

    def task_state(self):
        return {"smooth": self.smooth}


class RowsPushOneAnother(Sound):
    """A row is also moved by its neighbour's action."""

    def apply_action(self, actions, state):
        return super().apply_action(actions + 0.01 * actions.roll(1, 0), state)


class EndsInBothWays(Sound):
    """The task itself ends the episode at its last step, and the time limit is then set besides."""

    def update_state(self, state):
        super().update_state(state)
        self.at_limit = state.info["steps"] + 1 >= self.cfg.max_episode_steps
        state.terminated.logical_or_(self.at_limit)
        return state

    def step(self, actions):
        state = super().step(actions)
        state.truncated |= state.terminated & self.at_limit
        return state


class CountsOneStepTooFew(Sound):
    """The lengths of finished episodes are one step short."""

    def drain_episodes(self):
        episodes = super().drain_episodes()
        episodes.tally[0] -= 1
        return episodes


class ForgetsToExportItsBuffer(Sound):
    """The effort is smoothed over steps and cleared by a reset, but the task does not say that it is state."""

    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.smooth = torch.zeros(num_envs, 1)

    def apply_action(self, actions, state):
        self.smooth.mul_(0.5).add_(actions)
        return super().apply_action(self.smooth, state)

    def initial_state(self, rows, uniform):
        self.smooth.masked_fill_(rows.unsqueeze(1), 0.0)
        return super().initial_state(rows, uniform)


class DeclaresItsSnapshotApproximate(ForgetsToExportItsBuffer):
    """The same, declared: nothing to catch."""

    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.backend.capabilities = replace(self.backend.capabilities, exact_state=False)


class DeclaresItsNoise(Sound):
    """Efforts are a little uncertain, and the engine says that it is not deterministic: nothing to catch."""

    _noise = torch.Generator()

    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.backend.capabilities = replace(self.backend.capabilities, deterministic=False, exact_state=False)

    def apply_action(self, actions, state):
        noise = torch.rand(actions.shape, generator=self._noise)
        return super().apply_action(actions + 1e-6 * noise, state)


class ShowsLessThanItSays(Sound):
    """One group is declared wider than it is."""

    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.obs_groups_spec = {"policy": 2, "critic": 3}


class ClosesOnce(Sound):
    """The second `close` fails."""

    def close(self):
        if self.backend.closed:
            raise RuntimeError("the glider is gone")
        super().close()


class StepsWhenClosed(Sound):
    """Closed, it goes on returning its last state."""

    def step(self, actions):
        return self.state if self.backend.closed else super().step(actions)


class ReusesItsBuffers(Sound):
    """Every state holds the same reward tensor."""

    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.buffer = torch.zeros(num_envs)

    def step(self, actions):
        state = super().step(actions)
        state.reward = self.buffer.copy_(state.reward)
        return state


class BeginsTerminated(Sound):
    """The first state looks as if every row had just terminated."""

    def init_state(self):
        state = super().init_state()
        state.terminated.fill_(True)
        return state


class PaysFrozenRows(Sound):
    """A frozen row goes on earning."""

    def step(self, actions):
        state = super().step(actions)
        if "frozen" in state.info:
            state.reward += state.info["frozen"]
        return state


class HandsOutReceipts(Sound):
    """Steps publish a receipt that nobody declared."""

    def step(self, actions):
        state = super().step(actions)
        state.info["completion"] = CompletionToken(RECEIPT_VERSION, "glider", 0)
        return state


class MasksNothing(Sound):
    """Every row's final observation is said to be valid."""

    def step(self, actions):
        state = super().step(actions)
        if state.final_mask is not None:
            state.final_mask.fill_(True)
        return state


class SanitisesActions(Sound):
    """Actions that are no numbers become 0."""

    def step(self, actions):
        return super().step(actions.nan_to_num() if isinstance(actions, torch.Tensor) else actions)


BROKEN = {
    "same_seed_same_run": SeedsFromElsewhere,
    "resetting_rows_leaves_the_others_alone": ResetTouchesNeighbours,
    "a_reset_equals_a_fresh_start": RemembersTheLastEpisode,
    "rows_do_not_know_of_one_another": RowsPushOneAnother,
    "terminated_and_truncated_are_disjoint": EndsInBothWays,
    "episodes_are_counted_exactly": CountsOneStepTooFew,
    "an_exported_state_continues": ForgetsToExportItsBuffer,
    "observations_match_their_spec": ShowsLessThanItSays,
    "closing_twice_is_harmless": ClosesOnce,
    "a_closed_environment_says_so": StepsWhenClosed,
    "returned_states_are_the_callers": ReusesItsBuffers,
    "the_first_state_has_nothing_finished": BeginsTerminated,
    "finished_rows_freeze": PaysFrozenRows,
    "receipts_are_as_declared": HandsOutReceipts,
    "terminal_observations_stand_apart": MasksNothing,
    "bad_actions_are_refused": SanitisesActions,
}
