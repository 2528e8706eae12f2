"""A `TorchEnv` as the plain environment of Gymnasium, and tasks by their ids."""

import json
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from benchmark_app.envs.gymnasium_envs import TorchSingleEnv, TorchVectorEnv
from benchmark_app.physics import availability
from benchmark_app.physics.catalogue import ENGINES

from .doubles import GliderEnv
from .test_gymnasium import FromRest, mask, same, vector


def single(kind=FromRest, **kwargs):
    return TorchSingleEnv(kind(1, **kwargs))


def checked(env):
    """Gymnasium's checker, and what it warns of beyond unbounded observations."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env, skip_render_check=True)
    expected = ("observation space minimum value is -infinity", "observation space maximum value is infinity")
    return [str(w.message) for w in caught if not any(words in str(w.message) for words in expected)]


@pytest.mark.parametrize("kind", [FromRest, GliderEnv])
def test_the_plain_environment_passes_gymnasiums_checker(kind):
    assert checked(single(kind)) == []


def test_the_plain_environment_reports_success_and_metrics_at_every_step():
    env = single(steps=3)
    obs, info = env.reset(seed=1)
    assert same(obs, np.zeros(2, np.float32))
    assert info == {"is_success": False, "metrics": {"episode_return": 0.0, "episode_length": 0.0}}
    for step in (1, 2, 3):
        obs, reward, terminated, truncated, info = env.step(np.array([0.5]))
        assert obs.dtype == np.float32
        assert (reward, terminated, truncated) == (0.5, False, step == 3)
        assert info == {"is_success": step == 3, "metrics": {"episode_return": 0.5 * step, "episode_length": step}}
        assert type(info["is_success"]) is bool
        assert all(type(value) is float for value in info["metrics"].values())


def test_the_plain_environment_says_what_it_is():
    env = single(steps=9)
    assert env._max_episode_steps == 9
    assert env.task == "glider"
    assert env.task_description == "glider"
    assert env.render_mode is None
    assert env.metadata["render_modes"] == []


def test_the_plain_environment_waits_for_a_reset_when_an_episode_ended():
    env = single(limit=1.0)
    with pytest.raises(ResetNeeded, match="before reset"):
        env.step(np.array([0.0]))
    env.reset(seed=1)
    obs, _, terminated, _, _ = env.step(np.array([3.0]))
    assert terminated
    assert obs.tolist() == [3, 3]
    with pytest.raises(ResetNeeded, match="after the episode ended"):
        env.step(np.array([0.0]))
    env.reset()
    assert env.step(np.array([0.5]))[4]["metrics"]["episode_length"] == 1


def test_the_plain_environment_goes_on_with_its_seed():
    env = single(GliderEnv)
    first, second, again, next_one = (env.reset(seed=seed)[0]["policy"].tolist() for seed in (5, None, 5, None))
    assert (first, second) == (again, next_one)
    assert first != second
    other = single(GliderEnv)
    drawn = other.reset()[0]["policy"].tolist()
    assert other.reset(seed=other.np_random_seed)[0]["policy"].tolist() == drawn
    assert drawn != first


@pytest.mark.parametrize(
    ("sent", "error"), [(np.zeros(2), ValueError), (0.5, ValueError), (np.zeros(1, dtype=int), TypeError)]
)
def test_the_plain_environment_refuses_actions_it_cannot_take(sent, error):
    env = single()
    env.reset(seed=1)
    with pytest.raises(error, match="action"):
        env.step(sent)


def test_the_plain_environment_refuses_options_and_rows():
    env = single()
    env.reset(options={})
    with pytest.raises(ValueError, match=r"reset_mask.*none"):
        env.reset(options={"reset_mask": mask(1)})
    with pytest.raises(ValueError, match="num_envs=2"):
        TorchSingleEnv(FromRest(2))


def test_closing_closes_the_engine_once_and_a_closed_environment_says_so():
    for env in (vector(1), TorchSingleEnv(FromRest(1))):
        env.reset(seed=1)
        env.close()
        env.close()
        assert env.torch_env.backend.closed == 1
        with pytest.raises(RuntimeError, match="closed"):
            env.reset()


# By its id.

CARTPOLE = "Cartpole-Direct-v0"


def test_importing_registers_every_task_and_loads_neither_torch_nor_an_engine():
    code = (
        "import sys, warnings; warnings.simplefilter('error')\n"
        "import benchmark_app.gym, gymnasium, importlib\n"
        "heavy = {'torch', 'warp', 'newton', 'mujoco'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "importlib.reload(benchmark_app.gym)\n"
        "benchmark_app.gym.register_tasks()\n"
        f"spec = gymnasium.spec('{CARTPOLE}')\n"
        "print(spec.to_json())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    spec = json.loads(out)
    assert spec["kwargs"]["name"] == "cartpole"
    assert spec["max_episode_steps"] is None


def test_a_folder_of_ones_own_tasks_is_registered(tmp_path):
    from benchmark_app.gym import register_tasks

    (tmp_path / "mine.yaml").write_text("name: mine\nmodule: nowhere\ngym_id: Mine-v3\n")
    try:
        assert register_tasks(tmp_path) == ["Mine-v3"]
        with pytest.raises(ValueError, match="module=nowhere: cannot be used as a task"):
            gymnasium.make("Mine-v3")
    finally:
        del gymnasium.registry["Mine-v3"]
    (tmp_path / "mine.yaml").write_text("- no task\n")
    with pytest.raises(ValueError, match=r"mine.yaml: no task"):
        register_tasks(tmp_path)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_efort": 3.0}, "max_efort=3.0: no such setting; did you mean max_effort"),
        ({"max_effort": "much"}, "max_effort=much: .*Float"),
        ({"max_effort": float("nan")}, "max_effort=nan: must be a finite number"),
        ({"max_effort": -1.0}, "task.max_effort=-1.0: must be greater than 0"),
        ({"physics": "none"}, "physics=none: unknown engine"),
        ({"device": "tpu"}, "device=tpu: must be cpu, cuda or cuda:N$"),
        ({"physics_settings": 3}, "physics_settings=3: must be a dictionary of newton_mjwarp's settings, or None$"),
        ({"physics_settings": {"iterations": 0}}, "physics_settings.iterations=0: must be at least 1$"),
        (
            {"physics_settings": {"iterations": True}},
            "iterations=True: must be a whole number or None$",
        ),
        ({"physics_settings": {"cone": None}}, "physics_settings.cone=None: must be a text$"),
        (
            {"physics_settings": {"allow": ["zz"]}},
            "allow=.*: zz is no warning of newton_mjwarp; known:",
        ),
        ({"physics_settings": {"allow": "zz"}}, "physics_settings.allow='zz': must be a list of names$"),
        (
            {"physics_settings": {"iteration": 3}},
            "no such setting of newton_mjwarp; did you mean physics_set",
        ),
        ({"physics_settings": {"name": "x"}}, "physics_settings.name=x: no such setting of newton_mjwarp; known: "),
        (
            {"physics": "newton_kamino", "physics_settings": {"integrator": "euler"}},
            "physics_settings.integrator=euler: no such setting of newton_kamino; known: physics_settings.allow, ",
        ),
        ({"render_mode": "human"}, "render_mode=human: must be None"),
    ],
)
@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.filterwarnings("ignore:.*render_mode")
def test_settings_that_cannot_work_are_refused_by_name(make, settings, words):
    import benchmark_app.gym  # noqa: F401

    with pytest.raises(ValueError, match=words):
        make(CARTPOLE, **settings)


LACKING = sorted(name for name in ENGINES if availability.missing(name))


@pytest.mark.parametrize("physics", LACKING)
def test_an_engine_that_is_not_here_is_refused_with_what_it_needs_in_this_interpreter(physics):
    import benchmark_app.gym  # noqa: F401

    with pytest.raises(ValueError, match="needs") as refused:
        gymnasium.make(CARTPOLE, physics=physics)
    assert str(refused.value) == f"physics={physics}: {availability.missing(physics, python=sys.executable)}"
    assert "worker.python" not in str(refused.value)


@pytest.mark.skipif(torch.version.cuda is not None, reason="torch is built with CUDA")
def test_cuda_without_cuda_is_refused_with_the_reason():
    import benchmark_app.gym  # noqa: F401

    with pytest.raises(ValueError, match=r"^device=cuda:1: torch \S+ is built without CUDA$"):
        gymnasium.make(CARTPOLE, device="cuda:1")


@pytest.fixture
def make():
    """`gymnasium.make` and `make_vec`, of a short cartpole that is closed in the end."""
    import benchmark_app.gym  # noqa: F401

    made = []

    def make(way, **kwargs):
        made.append(way(CARTPOLE, **{"episode_length_s": 0.1, "max_pole_angle": None, **kwargs}))
        return made[-1]

    yield make
    for env in made:
        env.close()


@pytest.mark.engine
def test_a_task_made_by_its_id_passes_the_checker(make):
    env = make(gymnasium.make)
    assert checked(env.unwrapped) == []
    assert env.get_wrapper_attr("task") == "cartpole"
    assert env.get_wrapper_attr("task_description").startswith("Push the cart")


@pytest.mark.engine
def test_truncation_is_the_tasks_own_and_counted_once(make):
    env = make(gymnasium.make)
    limit = env.get_wrapper_attr("_max_episode_steps")
    assert limit == 6
    assert "TimeLimit" not in str(env)
    env.reset(seed=1)
    ends = [env.step(env.action_space.sample())[2:4] for _ in range(limit)]
    assert ends == [(False, False)] * (limit - 1) + [(False, True)]
    again = env.spec.make()
    assert again.get_wrapper_attr("_max_episode_steps") == limit
    again.close()


@pytest.mark.engine
def test_a_task_made_as_a_vector_environment_by_its_id(make):
    envs = make(gymnasium.make_vec, num_envs=8, physics_settings={"integrator": "euler"})
    assert isinstance(envs, TorchVectorEnv)
    assert envs.spec.kwargs["num_envs"] == 8
    obs, _ = envs.reset(seed=1)
    assert obs in envs.observation_space
    assert obs.shape == (8, 4)
    for _ in range(6):
        obs, _, terminated, truncated, infos = envs.step(envs.action_space.sample())
    assert truncated.all()
    assert not terminated.any()
    assert infos["final_info"]["is_success"].all()
    assert not any(np.array_equal(final, first) for final, first in zip(infos["final_obs"], obs, strict=True))


@pytest.mark.engine
def test_disabled_rows_are_reset_alone(make):
    envs = make(gymnasium.make_vec, num_envs=4, autoreset_mode="Disabled")
    envs.reset(seed=1)
    for _ in range(6):
        before, *_ = envs.step(np.zeros((4, 1)))
    obs, _ = envs.reset(options={"reset_mask": mask(1, 0, 1, 0)})
    assert np.array_equal(obs[[1, 3]], before[[1, 3]])
    assert not np.array_equal(obs[[0, 2]], before[[0, 2]])
    after, *_, infos = envs.step(np.ones((4, 1)))
    assert np.array_equal(after[[1, 3]], before[[1, 3]])
    assert not np.array_equal(after[[0, 2]], obs[[0, 2]])
    assert same(infos["frozen"], mask(0, 1, 0, 1))


@pytest.mark.engine
def test_gymnasiums_own_vector_environments_hold_the_plain_one(make):
    envs = make(gymnasium.make_vec, num_envs=2, vectorization_mode="sync", vector_kwargs={"autoreset_mode": "SameStep"})
    envs.reset(seed=1)
    for _ in range(6):
        *_, truncated, infos = envs.step(envs.action_space.sample())
    assert truncated.all()
    assert infos["final_info"]["is_success"].all()
