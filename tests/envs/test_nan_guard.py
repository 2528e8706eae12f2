"""The NaN guard: what it remembers, when it dumps, and what it never does."""

import json
import os

import numpy as np
import pytest
import torch

from benchmark_app.envs.checks import HostReport
from benchmark_app.envs.dump import DumpError, read_facts
from benchmark_app.envs.nan_guard import NanGuard

from .doubles import GliderEnv, nan_in

N = 5


def guarded(folder, num_envs=N, *, steps=50, **options):
    env = GliderEnv(num_envs, steps=steps)
    guard = NanGuard(folder, **options)
    env.set_nan_guard(guard)
    env.init_state()
    return env, guard


def push(env, value=0.0):
    return env.step(torch.full((env.num_envs, 1), value))


def dumped(folder):
    """A dump as anyone would read it: nothing in it is ever executed."""
    facts = json.loads((folder / "nan_dump" / "dump.json").read_text())
    with np.load(folder / "nan_dump" / "history.npz", allow_pickle=False) as arrays:
        return facts, dict(arrays)


def spoil_engine(env, name, row, bad):
    step = env.backend.step

    def broken(effort):
        step(effort)
        getattr(env.backend, name)[row, 0] = bad

    env.backend.step = broken


def step_with_one_bad_element(env, where, row, bad):
    """Every tensor has one bad element at most, in its last column."""
    actions = torch.zeros(env.num_envs, 1)
    if where == "actions":
        actions[row, 0] = bad
    elif where.startswith("joint"):
        spoil_engine(env, where, row, bad)
    else:
        env.spoil[where] = lambda tensor: tensor.view(env.num_envs, -1)[row].__setitem__(-1, bad)
    env.step(actions)


# Where a dump keeps each tensor as the failing step left it.
WRITTEN_AS = {
    "actions": "failed.actions",
    "control": "failed.control",
    "joint_pos": "engine.joint_pos",
    "joint_vel": "engine.joint_vel",
    "policy": "failed.obs.policy",
    "critic": "failed.obs.critic",
    "reward": "failed.reward",
}
# Those that nothing else follows from in this task, and what a dump calls them.
ALONE = {"policy": "observation 'policy'", "critic": "observation 'critic'", "reward": "reward"}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("row", range(N))
@pytest.mark.parametrize("where", WRITTEN_AS)
def test_one_bad_element_in_one_row_of_one_tensor_is_dumped_under_its_name(where, row, bad, tmp_path):
    env, guard = guarded(tmp_path)
    push(env)
    with pytest.raises(ValueError, match=f"not finite in row {row}") as raised:
        step_with_one_bad_element(env, where, row, bad)
    facts, arrays = dumped(tmp_path)
    name = ALONE.get(where, where)
    assert next(iter(facts["suspects"])) == name
    assert all(rows == [row] for rows in facts["suspects"].values())
    if where in ALONE:
        assert list(facts["suspects"]) == [name]
    assert facts["rows"][0] == row
    assert facts["reason"] == str(raised.value)
    kept = arrays[WRITTEN_AS[where]].reshape(N, -1)
    assert np.isfinite(kept).all(1).tolist() == [False] + [True] * (N - 1)
    assert guard.path == tmp_path / "nan_dump"
    assert list(tmp_path.iterdir()) == [guard.path]
    assert str(guard.path) in raised.value.__notes__[0]


def test_the_history_holds_the_last_steps_oldest_first_and_ends_with_the_failing_one(tmp_path):
    env, _ = guarded(tmp_path, history=4, steps=50)
    positions, velocities = [], []
    for value in range(9):
        positions.append(env.backend.joint_pos[:, 0].clone())
        velocities.append(env.backend.joint_vel[:, 0].clone())
        if value == 8:
            env.spoil["reward"] = nan_in(2)
            with pytest.raises(ValueError, match="reward"):
                push(env, 0.125 * value)
        else:
            push(env, 0.125 * value)
    facts, arrays = dumped(tmp_path)
    assert facts["rows"] == [2, 0, 1, 3, 4]
    assert arrays["actions"].shape == (4, N, 1)
    assert arrays["actions"][:, 0, 0].tolist() == [0.625, 0.75, 0.875, 1.0]
    assert np.array_equal(arrays["control"], arrays["actions"])
    order = torch.tensor(facts["rows"])
    assert np.array_equal(arrays["joint_pos"][..., 0], torch.stack(positions[-4:])[:, order])
    assert np.array_equal(arrays["joint_vel"][..., 0], torch.stack(velocities[-4:])[:, order])
    assert arrays["steps"][:, 0].tolist() == [5, 6, 7, 8]
    assert arrays["episode"].tolist() == [[2, 0, 1, 3, 4]] * 4
    assert np.isnan(arrays["failed.reward"]).tolist() == [True, False, False, False, False]
    assert arrays["failed.actions"][:, 0].tolist() == [1.0] * N
    assert np.array_equal(arrays["engine.joint_pos"], env.backend.joint_pos[order])


