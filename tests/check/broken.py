"""Tasks that break one claim each and keep all others: `BROKEN` names them by the check that must catch them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from benchmark_app.check.walk import Live
from tests.conftest import ROOT

from .sliding.cfg import DECLARATION, SlidingCfg
from .sliding.env import Rail, SlidingEnv


def live(env_class=SlidingEnv, cfg=None, declaration=None, rail=Rail):
    cfg = cfg or SlidingCfg()

    def build(cfg, num_envs):
        return env_class(cfg, rail(env_class.scene(cfg, num_envs)), num_envs)

    return Live(cfg=cfg, declaration=declaration or DECLARATION, engine="rail", build=build)


class BurnsOut(SlidingEnv):
    """A motor held at its bound for long gives no number any more."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.held = torch.zeros(self.num_envs)

    def apply_action(self, actions, state):
        super().apply_action(actions, state)
        self.held.add_(1.0).mul_(self.action.abs() == 1.0)
        self.control[self.held > 15] = torch.nan
        return self.control

    def initial_state(self, rows, uniform):
        self.held.masked_fill_(rows, 0.0)
        return super().initial_state(rows, uniform)


class KeepsSuccessToItself(SlidingEnv):
    def episode_success(self, state, env_ids):
        return None


class MeasuresInfinity(SlidingEnv):
    def episode_metrics(self, state, env_ids):
        found = super().episode_metrics(state, env_ids)
        return torch.where(found > 1.2, torch.inf, found)


class MeasuresAnew(SlidingEnv):
    """What it measures depends on how often it is asked."""

    times = itertools.count()

    def episode_metrics(self, state, env_ids):
        return super().episode_metrics(state, env_ids) + next(self.times)


class ForgetsATerm(SlidingEnv):
    def update_state(self, state):
        super().update_state(state)
        state.reward.add_(0.001)
        return state


class Stiff(Rail):
    """Twice the damping."""

    def __init__(self, spec):
        super().__init__(spec, damping=1.0)


class Hasty(Rail):
    """One physics step, whatever the decimation."""

    def step(self, effort):
        self.joint_vel.add_(effort - self.damping * self.joint_vel, alpha=self.spec.physics_dt)
        self.joint_pos.add_(self.joint_vel, alpha=self.spec.physics_dt)


class Slow(Rail):
    """Its physics step is half as long as it says."""

    def step(self, effort):
        for _ in range(self.spec.decimation):
            self.joint_vel.add_(effort - self.damping * self.joint_vel, alpha=0.5 * self.spec.physics_dt)
            self.joint_pos.add_(self.joint_vel, alpha=0.5 * self.spec.physics_dt)


@dataclass(kw_only=True)
class NamesTooFew(SlidingCfg):
    def conventions(self):
        told = super().conventions()
        return told | {"observations": {"policy": told["observations"]["policy"][:1]}}


class BorrowsItsRobot(SlidingEnv):
    @staticmethod
    def scene(cfg, num_envs):
        return replace(SlidingEnv.scene(cfg, num_envs), mjcf=str(ROOT / "README.md"))


class EndsEarly(SlidingEnv):
    """Its time limit is one step short of what its settings say."""

    def __init__(self, cfg, *args, **kwargs):
        super().__init__(replace(cfg, episode_length_s=cfg.episode_length_s - cfg.control_dt), *args, **kwargs)


class PaysForWhatWasAsked(SlidingEnv):
    """The cost is that of the action as it came, not as it is applied."""

    def apply_action(self, actions, state):
        control = super().apply_action(actions, state)
        self.action.copy_(actions[:, 0])
        return control


@dataclass(kw_only=True)
class HidesItsState(SlidingCfg):
    def canonical_key(self, group):
        return f"observation.own.{group}"


class Shifted(SlidingEnv):
    """What it sees is a millimetre off."""

    off: ClassVar = 0.0

    def observe(self, state):
        super().observe(state)
        state.obs["policy"].add_(self.off)


BROKEN = {
    "random_and_extreme_actions_do_no_harm": live(BurnsOut),
    "success_is_told_at_every_step": live(KeepsSuccessToItself),
    "metrics_are_told_at_every_step": live(MeasuresInfinity),
    "the_end_is_told_as_recorded": live(MeasuresAnew),
    "reward_terms_sum_to_the_reward": live(ForgetsATerm),
    "the_joints_are_the_declared_ones": live(rail=Stiff),
    "the_controller_is_the_declared_one": live(declaration=replace(DECLARATION, control="joint_position")),
    "the_conventions_fit_the_environment": live(cfg=NamesTooFew()),
    "the_robot_is_made_of_declared_files": live(
        cfg=SlidingCfg(module="tests.check.borrowing"), env_class=BorrowsItsRobot
    ),
    "the_control_step_takes_its_time": live(rail=Hasty),
    "the_time_limit_is_exact": live(EndsEarly),
    "actions_are_bounded": live(PaysForWhatWasAsked),
    "gymnasium_sees_success_and_metrics": live(cfg=HidesItsState()),
}
