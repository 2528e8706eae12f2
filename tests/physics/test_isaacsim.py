"""`physics=physx` up to the edge of Isaac Sim, which a double stands for: what is called, in which order."""

import subprocess
import sys

import pytest
import torch

from benchmark_app.physics import load_engine, make_backend
from benchmark_app.physics.physx import isaacsim_calls
from benchmark_app.physics.physx.view import Field
from benchmark_app.physics.scene import SceneSpec

from .kit import Kit

N = 12
SCENE = SceneSpec(
    mjcf="robot.xml",
    usd="robot.usda",
    joints=("hinge", "rail"),
    links=("lower",),
    num_envs=N,
    physics_dt=0.25,
    decimation=2,
    max_contacts=0,
    max_constraints=0,
)
ROBOT = [("", ["articulation"]), ("base", ["link"]), ("arm/upper", ["link"]), ("arm/upper/hull", ["shape"])]


@pytest.fixture
def start(monkeypatch):
    """Start a double of Isaac Sim."""
    monkeypatch.setattr(isaacsim_calls, "_app", None)
    monkeypatch.setattr(isaacsim_calls, "_on_stage", None)

    def start(robots=ROBOT, found=None):
        kit = Kit(monkeypatch, robots, found)
        load_engine("physx").launch("cpu")
        return kit

    return start


def test_the_application_starts_once_without_a_window_and_before_anything_of_it_is_imported(start):
    kit = start()
    load_engine("physx").launch("cpu")
    assert kit.log == [("app", {"headless": True, "active_gpu": 0, "physics_gpu": 0, "multi_gpu": False})]


def test_importing_the_engine_needs_no_isaac_sim():
    modules = "{'omni', 'carb', 'pxr', 'isaacsim'} & set(sys.modules)"
    code = f"import benchmark_app.physics.physx.isaacsim, sys; print(sorted({modules}))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_scene_before_the_application_is_refused(monkeypatch):
    monkeypatch.setattr(isaacsim_calls, "_app", None)
    with pytest.raises(RuntimeError, match="needs its application running"):
        make_backend("physx", SCENE, "cpu")


def test_a_scene_is_built_twice_loaded_started_and_seen_in_the_rows_order(start):
    kit = start()
    backend = make_backend("physx", SCENE, "cpu")
    assert kit.log[1:] == ["new_stage", "update", "new_stage", "update", "load", "start"]
    assert kit.paths == [f"/World/envs/env{index}/robot" for index in range(N)]
    assert kit.text.count("references = @robot.usda@") == N
    assert kit.text.count("angularDamping = 0") == 2 * N
    assert kit.text.count("collisionEnabled = 0") == N
    assert kit.settings["/physics/cudaDevice"] == -1
    assert backend.joint_pos.unique().tolist() == [0.0]


def test_state_and_controls_go_by_name_and_selected_rows_only_are_written(start):
    kit = start()
    backend = make_backend("physx", SCENE, "cpu")
    backend.step(torch.tensor([[1.0, 2.0]]).expand(N, 2).contiguous())
    assert kit.articulations.tensors[Field.DOF_EFFORT][5].tolist() == [2.0, 1.0]
    assert backend.joint_vel[5].tolist() == [0.5, 1.0]
    assert [call for call in kit.articulations.calls if call[0] == "step"] == [("step", 0.25)] * 2
    mask = torch.zeros(N, dtype=torch.bool)
    before = kit.articulations.tensors[Field.DOF_POSITION].clone()
    backend.reset_rows(mask, torch.ones(N, 2), torch.ones(N, 2))
    assert torch.equal(kit.articulations.tensors[Field.DOF_POSITION], before)
    mask[3] = True
    backend.reset_rows(mask, torch.tensor([[3.0, 4.0]]).repeat(N, 1), torch.zeros(N, 2))
    assert kit.articulations.tensors[Field.DOF_POSITION][3].tolist() == [4.0, 3.0]
    assert torch.equal(kit.articulations.tensors[Field.DOF_POSITION][~mask], before[~mask])
    assert backend.link_pose.shape == (N, 1, 7)
    assert backend.robot_facts().joints[0].name == "hinge"


def test_on_a_gpu_physx_is_attached_before_it_loads(start):
    kit = start()
    scene = isaacsim_calls.IsaacSimScene(torch.device("cuda", 1))
    scene.open("#usda 1.0\n")
    scene.view(["/World/envs/env0/robot"])
    assert kit.log[3:] == ["attach_stage", "load", "start"]
    assert kit.settings["/physics/cudaDevice"] == 1


def test_closing_takes_physx_off_the_stage_first_and_another_scene_can_follow(start):
    kit = start()
    backend = make_backend("physx", SCENE, "cpu")
    backend.close()
    backend.close()
    assert kit.log[-3:] == ["detach_stage", "update", "invalidate"]
    make_backend("physx", SCENE, "cpu").step(torch.zeros(N, 2))


def test_a_second_scene_beside_the_first_is_refused(start):
    start()
    make_backend("physx", SCENE, "cpu")
    with pytest.raises(RuntimeError, match="simulates one scene at a time"):
        make_backend("physx", SCENE, "cpu")


def test_a_scene_that_cannot_be_is_taken_down_and_says_why(start):
    kit = start(found=5)
    with pytest.raises(RuntimeError, match="made 5 articulations of 12 environments"):
        make_backend("physx", SCENE, "cpu")
    assert not kit.simulating


def test_a_robot_without_one_articulation_root_is_refused_by_its_file(start):
    start(robots=[("base", ["link"])])
    with pytest.raises(ValueError, match=r"robot.usda: must hold one articulation root, it has 0"):
        make_backend("physx", SCENE, "cpu")


def test_a_setting_that_cannot_work_is_refused_before_anything_is_touched(start):
    kit = start()
    with pytest.raises(ValueError, match=r"physics\.position_iterations=0: must be from 1 to 255"):
        make_backend("physx", SCENE, "cpu", position_iterations=0)
    assert kit.log[1:] == []
