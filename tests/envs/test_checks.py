"""What is refused, and how it is said."""

import numpy as np
import pytest
import torch
from benchmark_app.tasks.cartpole import Cfg

from benchmark_app.envs.make import make_env
from benchmark_app.envs.nan_guard import NanGuard

from .doubles import Glider, GliderEnv, nan_in, started


@pytest.mark.parametrize(
    ("actions", "error", "said"),
    [
        (np.zeros((3, 1), np.float32), TypeError, r"actions: expected a torch.float32 tensor \[3, 1\], got ndarray"),
        (torch.zeros(3, 1, dtype=torch.float64), TypeError, "actions: expected torch.float32, got torch.float64"),
        (torch.zeros(3), ValueError, r"actions: expected shape \[3, 1\], got \[3\]"),
        (torch.zeros(2, 1), ValueError, r"actions: expected shape \[3, 1\], got \[2, 1\]"),
        (torch.zeros(3, 1, device="meta"), ValueError, "actions: expected device cpu, got meta"),
        (torch.zeros(3, 1, requires_grad=True), ValueError, "actions: expected no gradients"),
    ],
)
def test_actions_of_another_kind_are_refused_before_the_engine_moves(actions, error, said):
    env = started(3)
    with pytest.raises(error, match=said):
        env.step(actions)
    assert env.backend.joint_vel.tolist() == [[0.0]] * 3


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("row", [0, 2])
def test_a_nonfinite_action_is_blamed_on_the_actions(bad, row):
    env = started(3)
    actions = torch.zeros(3, 1)
    actions[row] = bad
    with pytest.raises(ValueError, match=f"^actions not finite in row {row}$"):
        env.step(actions)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("control", "control not finite in row 1"),
        ("policy", "observation 'policy' not finite in row 1"),
        ("critic", "observation 'critic' not finite in row 1"),
        ("reward", "reward not finite in row 1"),
    ],
)
def test_one_nonfinite_number_anywhere_stops_the_step_and_is_named(where, said):
    env = started(3)
    env.spoil = {where: nan_in(1)}
    with pytest.raises(ValueError, match=f"^{said}$"):
        env.step(torch.zeros(3, 1))


def test_many_bad_rows_are_all_named():
    env = started(12)
    env.spoil = {"reward": lambda reward: reward.fill_(torch.inf)}
    with pytest.raises(ValueError, match=r"reward not finite in rows \[0, 1, 2, 3, 4, 5, 6, 7, …\]"):
        env.step(torch.zeros(12, 1))


def test_huge_but_finite_numbers_pass():
    env = started(3, limit=torch.inf)
    largest = torch.finfo(torch.float32).max
    env.spoil = {"reward": lambda reward: reward.fill_(largest), "critic": lambda critic: critic.fill_(-largest)}
    assert env.step(torch.zeros(3, 1)).reward.tolist() == [largest] * 3


def test_a_nonfinite_first_observation_is_found():
    env = GliderEnv(3)
    env.spoil = {"observe": nan_in(2)}
    with pytest.raises(ValueError, match="observation 'policy' not finite in row 2 after a reset"):
        env.init_state()


def test_a_nonfinite_observation_after_an_autoreset_is_found_one_step_later():
    env = started(3, steps=1)
    original = env.observe
    env.update_state = lambda state: (original(state), state.reward.zero_(), state)[2]
    env.observe = lambda state: (original(state), nan_in(1)(state.obs["policy"]))
    env.step(torch.zeros(3, 1))
    with pytest.raises(ValueError, match=r"an observation was not finite after the reset of rows \[0, 1, 2\]"):
        env.step(torch.zeros(3, 1))


def test_an_unsound_engine_stops_the_step_in_its_own_words():
    env = started(3)
    env.backend.fault.fill_(1.0)
    with pytest.raises(RuntimeError, match=r"^the glider broke in row 1$"):
        env.step(torch.zeros(3, 1))


