"""Factories of environments by suite and task, and the same environment as plain data."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

from benchmark_app.catalogue import TaskError, env_fns, sim_settings
from tests.conftest import ROOT


def test_factories_come_by_suite_and_task_as_many_as_asked_for():
    found = env_fns("cartpole", 3)
    assert {suite: {number: len(made) for number, made in tasks.items()} for suite, tasks in found.items()} == {
        "classic": {0: 3}
    }
    assert all(callable(factory) for factory in found["classic"][0])


def test_a_suite_gives_the_factories_of_all_its_tasks():
    found = env_fns("classic", 2)
    assert list(found) == ["classic"]
    assert list(found["classic"]) == list(range(len(found["classic"])))
    assert {len(factories) for factories in found["classic"].values()} == {2}


def test_asking_for_factories_and_settings_builds_nothing_and_imports_no_engine():
    code = (
        "import sys; from benchmark_app.catalogue import env_fns, sim_settings; "
        "env_fns('classic', 8); sim_settings('cartpole'); "
        "print([m for m in ('torch', 'warp', 'newton', 'gymnasium', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cartpol", 1), r"cartpol: no such task; did you mean cartpole or cartpole_camera\?"),
        (("cartpole", 0), "n_envs=0: must be a whole number of at least 1"),
        (("cartpole", True), "n_envs=True: must be"),
        (("cartpole", 1, {"max_efort": 1.0}), "max_efort=1.0: no such setting"),
        (("cartpole", 1, {"max_effort": -1.0}), "task.max_effort=-1.0: must be greater than 0"),
        (
            ("cartpole", 1, {"episode_length_s": 0.001}),
            "task.episode_length_s=0.001: must be at least one control step",
        ),
        (("cartpole", 1, {"physics": "bogus"}), "physics=bogus: unknown engine; choose one of"),
        (("cartpole", 1, {"physics": None}), "physics=None: unknown engine"),
        (("ant", 1, {"physics": "newton_kamino"}), "physics=newton_kamino: task=ant is made for"),
        (("locomotion", 1, {"physics": "newton_kamino"}), "physics=newton_kamino: task=ant is made for"),
        (
            ("cartpole", 1, {"physics_settings": {"nope": 1}}),
            "physics_settings.nope=1: no such setting of newton_mjwarp",
        ),
        (("cartpole", 1, {"device": "gpu"}), "device=gpu: must be cpu, cuda or cuda:N"),
        (("cartpole", 1, {"name": "foo"}), "task.name=foo: must be cartpole, or left out; it says which task this is"),
        (("cartpole", 1, {"gym_id": "Foo-v0"}), "task.gym_id=Foo-v0: must be Cartpole-Direct-v0"),
    ],
)
def test_what_cannot_be_made_is_refused_before_a_factory_is_called(arguments, said):
    with pytest.raises(ValueError, match=said) as refused:
        env_fns(*arguments)
    if arguments[2:] and arguments[0] != "locomotion":
        with pytest.raises(TaskError, match=said):
            sim_settings(arguments[0], *arguments[2:])
        assert isinstance(refused.value, TaskError)


def test_the_settings_spell_out_everything_and_survive_json():
    found = sim_settings("cartpole", {"max_effort": 50.0, "device": "cpu"})
    assert json.loads(json.dumps(found)) == found
    assert (found["type"], found["task"]) == ("benchmark_app", "cartpole")
    kwargs = found["kwargs"]["gym_kwargs"]
    assert (kwargs["max_effort"], kwargs["physics"], kwargs["decimation"]) == (50.0, "newton_mjwarp", 2)
    assert sim_settings(found["task"], kwargs) == found  # nothing is left to a default
    with pytest.raises(TaskError, match="no such task"):
        sim_settings("classic")


@pytest.mark.engine
def test_a_factory_makes_the_environment_the_settings_describe_also_after_pickling():
    settings = sim_settings("cartpole", {"episode_length_s": 0.1, "initial_pole_angle": 0.0})
    (factory,) = env_fns(settings["task"], 1, **settings["kwargs"])["classic"][0]
    one, two = factory(), pickle.loads(pickle.dumps(factory))()
    for env in (one, two):
        assert (env.task, env._max_episode_steps) == ("cartpole", 6)
    assert np.array_equal(one.reset(seed=3)[0], two.reset(seed=3)[0])
    for env in (one, two):
        *_, truncated, info = [env.step(np.zeros(1)) for _ in range(6)][-1]
        assert truncated
        assert info["is_success"]
        assert set(info["metrics"]) == {"episode_return", "episode_length", "final_pole_angle", "final_cart_distance"}
        env.close()
