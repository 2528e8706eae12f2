"""Which checkpoints are let in: every mismatch is told at once, nothing is executed, and nothing is made before."""

import dataclasses
import json
import os
import pickle
import re
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmark_app.tasks.cartpole import Cfg

from benchmark_app.checkpoint_card import card_path, mismatches, require_names, write_card
from benchmark_app.cli import main
from benchmark_app.settings import Settings
from tests.conftest import SYNTHETIC, App
from tests.test_cli import settings

NAMES = ["pole_angle", "pole_velocity", "cart_position", "cart_velocity"]
GOOD = {
    "framework": "rsl_rl",
    "task": "cartpole",
    "agent.algorithm": "ppo",
    "agent.hidden_layers": [32, 32],
    "agent.activation": "elu",
    "agent.normalize_observations": False,
    "agent.normalize_values": False,
    "control_rate_hz": 60.0,
    "iteration": 3,
    "observations": {"policy": NAMES},
    "actions": ["cart_force"],
    "images": {},
}


@pytest.fixture
def attempt(tmp_path, monkeypatch, capsys):
    """Run the command line on a checkpoint with a card made by hand; return the refusal, "" if there was none."""
    monkeypatch.chdir(tmp_path)

    def attempt(card, *arguments, workflow="training"):
        Path("policy.pt").write_text("never opened here")
        if card is not None:
            card_path(Path("policy.pt")).write_text(card if isinstance(card, str) else json.dumps({**GOOD, **card}))
        before = sorted(tmp_path.iterdir())
        status = main([f"workflow={workflow}", "checkpoint=policy.pt", f"worker.program={SYNTHETIC}", *arguments])
        err = capsys.readouterr().err
        if status == 0:
            return ""
        assert status == 2, err
        assert len(err.splitlines()) == 1
        assert err.rstrip("\n").isprintable()
        assert sorted(tmp_path.iterdir()) == before
        return err

    return attempt


def test_a_checkpoint_made_for_the_same_is_let_in_and_so_is_one_without_a_card(attempt):
    assert attempt(None, "agent.iterations=3") == ""
    assert attempt({}, "agent.iterations=6") == ""
    assert attempt({}, workflow="play") == ""


def test_every_mismatch_is_told_at_once(attempt):
    card = {
        "framework": "skrl",
        "task": "ant",
        "agent.activation": "relu",
        "agent.hidden_layers": [64],
        "agent.normalize_values": True,
        "control_rate_hz": 30.0,
        "observations": {"policy": [*NAMES[:2], "cart_velocity", "cart_position"], "critic": 7},
        "actions": ["cart_force", "brake"],
        "images": {"front": 3},
    }
    err = attempt(card)
    for said in (
        "framework=rsl_rl: the checkpoint policy.pt was made with framework=skrl",
        "task=cartpole: the checkpoint policy.pt was made with task=ant",
        "agent.activation=elu: the checkpoint policy.pt was made with agent.activation=relu",
        "agent.hidden_layers=[32, 32]: the checkpoint policy.pt was made with agent.hidden_layers=[64]",
        "agent.normalize_values=False: the checkpoint policy.pt was made with agent.normalize_values=True",
        "control_rate_hz=60.0: the checkpoint policy.pt was made with control_rate_hz=30.0",
        "observations.policy: the checkpoint policy.pt has the same names in another order, and the order matters: "
        "3 is cart_velocity there, cart_position here, 4 is cart_position there, cart_velocity here",
        "observations.critic: the checkpoint policy.pt has 7 values, this task has none",
        "actions: the checkpoint policy.pt has 2 values, this task has 1 values (the checkpoint alone has brake)",
        "images.front: the checkpoint policy.pt has 3 channels, this task has none",
    ):
        assert said in err
    assert err.count("; ") == 9
    assert attempt(card, workflow="play") == err