def test_a_control_of_the_wrong_shape_is_refused():
    env = started(3)
    env.apply_action = lambda actions, state: torch.zeros(3, 2)
    with pytest.raises(ValueError, match=r"control: expected shape \[3, 1\], got \[3, 2\]"):
        env.step(torch.zeros(3, 1))


def test_a_task_that_replaces_a_tensor_is_told_to_fill_it():
    env = started(3)

    def update_state(state):
        state.reward = torch.zeros(3)
        return state

    env.update_state = update_state
    with pytest.raises(ValueError, match="in place"):
        env.step(torch.zeros(3, 1))


@pytest.mark.parametrize(
    ("env_ids", "error", "said"),
    [
        (torch.tensor([True, False, False]), TypeError, "int64 tensor, got torch.bool"),
        (torch.tensor([0], dtype=torch.int32), TypeError, "got torch.int32"),
        ([0, 1], TypeError, "got list"),
        (torch.tensor([[0]]), ValueError, r"shape \[K\], got \[1, 1\]"),
        (torch.tensor([0, 3]), ValueError, "row 3 out of range; rows are 0 to 2"),
        (torch.tensor([-1]), ValueError, "row -1 out of range"),
        (torch.tensor([1, 1]), ValueError, "more than once"),
    ],
)
def test_reset_refuses_other_selectors(env_ids, error, said):
    with pytest.raises(error, match=said):
        started(3).reset(env_ids)


def test_stepping_or_resetting_rows_before_a_first_episode_is_refused():
    env = GliderEnv(3)
    with pytest.raises(RuntimeError, match=r"step\(\) before init_state"):
        env.step(torch.zeros(3, 1))
    with pytest.raises(RuntimeError, match="before init_state"):
        env.reset(torch.tensor([0]))


def test_a_closed_environment_says_so_and_closes_once():
    env = started(3)
    env.close()
    env.close()
    assert env.backend.closed == 1
    uses = [
        lambda: env.step(torch.zeros(3, 1)),
        env.reset,
        env.init_state,
        env.export_training_state,
        lambda: env.import_training_state({}),
        lambda: env.set_autoreset(False),
        lambda: env.set_nan_guard(None),
    ]
    for use in uses:
        with pytest.raises(RuntimeError, match="the environment is closed"):
            use()
    assert env.get_backend_runtime_diagnostics() == {
        "backend_type": "Glider",
        "available": False,
        "unavailable_reason": "the environment is closed",
    }


def test_an_engine_of_another_size_or_device_is_refused():
    class Wrong(GliderEnv):
        def __init__(self, num_envs, device):
            super(GliderEnv, self).__init__(None, Glider(3), num_envs, device=device)

    with pytest.raises(ValueError, match="num_envs=4: the engine simulates 3 rows"):
        Wrong(4, "cpu")
    with pytest.raises(ValueError, match="device=cuda: the engine is on cpu"):
        Wrong(3, "cuda")


def test_the_public_facts():
    env = started(3)
    assert env.observation_space.shape == (2,)
    assert env.action_space.shape == (1,)
    assert env.produces_completion_receipts is False
    assert env.get_backend_runtime_diagnostics() == {
        "backend_type": "Glider",
        "available": True,
        "diagnostics": {"num_envs": 3},
    }


def test_an_engine_that_cannot_tell_of_itself_is_marked_unavailable():
    env = started(3)
    env.backend.diagnostics = lambda: 1 / 0
    assert env.get_backend_runtime_diagnostics() == {
        "backend_type": "Glider",
        "available": False,
        "unavailable_reason": "ZeroDivisionError: division by zero",
    }


class Witness:
    """Stands where a NaN guard stands, and writes down what it is told."""

    def __init__(self, note=""):
        self.note = note
        self.bound = []
        self.before_steps = []
        self.dumped = []

    def bind(self, env):
        self.bound.append(env)

    def clear(self):
        pass

    def before(self, env):
        self.before_steps.append((env.backend.joint_pos.clone(), env.control.clone()))

    def dump(self, env, reason, suspects):
        self.dumped.append((reason, suspects))
        return self.note


