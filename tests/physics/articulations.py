"""Doubles of what PhysX offers: articulations in plain tensors, and the part of Isaac Sim that reaches them."""

from __future__ import annotations

import torch

from benchmark_app.physics.physx.view import Field

LINKS = ("base", "upper", "lower")
COMS = ((0.1, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 0.3))


class FakeView:
    """N articulations whose every degree of freedom is a free unit mass; it remembers the calls it got, in order."""

    def __init__(self, num_envs, joints, fixed_base, shapes=0, limits=None):
        self.joint_names, self.link_names, self.fixed_base = joints, LINKS, fixed_base
        n, dofs, links = num_envs, len(joints), len(LINKS)
        self.tensors = {
            Field.DOF_POSITION: torch.full((n, dofs), 7.0),  # whatever an engine starts with
            Field.DOF_VELOCITY: torch.full((n, dofs), 7.0),
            Field.DOF_EFFORT: torch.zeros(n, dofs),
            Field.ROOT_POSE: torch.zeros(n, 7),
            Field.ROOT_VELOCITY: torch.zeros(n, 6),
            Field.LINK_POSE: torch.zeros(n, links, 7),
            Field.LINK_VELOCITY: torch.zeros(n, links, 6),
            Field.DOF_LIMIT: torch.tensor([-3e38, 3e38]).repeat(n, dofs, 1),
            Field.DOF_DAMPING: torch.zeros(n, dofs),
            Field.DOF_ARMATURE: torch.zeros(n, dofs),
            Field.DOF_FRICTION: torch.zeros(n, dofs, 3),
            Field.LINK_MASS: torch.ones(n, links),
            Field.LINK_COM: torch.zeros(n, links, 7),
            Field.LINK_INERTIA: torch.eye(3).flatten().repeat(n, links, 1),
            Field.SHAPE_MATERIAL: torch.zeros(n, shapes, 3),
        }
        self.tensors[Field.ROOT_POSE][:, 6] = 1.0
        self.tensors[Field.LINK_POSE][..., 6] = 1.0
        self.tensors[Field.LINK_COM][..., :3] = torch.tensor(COMS)
        self.tensors[Field.LINK_COM][..., 6] = 1.0
        for joint, limit in (limits or {}).items():
            self.tensors[Field.DOF_LIMIT][:, joints.index(joint)] = torch.tensor(limit)
        self.calls = []

    def shape(self, field):
        return tuple(self.tensors[field].shape)

    def read(self, field, out):
        self.calls.append(("read", field))
        out.copy_(self.tensors[field])

    def write(self, field, values, rows=None):
        self.calls.append(("write", field))
        assert values.shape == self.tensors[field].shape
        chosen = slice(None) if rows is None else rows
        self.tensors[field][chosen] = values[chosen]

    def step(self, dt):
        self.calls.append(("step", dt))
        self.tensors[Field.DOF_VELOCITY] += dt * self.tensors[Field.DOF_EFFORT]
        self.tensors[Field.DOF_POSITION] += dt * self.tensors[Field.DOF_VELOCITY]

    def settle(self):
        self.calls.append(("settle",))

    def close(self):
        self.calls.append(("close",))