def test_a_short_history_is_dumped_as_far_as_it_goes(tmp_path):
    env, _ = guarded(tmp_path)
    env.spoil["policy"] = nan_in(0)
    with pytest.raises(ValueError, match="policy"):
        push(env)
    assert dumped(tmp_path)[1]["joint_pos"].shape == (1, N, 1)


def test_bad_rows_come_first_and_no_more_than_asked_are_dumped(tmp_path):
    env, _ = guarded(tmp_path, 20, max_rows=3)
    env.spoil["reward"] = nan_in([19, 7])
    with pytest.raises(ValueError, match="reward"):
        push(env)
    facts, arrays = dumped(tmp_path)
    assert facts["rows"] == [7, 19, 0]
    assert arrays["joint_pos"].shape[1] == 3


def test_the_dump_says_what_was_run(tmp_path):
    env, _ = guarded(tmp_path, physics="newton_mjwarp", physics_settings={"integrator": "euler"})
    env.seed(7)
    env.reset()
    env.spoil["reward"] = nan_in(1)
    with pytest.raises(ValueError, match="reward"):
        push(env)
    facts, _ = dumped(tmp_path)
    assert facts["task"]["name"] == "glider"
    assert facts["task"]["settings"]["physics_dt"] == 0.5
    assert facts["physics"] == {"name": "newton_mjwarp", "settings": {"integrator": "euler"}}
    assert facts["num_envs"] == N
    assert facts["seed"] == int(env._seed)
    assert facts["episode"][0] == 1
    assert facts["versions"]["torch"] == torch.__version__
    assert read_facts(tmp_path / "nan_dump")["rows"] == facts["rows"]


def test_only_the_first_failure_is_dumped(tmp_path):
    env, _ = guarded(tmp_path)
    env.spoil["reward"] = nan_in(1)
    with pytest.raises(ValueError, match="reward"):
        push(env)
    before = (tmp_path / "nan_dump" / "dump.json").read_text()
    env.spoil.clear()
    env.reset()
    env.spoil["reward"] = nan_in(3)
    with pytest.raises(ValueError, match="reward not finite in row 3") as raised:
        push(env)
    assert (tmp_path / "nan_dump" / "dump.json").read_text() == before
    assert not getattr(raised.value, "__notes__", [])


def test_an_unsound_engine_is_dumped_with_the_rows_it_names(tmp_path):
    env, _ = guarded(tmp_path)
    export = env.backend.export_state
    env.backend.export_state = lambda: export() | {"faults": torch.tensor([0, 0, 0, 2, 0])}
    env.backend._fault.fill_(1.0)
    with pytest.raises(RuntimeError, match="the glider broke"):
        push(env)
    facts, _ = dumped(tmp_path)
    assert facts["suspects"] == {"engine": [3]}
    assert facts["rows"][0] == 3


def test_an_observation_that_is_bad_after_a_reset_is_dumped(tmp_path):
    env, _ = guarded(tmp_path)
    env.spoil["observe"] = nan_in(4)
    with pytest.raises(ValueError, match="after a reset"):
        env.reset()
    facts, arrays = dumped(tmp_path)
    assert facts["suspects"] == {"observation 'policy'": [4]}
    assert arrays["joint_pos"].shape == (0, N, 1)


def test_an_action_of_a_frozen_row_is_nobodys_business(tmp_path):
    env, guard = guarded(tmp_path, steps=2)
    env.set_autoreset(False)
    env.reset()
    push(env)
    push(env)
    env.step(torch.full((N, 1), float("nan")))
    assert guard.path is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("trouble", ["no folder", "a dump is there", "full", "stopped"])
def test_trouble_while_dumping_never_takes_the_place_of_the_error(trouble, tmp_path, monkeypatch):
    folder = tmp_path / "gone" if trouble == "no folder" else tmp_path
    if trouble == "a dump is there":
        (tmp_path / "nan_dump").mkdir()
        (tmp_path / "nan_dump" / "dump.json").write_text("older")

    def fail(file, **arrays):
        file.write_bytes(b"half")
        assert not (tmp_path / "nan_dump").exists()
        raise KeyboardInterrupt if trouble == "stopped" else OSError(28, "No space left on device")

    if trouble in ("full", "stopped"):
        monkeypatch.setattr(np, "savez", fail)
    env, guard = guarded(folder)
    env.spoil["reward"] = nan_in(1)
    kind = KeyboardInterrupt if trouble == "stopped" else ValueError
    with pytest.raises(kind) as raised:
        push(env)
    if trouble != "stopped":
        assert str(raised.value) == "reward not finite in row 1"
        assert "no NaN dump was written" in raised.value.__notes__[0]
    assert guard.path is None
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == ({"nan_dump", "nan_dump/dump.json"} if trouble == "a dump is there" else set())


