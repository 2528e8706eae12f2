"""An engine without physics, so that what a task makes of a state is tested exactly, for any state, in milliseconds."""

from __future__ import annotations

import torch

from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.capabilities import BackendCapabilities
from benchmark_app.physics.scene import RobotFacts


class Puppet(SimBackend):
    """Robots that a step takes to whatever state was written into `then`, by the names of `robot_state`."""

    capabilities = BackendCapabilities(
        devices=("cpu",),
        row_reset=True,
        row_independent=True,
        deterministic=True,
        graph_replay=False,
        floating_base=True,
        contacts=True,
        exact_state=True,
    )

    def __init__(self, spec):
        n, joints = spec.num_envs, len(spec.joints)
        self.num_envs, self.joint_names, self.device = n, spec.joints, torch.device("cpu")
        self.joint_pos, self.joint_vel = torch.zeros(2, n, joints)
        self.root_pose, self.root_vel = torch.zeros(n, 7), torch.zeros(n, 6)
        self.then = {name: part.clone() for name, part in self.robot_state.items()}
        self._fault = torch.zeros(())

    def step(self, control):
        for name, part in self.robot_state.items():
            part.copy_(self.then[name])

    def reset_rows(self, mask, joint_pos, joint_vel, root_pose=None, root_vel=None):
        parts = zip(self.robot_state.items(), (joint_pos, joint_vel, root_pose, root_vel), strict=True)
        for (name, part), first in parts:
            part[mask] = first[mask]
            self.then[name][mask] = first[mask]

    @property
    def fault(self):
        return self._fault

    def describe_fault(self):
        return "a string broke"

    def robot_facts(self):
        return RobotFacts(joints=(), links=(), gravity=(0.0, 0.0, 0.0), physics_dt=1.0)

    def diagnostics(self):
        return {}

    def close(self):
        pass