def test_names_are_compared_one_by_one_and_numbers_where_there_are_no_names(attempt):
    err = attempt({"observations": {"policy": ["angle", *NAMES[1:]]}})
    assert "has other names: 1 is angle there, pole_angle here (where two mean the same, set admission.rename=" in err
    assert "has 3 values, this task has 4 values (this task alone has cart_velocity)" in attempt(
        {"observations": {"policy": NAMES[:3]}}
    )
    assert "observations.policy: the checkpoint policy.pt has none" in attempt({"observations": {}})
    assert "observations.policy: the checkpoint policy.pt has 5 values" in attempt({"observations": {"policy": 5}})
    assert attempt({"observations": {"policy": 4}, "actions": 1}) == ""


def test_a_rename_map_fixes_names_wherever_they_stand(attempt):
    other = {"observations": {"policy": ["a", "b", *NAMES[2:]]}, "actions": ["push"]}
    assert attempt(other, "admission.rename={a:pole_angle,b:pole_velocity,push:cart_force}") == ""
    assert attempt(other, "admission.rename.a=pole_angle", "admission.rename.b=pole_velocity").count("; ") == 0
    swapped = {"observations": {"policy": [NAMES[1], NAMES[0], *NAMES[2:]]}}
    assert attempt(swapped, "admission.rename={pole_angle:pole_velocity,pole_velocity:pole_angle}") == ""


@pytest.mark.parametrize(
    ("rename", "said"),
    [
        ("{nope:pole_angle}", "admission.rename={nope:pole_angle}: the checkpoint policy.pt has no nope, it has angle"),
        ("{angle:nope}", "admission.rename={angle:nope}: this task has no nope, it has cart_force, cart_position"),
        ("{angle:cart_force}", "1 is cart_force there, pole_angle here"),
        ("{angle:cart_position}", "would make two names of observations.policy in the checkpoint policy.pt equal"),
        ("{angle:pole_angle,pole_velocity:pole_angle}", "equal: pole_angle"),
    ],
)
def test_a_rename_map_never_disables_a_check(attempt, rename, said):
    err = attempt({"observations": {"policy": ["angle", *NAMES[1:]]}, "task": "ant"}, f"admission.rename={rename}")
    assert said in err
    assert "was made with task=ant" in err


def test_a_rename_map_needs_names_to_rename(attempt):
    assert "the checkpoint policy.pt has no card, so no names" in attempt(None, "admission.rename={a:pole_angle}")
    nameless = {"observations": {"policy": 4}, "actions": 1}
    assert "has no a, it has no names" in attempt(nameless, "admission.rename={a:pole_angle}")


@pytest.mark.parametrize(
    "card",
    [
        "",
        "{",
        "[]",
        "null",
        "\x00\x01",
        "[" * 100_000,
        '{"iteration": ' + "9" * 5000 + "}",
        json.dumps({**GOOD, "padding": "x" * 2**20}),
        *(
            json.dumps({**GOOD, key: value})
            for key, value in (
                ("framework", 3),
                ("framework", "\x1b[2J"),
                ("task", "x" * 1000),
                ("agent.hidden_layers", "32"),
                ("agent.normalize_values", 0),
                ("iteration", -1),
                ("iteration", True),
                ("iteration", 1e3),
                ("control_rate_hz", float("nan")),
                ("control_rate_hz", 10**400),
                ("observations", NAMES),
                ("observations", {"policy": [1, 2]}),
                ("observations", {"policy": {"a": 1}}),
                ("actions", None),
                ("actions", [["cart_force"]]),
                ("images", {"front": "3"}),
                ("images", []),
            )
        ),
    ],
    ids=lambda card: repr(card[:12] + card[-24:]),
)
def test_a_card_that_is_none_is_refused_in_one_line(attempt, card):
    err = attempt(card)
    assert re.search(r"checkpoint=/.*policy.pt: its card policy.pt.json (is|cannot be read)", err), err
    assert len(err) < 600