def test_a_dump_that_cannot_be_announced_is_there_all_the_same(tmp_path):
    def fail(path):
        raise OSError(28, "No space left on device")

    env, guard = guarded(tmp_path, on_dump=fail)
    env.spoil["reward"] = nan_in(1)
    with pytest.raises(ValueError, match="reward") as raised:
        push(env)
    assert str(guard.path) in raised.value.__notes__[0]
    assert dumped(tmp_path)[0]["suspects"] == {"reward": [1]}


def test_a_kill_while_dumping_leaves_no_dump(tmp_path, monkeypatch):
    env, _ = guarded(tmp_path)
    env.spoil["reward"] = nan_in(1)
    monkeypatch.setattr(np, "savez", lambda file, **arrays: os._exit(9))
    pid = os.fork()
    if pid == 0:
        push(env)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    with pytest.raises(DumpError, match="no dump in this folder"):
        read_facts(tmp_path / "nan_dump")


def test_the_guard_adds_no_host_read_and_changes_nothing(tmp_path, monkeypatch):
    reads = []
    read = HostReport.read
    monkeypatch.setattr(HostReport, "read", lambda self: reads.append(1) or read(self))
    env, _ = guarded(tmp_path, steps=4)
    plain = GliderEnv(N, steps=4)
    plain.init_state()
    del reads[:]
    for step in range(10):
        state, other = push(env, 0.1 * step), push(plain, 0.1 * step)
        assert len(reads) == 2 * (step + 1)
        assert torch.equal(state.obs["policy"], other.obs["policy"])
        assert torch.equal(state.info["steps"], other.info["steps"])
    assert list(tmp_path.iterdir()) == []


def test_a_guard_can_be_taken_off_again(tmp_path):
    env, _ = guarded(tmp_path)
    env.set_nan_guard(None)
    env.spoil["reward"] = nan_in(1)
    with pytest.raises(ValueError, match="reward"):
        push(env)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["history", "max_rows"])
def test_a_guard_that_remembers_nothing_is_refused(option, tmp_path):
    with pytest.raises(ValueError, match=f"{option}=0: must be at least 1"):
        NanGuard(tmp_path, **{option: 0})


@pytest.mark.engine
def test_the_recorded_step_of_the_real_engine_remembers_too_and_is_bitwise_the_same(tmp_path):
    from benchmark_app.tasks.cartpole import Cfg

    from benchmark_app.envs.make import make_env

    envs = [make_env(Cfg(), "newton_mjwarp", 6) for _ in range(2)]
    envs[0].set_nan_guard(NanGuard(tmp_path, history=3))
    generator = torch.Generator().manual_seed(3)
    for env in envs:
        env.init_state()
    played = []
    for _ in range(7):
        actions = torch.rand(6, 1, generator=generator)
        played.append((envs[0].backend.joint_pos.clone(), actions))
        states = [env.step(actions) for env in envs]
        assert torch.equal(states[0].obs["policy"], states[1].obs["policy"])
        assert torch.equal(states[0].reward, states[1].reward)
    bad = torch.zeros(6, 1)
    bad[3] = torch.nan
    with pytest.raises(ValueError, match="actions not finite in row 3"):
        envs[0].step(bad)
    facts, arrays = dumped(tmp_path)
    assert next(iter(facts["suspects"].items())) == ("actions", [3])
    assert facts["physics"]["name"] == "newton_mjwarp"
    assert (tmp_path / "nan_dump" / "model.xml").is_file()
    order = torch.tensor(facts["rows"])
    for slot, (position, actions) in enumerate(played[-2:]):
        assert np.array_equal(arrays["joint_pos"][slot], position[order])
        assert np.array_equal(arrays["actions"][slot], actions[order])
        assert np.array_equal(arrays["control"][slot, :, 0], 100.0 * actions[order, 0])
    for env in envs:
        env.close()


@pytest.mark.gpu
@pytest.mark.engine
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device here")
def test_on_cuda_only_steps_that_were_taken_are_remembered(tmp_path):
    """There the body of a step runs once before it is recorded."""
    from benchmark_app.tasks.cartpole import Cfg

    from benchmark_app.envs.make import make_env

    env = make_env(Cfg(), "newton_mjwarp", 64, "cuda")
    env.set_nan_guard(NanGuard(tmp_path))
    env.init_state()
    for _ in range(3):
        env.step(torch.full((64, 1), 0.5, device="cuda"))
    bad = torch.zeros(64, 1, device="cuda")
    bad[40] = torch.inf
    with pytest.raises(ValueError, match="actions not finite in row 40"):
        env.step(bad)
    facts, arrays = dumped(tmp_path)
    assert facts["rows"][0] == 40
    assert arrays["steps"][:, 0].tolist() == [0, 1, 2, 3]
    assert arrays["actions"][:, 1, 0].tolist() == [0.5, 0.5, 0.5, 0.0]
    env.close()
