"""A training state exported and imported: what follows is bitwise the same."""

import copy

import pytest
import torch
from benchmark_app.tasks.cartpole import Cfg

from benchmark_app.envs.make import make_env

from .doubles import GliderEnv, MindfulGliderEnv, started


def glider(kind=MindfulGliderEnv, num_envs=4):
    return kind(num_envs, steps=7, limit=3.0)


def cartpole(num_envs=6):
    return make_env(Cfg(episode_length_s=0.5), "newton_mjwarp", num_envs)


makers = pytest.mark.parametrize("make", [glider, pytest.param(cartpole, marks=pytest.mark.engine)])


def actions_for(env, steps, seed=0):
    return 2.0 * torch.rand(steps, env.num_envs, 1, generator=torch.Generator().manual_seed(seed)) - 0.6


def tensors_of(state):
    found = dict(state.obs) | {"reward": state.reward, "terminated": state.terminated, "truncated": state.truncated}
    found |= state.info
    if state.final_observation is not None:
        found |= {f"final {name}": group for name, group in state.final_observation.items()}
        found["final_mask"] = state.final_mask
    return found


def require_same(one, other):
    one, other = tensors_of(one), tensors_of(other)
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        assert torch.equal(tensor, other[name]), name


def with_another_past(make):
    env = make()
    env.seed(99)
    env.init_state()
    for action in actions_for(env, 5, seed=8):
        env.step(action)
    return env


@makers
@pytest.mark.parametrize("autoreset", [True, False])
@pytest.mark.parametrize("past", [True, False])
def test_what_follows_an_import_is_bitwise_what_follows_the_export(make, autoreset, past):
    env = make()
    env.seed(5)
    env.set_autoreset(autoreset)
    env.init_state()
    finished = 0
    for step, action in enumerate(actions_for(env, 45)):
        state = env.step(action)
        finished += int((state.terminated | state.truncated).sum())
        if step % 20 == 10:
            env.reset(torch.tensor([1, 3]))  # in the middle of their episodes
    assert finished > 0
    env.drain_episodes()
    exported = env.export_training_state()
    other = with_another_past(make) if past else make()
    other.import_training_state(exported)
    assert len(other.drain_episodes()) == 0
    assert torch.equal(other.state.info["steps"], env.state.info["steps"])
    for step, action in enumerate(actions_for(env, 80, seed=1)):
        require_same(env.step(action), other.step(action))
        if step % 30 == 17:
            env.reset(torch.tensor([2])), other.reset(torch.tensor([2]))
            require_same(env.state, other.state)
    mine, theirs = env.drain_episodes(), other.drain_episodes()
    assert len(mine) > 0
    for name in ("lengths", "returns", "index", "rows"):
        assert getattr(mine, name).tolist() == getattr(theirs, name).tolist()


@makers
def test_an_environment_may_go_back_to_its_own_past(make):
    env = make()
    env.init_state()
    exported = env.export_training_state()
    first = [env.step(action) for action in actions_for(env, 40)]
    env.import_training_state(exported)
    for state, action in zip(first, actions_for(env, 40), strict=True):
        require_same(env.step(action), state)


@makers
def test_an_exported_state_is_plain_and_survives_torch_save(make, tmp_path):
    env = make()
    env.init_state()
    exported = env.export_training_state()
    assert exported["version"] == 2
    assert exported["num_envs"] == env.num_envs
    assert exported["autoreset"] is True
    before = copy.deepcopy(exported)
    torch.save(exported, tmp_path / "state.pt")
    env.step(torch.ones(env.num_envs, 1))
    loaded = torch.load(tmp_path / "state.pt", weights_only=True)
    for section in ("env", "backend", "task"):
        assert exported[section].keys() == loaded[section].keys()
        for name, tensor in exported[section].items():
            assert torch.equal(tensor, before[section][name]), "an export is not touched by later steps"
            assert torch.equal(tensor, loaded[section][name])
            assert tensor.device.type == "cpu"


def test_frozen_rows_stay_frozen_in_the_state_they_ended_in():
    env = glider()
    env.set_autoreset(False)
    env.init_state()
    for _ in range(4):
        last = env.step(torch.tensor([[2.0], [0.0], [0.0], [0.0]]))
    assert last.info["frozen"].tolist() == [True, False, False, False]
    other = glider()
    other.import_training_state(env.export_training_state())
    state = other.step(torch.full((4, 1), torch.nan).index_fill_(0, torch.tensor([1, 2, 3]), 0.0))
    assert state.info["frozen"].tolist() == [True, False, False, False]
    assert torch.equal(state.obs["policy"][0], last.obs["policy"][0])
    other.set_autoreset(True)
    with pytest.raises(RuntimeError, match="row 0 ended while autoreset was off"):
        other.step(torch.zeros(4, 1))


def test_a_task_that_forgets_to_name_its_memory_does_not_continue_the_same():
    class Forgetful(MindfulGliderEnv):
        def task_state(self):
            return {}

    env, other = glider(Forgetful), glider(Forgetful)
    env.init_state()
    env.step(torch.ones(4, 1))
    other.import_training_state(env.export_training_state())
    env.step(torch.zeros(4, 1)), other.step(torch.zeros(4, 1))
    assert not torch.equal(env.state.obs["policy"], other.state.obs["policy"])


def test_there_is_nothing_to_export_before_the_first_state():
    with pytest.raises(RuntimeError, match=r"export_training_state\(\) before init_state"):
        GliderEnv(3).export_training_state()