def test_a_card_that_would_block_whoever_reads_it_is_refused(attempt, tmp_path):
    os.mkfifo(tmp_path / "policy.pt.json")
    assert "its card policy.pt.json is no regular file" in attempt(None)


def test_the_budget_counts_what_the_checkpoint_has_done(attempt):
    assert "agent.iterations=3: the checkpoint has done 3 already; set agent.iterations above 3" in attempt(
        {}, "agent.iterations=3"
    )
    err = attempt({"task": "ant"}, "agent.iterations=3")
    assert "task=ant" in err
    assert "above 3" in err
    assert "training.warmup_iterations=2: must be below the 1 iterations left of agent.iterations=4" in attempt(
        {}, "agent.iterations=4"
    )
    assert attempt({}, "agent.iterations=3", workflow="play") == ""


MADE_WITH = {"agent.learning_rate": 0.001, "agent.init_noise_std": 1.0, "agent.rollout": 16, "framework.native.*": {}}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            "agent.learning_rate=0.05",
            "agent.learning_rate=0.05: the training that policy.pt is to continue was",
        ),
        ("agent.init_noise_std=0.3", "made with agent.init_noise_std=1.0"),
        ("agent.rollout=32", "made with agent.rollout=16"),
        ("framework.native.algorithm.optimizer=sgd", "framework.native.*={'algorithm.optimizer': 'sgd'}: the training"),
    ],
)
def test_a_continued_training_keeps_its_settings_for_they_would_be_claimed_and_not_used(attempt, setting, said):
    card = {"training": MADE_WITH}
    assert said in attempt(card, setting)
    assert attempt(card, setting, workflow="play") == ""
    assert attempt(card) == ""


def test_a_card_without_its_essentials_is_no_card(attempt):
    assert "is no card: it lacks framework, task, iteration" in attempt("{}")


@pytest.mark.parametrize("workflow", ["runtime", "startup"])
def test_what_neither_trains_nor_plays_takes_no_checkpoint(attempt, workflow):
    err = attempt({}, workflow=workflow)
    assert f"workflow={workflow} takes none; set workflow=training to continue it, workflow=play to play it" in err


def with_camera(channels):
    conventions = Cfg().conventions()
    return lambda self: {**conventions, "images": {"front": {"channels": channels, "height": 48, "width": 64}}}


def test_channels_of_images_are_compared_height_and_width_are_not(monkeypatch, tmp_path):
    monkeypatch.setattr(Cfg, "conventions", with_camera(3))
    here, path = settings(), tmp_path / "policy.pt"
    write_card(path, here, env_of(4), 5)
    assert json.loads(card_path(path).read_text())["images"] == {"front": 3}
    assert mismatches(path, here) == []
    monkeypatch.setattr(Cfg, "conventions", with_camera(4))
    assert mismatches(path, here) == ["images.front: the checkpoint policy.pt has 3 channels, this task has 4 channels"]


def env_of(width, **groups):
    return SimpleNamespace(obs_groups_spec={"policy": width, **groups}, action_space=SimpleNamespace(shape=(1,)))


def test_a_task_without_names_has_its_dimensions_written_and_left_to_the_library(monkeypatch, tmp_path):
    path = tmp_path / "policy.pt"
    write_card(path, settings(), env_of(4), 5)
    with pytest.raises(ValueError, match=r"names {'policy': 4} observations, the environment has {'policy': 5}"):
        require_names(settings(), env_of(5))
    monkeypatch.setattr(Cfg, "conventions", lambda self: {})
    here = settings()
    assert mismatches(path, here) == []
    write_card(path, here, env_of(6, critic=9), 5)
    card = json.loads(card_path(path).read_text())
    assert (card["observations"], card["actions"], card["images"]) == ({"policy": 6, "critic": 9}, 1, {})
    assert mismatches(path, here) == []