def test_a_guard_sees_every_step_before_the_engine_moves_until_it_is_taken_off():
    env, guard = GliderEnv(3), Witness()
    env.set_nan_guard(guard)
    env.init_state()
    start = env.state.obs["critic"].clone()
    env.step(torch.ones(3, 1))
    assert guard.bound == [env]
    ((joint_pos, control),) = guard.before_steps
    assert torch.equal(joint_pos, start)
    assert control.tolist() == [[1.0]] * 3
    env.set_nan_guard(None)
    env.step(torch.ones(3, 1))
    assert len(guard.before_steps) == 1


def test_a_guard_is_told_of_everything_bad_in_the_order_of_the_step():
    env, guard = started(3), Witness("written to a folder")
    env.set_nan_guard(guard)
    env.spoil = {"reward": nan_in(2), "critic": nan_in(0)}
    env.backend.fault.fill_(1.0)
    reason = "observation 'critic' not finite in row 0; the glider broke in row 1"
    with pytest.raises(ValueError, match=f"^{reason}") as raised:
        env.step(torch.zeros(3, 1))
    assert guard.dumped == [(reason, {"observation 'critic'": [0], "reward": [2]})]
    assert raised.value.__notes__ == ["written to a folder"]


def test_a_guard_is_told_of_an_unsound_engine_and_of_a_bad_reset():
    env, guard = started(3), Witness()
    env.set_nan_guard(guard)
    env.backend.fault.fill_(1.0)
    with pytest.raises(RuntimeError, match="the glider broke"):
        env.step(torch.zeros(3, 1))
    env.spoil = {"observe": nan_in(1)}
    with pytest.raises(ValueError, match="after a reset"):
        env.reset()
    assert guard.dumped == [
        ("the glider broke in row 1", {}),
        ("observation 'policy' not finite in row 1 after a reset", {"observation 'policy'": [1]}),
    ]


@pytest.mark.engine
def test_a_guard_put_on_and_taken_off_between_recorded_steps_is_part_of_just_those(tmp_path):
    env, guard = make_env(Cfg(), "newton_mjwarp", 3), NanGuard(tmp_path)
    env.init_state()
    env.step(torch.zeros(3, 1))
    env.set_nan_guard(guard)
    for _ in range(2):
        env.step(torch.zeros(3, 1))
    env.set_nan_guard(None)
    env.step(torch.zeros(3, 1))
    assert guard._count.tolist() == [2, 2, 2]
    assert env.state.info["steps"].tolist() == [4, 4, 4]


def test_a_task_that_resizes_what_it_fills_is_told_the_shape():
    """`out=` of another shape grows a view over what lies behind it, with no more than a warning."""

    class Wide(GliderEnv):
        def observe(self, state):
            joints = (self.backend.joint_pos, self.backend.joint_vel, self.backend.joint_vel)
            torch.cat(joints, 1, out=state.obs["policy"])

    with (
        pytest.warns(UserWarning, match="resized"),
        pytest.raises(ValueError, match=r"observation 'policy': expected shape \[3, 2\]"),
    ):
        Wide().init_state()


def test_success_of_other_episodes_than_those_that_ended_is_refused():
    class Short(GliderEnv):
        def episode_success(self, state, env_ids):
            return torch.ones(1, dtype=torch.bool)

    env = Short(steps=1)
    env.init_state()
    with pytest.raises(ValueError, match=r"episode_success: expected shape \[3\], got \[1\]"):
        env.step(torch.zeros(3, 1))


def test_autoreset_is_on_or_off():
    for value in ("off", 0, 1, None):
        with pytest.raises(TypeError, match="set_autoreset: expected bool"):
            started().set_autoreset(value)