def test_a_state_with_a_bad_first_observation_is_not_exported():
    env = started(3, steps=1)
    observe = env.observe
    env.update_state = lambda state: (observe(state), state.reward.zero_(), state)[2]
    env.observe = lambda state: (observe(state), state.obs["policy"].fill_(torch.nan))
    env.step(torch.zeros(3, 1))
    with pytest.raises(ValueError, match=r"not finite after the reset of rows \[0, 1, 2\]"):
        env.export_training_state()


def changed(section=None, **changes):
    def change(state):
        target = state if section is None else state[section]
        for key, value in changes.items():
            if value is None:
                del target[key]
            else:
                target[key] = value
        return state

    return change


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (lambda state: list(state), TypeError, "training state: expected a mapping, got list"),
        (changed(version=1), ValueError, "version=1: expected 2"),
        (changed(version=True), TypeError, "version: expected int, got True"),
        (changed(version=None), TypeError, "version: expected int, got None"),
        (changed(num_envs=3), ValueError, "num_envs=3: expected 4"),
        (changed(num_envs=4.0), TypeError, "num_envs: expected int, got 4.0"),
        (changed(autoreset=1), TypeError, "autoreset: expected bool, got 1"),
        (changed(task=None), ValueError, "training state: task missing"),
        (changed(extra=1), ValueError, "training state: unknown extra"),
        (changed(backend=[]), TypeError, "backend: expected a mapping, got list"),
        (changed("env", steps=None), ValueError, "env: steps missing"),
        (changed("env", more=torch.zeros(4)), ValueError, "env: unknown more"),
        (changed("task", last=None), ValueError, "task: last missing"),
        (changed("env", steps=torch.zeros(4)), TypeError, "env.steps: expected torch.int64, got torch.float32"),
        (changed("env", steps=[0, 0, 0, 0]), TypeError, "env.steps: expected a torch.int64 tensor"),
        (changed("task", last=torch.zeros(4)), ValueError, r"task.last: expected shape \[4, 1\], got \[4\]"),
        (changed("backend", joint_pos=torch.zeros(3, 1)), ValueError, r"backend.joint_pos: expected shape \[4, 1\]"),
        (changed("env", reward=torch.zeros(4, device="meta")), ValueError, "env.reward: expected device cpu, got meta"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_by_key_and_changes_nothing(change, error, said):
    env = glider()
    env.init_state()
    env.step(torch.full((4, 1), 0.3))
    foreign = with_another_past(glider).export_training_state()
    before, shown = env.export_training_state(), env.state
    with pytest.raises(error, match=said):
        env.import_training_state(change(foreign))
    after = env.export_training_state()
    assert env.state is shown
    assert after["autoreset"] is before["autoreset"]
    for section in ("env", "backend", "task"):
        for name, tensor in before[section].items():
            assert torch.equal(after[section][name], tensor)


@pytest.mark.engine
def test_after_a_failed_step_nothing_is_exported_and_a_whole_reset_or_an_import_begins_anew():
    env, other = cartpole(), cartpole()
    bad, good = torch.zeros(6, 1), torch.zeros(6, 1)
    bad[2] = torch.nan
    for revive in (env.reset, env.init_state, lambda: env.import_training_state(other.export_training_state())):
        other.init_state()
        env.init_state()
        with pytest.raises(ValueError, match="actions not finite in row 2"):
            env.step(bad)
        assert env.backend.fault == 1.0
        for attempt in (env.export_training_state, lambda: env.step(good), lambda: env.reset(torch.tensor([2]))):
            with pytest.raises(
                RuntimeError, match=r"an earlier step failed \(actions not finite in row 2.*reset all rows"
            ):
                attempt()
        revive()
        assert env.backend.fault == 0.0
        assert torch.isfinite(env.step(good).obs["policy"]).all()
        env.export_training_state()


@pytest.mark.parametrize(
    ("section", "key", "spoil", "said"),
    [
        ("env", "reward", lambda value: value.fill_(torch.nan), r"env\.reward: not finite"),
        ("env", "actions", lambda value: value.requires_grad_(), r"env\.actions: expected a dense tensor without grad"),
        ("env", "returns", lambda value: value.fill_(torch.inf), r"env\.returns: not finite"),
    ],
)
def test_a_state_that_was_tampered_with_changes_nothing(section, key, spoil, said):
    env = cartpole()
    env.init_state()
    before, tampered = env.export_training_state(), env.export_training_state()
    tampered["autoreset"] = False
    tampered["env"]["steps"].fill_(7)
    spoil(tampered[section][key])
    with pytest.raises(ValueError, match=said):
        env.import_training_state(tampered)
    after = env.export_training_state()
    assert after["autoreset"] is True
    assert all(torch.equal(after["env"][name], value) for name, value in before["env"].items())


@pytest.mark.engine
def test_frozen_rows_in_a_recorded_step_equal_those_of_the_same_step_unrecorded():
    recorded, plain = cartpole(), cartpole()
    plain.backend.record = lambda body: lambda: _in_engine(plain.backend, body)
    for env in (recorded, plain):
        env.set_autoreset(False)
        env.init_state()
    for action in actions_for(recorded, 60, seed=4):
        action[recorded.state.info["frozen"]] = torch.nan
        require_same(recorded.step(action), plain.step(action))
    assert recorded.state.info["frozen"].all()
    kept = recorded.state.obs["policy"]
    assert torch.equal(recorded.step(torch.ones(6, 1)).obs["policy"], kept)


def _in_engine(backend, body):
    """Run a body's launches one by one."""
    backend._recording = True
    try:
        body()
    finally:
        backend._recording = False