def test_another_control_rate_is_another_task(tmp_path):
    here, path = settings(), tmp_path / "policy.pt"
    write_card(path, here, env_of(4), 5)
    faster: Settings = dataclasses.replace(here, task=dataclasses.replace(here.task, decimation=1))
    assert mismatches(path, faster) == [
        "control_rate_hz=120.0: the checkpoint policy.pt was made with control_rate_hz=60.0"
    ]


# ---------------------------------------------------------------- whole runs


def saved_by_hand(app, **card):
    path = app.folder / "policy.pt"
    path.write_text("synthetic")
    card_path(path).write_text(json.dumps({**GOOD, **card}))
    return path


def test_the_results_say_what_a_resumed_training_did_not_restore(app):
    path = saved_by_hand(app)
    assert app.status("workflow=training", f"checkpoint={path}", "agent.iterations=8") == 0
    bundle = app.bundle("training")
    assert bundle.run.max_iterations == 5
    assert (bundle.extra["resumed_from"], bundle.extra["resumed_iterations"]) == (str(path), 3)
    assert bundle.extra["resume_differs"] == (
        "not restored, begun anew: episodes in progress, random generators, the window of the last episodes"
    )
    app.run_dir = app.folder / "fresh"
    assert app.status("workflow=training", "agent.iterations=8") == 0
    assert not [key for key in app.bundle("training").extra if key.startswith("resume")]


def test_where_a_training_does_not_complete_nothing_is_played_not_even_what_it_continued(app):
    path = saved_by_hand(app)
    assert app.status(f"checkpoint={path}", "agent.iterations=8", fault="raise@2") == 1
    entries = app.manifest()["workflows"]
    assert entries["training"]["status"] == "crashed"
    assert (entries["play"]["status"], entries["play"]["reason"]) == ("not_run", "training left no checkpoint to play")
    app.run_dir = app.folder / "second"
    assert app.status(f"checkpoint={path}", "agent.iterations=8") == 0
    assert app.manifest()["workflows"]["training"]["checkpoint"] == str(app.run_dir / "checkpoints" / "policy.txt")
    spec = json.loads((app.run_dir / "journal" / "play.spec.json").read_text())
    assert spec["checkpoint"] == str(app.run_dir / "checkpoints" / "policy.txt")
    assert json.loads((app.run_dir / "journal" / "runtime.spec.json").read_text())["checkpoint"] is None


SMALL = ("num_envs=16", "device=cpu")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A checkpoint of three real iterations, with its card."""
    app = App(tmp_path_factory.mktemp("trained"))
    code, _, err = app.run("workflow=training", "agent.iterations=3", *SMALL)
    assert code == 0, err
    return Path(app.bundle("training").checkpoint_path)


def refused(app, checkpoint, *arguments, workflow="play"):
    """Have the real command line refuse a checkpoint, and leave nothing."""
    before = sorted(app.folder.iterdir())
    code, out, err = app.run(f"workflow={workflow}", f"checkpoint={checkpoint}", *SMALL, *arguments, run_dir=False)
    assert code == 2, (out, err)
    assert out == ""
    assert len(err.splitlines()) == 1
    assert sorted(app.folder.iterdir()) == before
    return err


@pytest.mark.engine
def test_a_training_is_continued_and_what_it_saved_is_played(app, trained):
    card = json.loads(card_path(trained).read_text())
    assert {key: card[key] for key in GOOD} == GOOD
    steps = ("workflow=training", "workflow.steps=[training,play]", "play.episodes=4", "agent.iterations=6")
    code, out, err = app.run(*steps, f"checkpoint={trained}", *SMALL)
    assert code == 0, err
    training, play = app.bundle("training"), app.bundle("play")
    assert (training.run.max_iterations, training.runtime.iterations_completed) == (3, 3)
    assert training.extra["resumed_from"] == str(trained)
    assert re.search(r"training +completed +3/3 iterations after the first 3", out)
    assert "iteration 3/3" in err
    assert play.checkpoint_path == training.checkpoint_path == str(app.run_dir / "checkpoints" / "policy.pt")
    saved = app.run_dir / "checkpoints" / "policy.pt"
    assert json.loads(card_path(saved).read_text())["iteration"] == 6
    assert saved.read_bytes() != trained.read_bytes()


@pytest.mark.engine
def test_a_checkpoint_without_a_card_is_played_once_its_library_has_looked_at_it(app, trained):
    alone = app.folder / "alone.pt"
    alone.write_bytes(trained.read_bytes())
    code, _, err = app.run("workflow=play", f"checkpoint={alone}", "play.episodes=4", *SMALL)
    assert code == 0, err
    assert app.bundle("play").run.status == "completed"
    assert "saved with other agent.hidden_layers" in refused(app, alone, "agent.hidden_layers=[32]")


@pytest.mark.engine
@pytest.mark.parametrize("workflow", ["training", pytest.param("play", marks=pytest.mark.slow)])
def test_a_truncated_checkpoint_is_refused_with_and_without_its_card(app, trained, workflow):
    half = app.folder / "policy.pt"
    half.write_bytes(trained.read_bytes()[: trained.stat().st_size // 2])
    said = f"checkpoint {half} refused: it is damaged, or no rsl_rl checkpoint"
    assert said in refused(app, half, workflow=workflow)
    card_path(half).write_text(card_path(trained).read_text())
    assert said in refused(app, half, workflow=workflow)


class Bomb:
    """Executes a shell command when it is unpickled."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def plant(path, command):
    path.write_bytes(pickle.dumps({"actor_state_dict": Bomb(command)}))
    return path


