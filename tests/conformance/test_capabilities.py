"""Every claim of an engine's capabilities, checked on this machine. Those about rows are in `test_rows.py`."""

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark_app.physics.base import CompletionToken, SimBackend
from benchmark_app.physics.capabilities import DEVICES, BackendCapabilities

from .digest import digest
from .engine import STATE, Engine
from .robots import BOX, DOUBLE_PENDULUM, PENDULUM, UPRIGHT

ROOT = Path(__file__).resolve().parents[2]
LEAST = dict.fromkeys((field.name for field in fields(BackendCapabilities)), False) | {"devices": ("cpu",)}


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"devices": ()}, "devices"),
        ({"devices": ("cpu", "cpu")}, "devices"),
        ({"devices": ("tpu",)}, "devices"),
        ({"exact_state": True}, "exact_state=True needs deterministic=True"),
        ({"row_independent": True}, "row_independent=True needs row_reset=True"),
        ({"completion_receipts": True}, "completion_receipts=True needs 'cuda'"),
    ],
)
def test_claims_that_contradict_each_other_are_refused(claims, said):
    with pytest.raises(ValueError, match=said):
        BackendCapabilities(**(LEAST | claims))


@pytest.mark.parametrize("claims", [{"devices": ["cpu"]}, {"devices": "cpu"}, {"contacts": 1}, {"row_reset": None}])
def test_claims_of_another_type_are_refused(claims):
    (name,) = claims
    with pytest.raises(TypeError, match=name):
        BackendCapabilities(**(LEAST | claims))


def test_a_claim_left_out_is_refused():
    with pytest.raises(TypeError, match="row_reset"):
        BackendCapabilities(devices=("cpu",))


def pendulum(engine, **options):
    sim = engine.open(PENDULUM, dt=0.01, num_envs=2, decimation=2, **options)
    sim.place(joint_pos=0.7)
    return sim


def test_an_engine_runs_on_the_device_it_is_asked_for(engine):
    sim = pendulum(engine)
    before = sim.look()["joint_pos"]
    sim.run(0.1)
    shown = [getattr(sim.backend, name) for name in ("joint_pos", "joint_vel", "link_pose", "link_vel", "fault")]
    assert {tensor.device.type for tensor in shown} == {engine.device}
    assert {tensor.dtype for tensor in shown} == {torch.float32}
    assert not np.array_equal(sim.look()["joint_pos"], before)


def test_a_built_engine_claims_no_more_than_the_catalogue(engine):
    built = pendulum(engine).backend.capabilities
    assert set(built.devices) <= set(engine.declared.devices)
    flags = [field.name for field in fields(built) if field.name not in ("devices", "completion_receipts")]
    assert [name for name in flags if getattr(built, name) > getattr(engine.declared, name)] == []


def test_a_scene_beyond_the_claims_is_refused_at_construction(engine):
    beyond = []
    if not engine.declared.floating_base:
        beyond.append(("floating", BOX, {}))
    if not engine.declared.contacts:
        beyond.append(("contacts", PENDULUM, {"max_contacts": 8, "ground": True}))
    devices = set(DEVICES) - set(engine.declared.devices)
    for device in devices:
        with pytest.raises(ValueError, match=device):
            Engine(engine.name, engine.folder, device).open(PENDULUM, dt=0.01)
    if not beyond and not devices:
        pytest.skip(f"{engine.name} claims floating bases, contacts and every device")
    for said, robot, scene in beyond:
        with pytest.raises(ValueError, match=said):
            engine.open(robot, dt=0.01, **scene)


def test_another_process_computes_bitwise_the_same(engine):
    engine.close()
    child = subprocess.run(
        [sys.executable, "-m", "tests.conformance.digest", engine.name, engine.device],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    found = [line.split()[1] for line in child.stdout.splitlines() if line.startswith("digest ")]
    assert found, child.stderr[-2000:]
    held = found == [digest(engine)]
    if not engine.declared.deterministic:
        pytest.skip(f"{engine.name} does not claim deterministic; here it {'held' if held else 'did not hold'}")
    assert held


def test_a_recorded_body_is_replayed_without_running_it_again(engine):
    sim = pendulum(engine, fresh=True)
    control = torch.zeros(2, 1, device=sim.backend.device)
    stepped = sim.run(0.1)
    sim.place(joint_pos=0.7)
    runs = []

    def body():
        runs.append(True)
        sim.backend.step(control)

    replay = sim.backend.record(body)
    recorded = len(runs)
    assert np.array_equal(sim.look()["joint_pos"], stepped.joint_pos[0]), "recording left a trace"
    for step in range(1, len(stepped.time)):
        replay()
        assert np.array_equal(sim.look()["joint_pos"], stepped.joint_pos[step])
    held = len(runs) == recorded
    if not sim.backend.capabilities.graph_replay:
        pytest.skip(f"{engine.name} does not claim graph_replay; here the body was {'not ' if held else ''}run again")
    assert held


@pytest.mark.parametrize("touching", [False, True], ids=["swinging", "in contact"])
def test_an_imported_state_goes_on_bitwise_as_the_exported_one(engine, touching):
    if touching and not (engine.declared.contacts and engine.declared.floating_base):
        pytest.skip(f"{engine.name} claims no floating base in contact")
    if touching:
        scene = {"robot": BOX, "dt": 0.005, "ground": True, "friction": 0.6, "max_contacts": 8}
        start = {"root_pose": (0.0, 0.0, 0.06, *UPRIGHT), "root_vel": (0.5, 0.2, 0.0, 0.0, 0.0, 1.0)}
    else:
        scene = {"robot": DOUBLE_PENDULUM, "dt": 0.005}
        start = {"joint_pos": (1.2, 0.4)}
    sim = engine.open(**scene, num_envs=2, fresh=True)
    sim.place(**start)
    sim.run(0.2)
    state = sim.backend.export_state()
    claimed = sim.backend.capabilities.exact_state
    assert all(tensor.device.type == "cpu" and len(tensor) == 2 for tensor in state.values())
    onward = sim.run(0.2)
    sim = engine.open(**scene, num_envs=2, fresh=True)
    sim.place(**{name: value for name, value in start.items() if name == "root_pose"})
    sim.run(0.05)
    sim.backend.import_state(state)
    # Every later step: what is shown right after the import is derived from it, and may be so anew.
    again = sim.run(0.2)
    held = all(np.array_equal(getattr(again, name)[1:], getattr(onward, name)[1:]) for name in STATE)
    if not claimed:
        pytest.skip(f"{engine.name} does not claim exact_state; here it {'held' if held else 'did not hold'}")
    assert held


def test_receipts_are_given_where_they_are_promised_and_nowhere_else(engine):
    sim = pendulum(engine)
    receipts = []
    for _ in range(3):
        sim.run(0.02)
        receipts.append(sim.backend.receipt())
    if not sim.backend.capabilities.completion_receipts:
        assert receipts == [None] * 3
        return
    assert all(isinstance(receipt, CompletionToken) for receipt in receipts)
    assert len({receipt.producer_id for receipt in receipts}) == 1
    assert [receipt.sequence for receipt in receipts] == sorted({receipt.sequence for receipt in receipts})


def test_an_engine_can_be_closed_twice_and_built_again(engine):
    backend = pendulum(engine, fresh=True).backend
    assert isinstance(backend, SimBackend)
    backend.close()
    engine.close()
    assert np.all(np.isfinite(pendulum(engine, fresh=True).run(0.05).joint_pos))