@pytest.mark.engine
def test_a_pickle_bomb_goes_off_for_nobody_but_who_trusts_it(app, trained):
    marker = app.folder / "executed"
    bomb = plant(app.folder / "bomb.pt", f"touch '{marker}'")
    for workflow in ("training", "play"):
        err = refused(app, bomb, workflow=workflow)
        assert "loading it would execute code (nothing was executed)" in err
        assert "admission.trusted=true" in err
    card_path(bomb).write_text(card_path(trained).read_text())
    assert "nothing was executed" in refused(app, bomb)
    assert not marker.exists()
    marker.with_name("elsewhere").mkdir()
    plant(bomb, f"touch '{marker.with_name('elsewhere')}/executed'")
    assert "refused: it is" in refused(app, bomb, "admission.trusted=true")
    assert (app.folder / "elsewhere" / "executed").exists()


@pytest.mark.engine
def test_ctrl_c_while_a_checkpoint_is_looked_at_ends_cleanly(app):
    notes = app.folder / "notes"
    notes.mkdir()
    bomb = plant(app.folder / "bomb.pt", f"echo $PPID > '{notes}/pid'; sleep 300")
    before = sorted(app.folder.iterdir())
    process = app.start("workflow=play", f"checkpoint={bomb}", "admission.trusted=true", *SMALL, run_dir=False)
    while not ((notes / "pid").exists() and (notes / "pid").read_text().strip()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")
    assert sorted(app.folder.iterdir()) == before
    assert not Path(f"/proc/{(notes / 'pid').read_text().strip()}").exists()


@pytest.mark.engine
def test_it_is_the_worker_s_python_that_has_to_know_the_library(app, trained):
    # What such an interpreter has installed is there, and cannot be imported.
    broken = app.folder / "broken" / "rsl_rl"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('half an installation')")
    other = app.folder / "python"
    other.write_text(f'#!/bin/sh\nPYTHONPATH="{broken.parent}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    other.chmod(0o755)
    err = refused(app, trained, f"worker.python={other}")
    assert "framework=rsl_rl: cannot be loaded by the worker's Python (half an installation)" in err
    # One that ends before it answers.
    other.write_text(f'#!/bin/sh\ncase "$2" in *interpreter.py) exec "{sys.executable}" "$@";; esac\n')
    err = refused(app, trained, f"worker.python={other}")
    assert f"could not be looked at by {other}, which ended with status 0" in err
