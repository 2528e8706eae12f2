"""A library of a user's own: chosen, run and listed like the other four, from a folder of the user's."""

import importlib
import json
import os
import re

import pytest

from tests.conftest import ROOT

DOUBLES = ROOT / "tests" / "doubles"
CONFIG = ("--config-dir", str(DOUBLES / "fifth"))
# Where the user's package is found: the worker never looks into the folder the user is in.
IMPORTABLE = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(DOUBLES)])}
PAGE = ROOT / "docs" / "add_a_library.md"
PATH = r"([\w-]+/)+([\w-]+\.\w+)?|\w+\.(py|yaml)"  # with a folder, or a module by its name alone


@pytest.mark.engine
def test_a_fifth_library_trains_and_plays_the_real_task(app):
    small = ("num_envs=8", "agent.iterations=3", "play.episodes=4", "play.policy_batch=8", "device=cpu")
    steps = ("workflow=all", "workflow.steps=[training,play]")
    native = "framework.native.update.clip=0.1"
    code, out, err = app.run(*CONFIG, "framework=tiny", *steps, *small, native, env=IMPORTABLE)
    assert code == 0, err
    assert re.search(r"training +completed +3/3 iterations", out)
    training, play = app.bundle("training"), app.bundle("play")
    for bundle in (training, play):
        assert bundle.run.status == "completed"
        assert bundle.run.framework is None  # the schema's list is closed
        assert bundle.extra["framework"] == "tiny"
        assert "synthetic" not in bundle.extra
    assert training.runtime.iterations_completed == 3
    assert training.extra["agent_approximate"] == "clip"
    assert training.extra["gradient_steps_per_iteration"] == 5 * 4
    assert play.extra["n_episodes"] == 4
    assert play.checkpoint_path == training.checkpoint_path

    mapping = json.loads((app.run_dir / "agent_mapping.json").read_text())
    assert mapping["framework"] == "tiny"
    assert mapping["native_overrides"] == [{"path": "update.clip", "value": 0.1, "instead_of": 0.2}]
    assert list((app.run_dir / "logs" / "training").glob("events.out.tfevents*"))
    app.assert_clean()


def test_the_verb_agents_lists_it_beside_the_four(app):
    code, out, err = app.run("agents", *CONFIG, env=IMPORTABLE, run_dir=False)
    assert code == 0, err
    (header,) = [line for line in out.splitlines() if line.startswith("parameter")]
    assert header.split() == ["parameter", "value", "rl_games", "rsl_rl", "sb3", "skrl", "tiny"]
    code, out, _ = app.run("agents", *CONFIG, "framework=tiny", "--native", env=IMPORTABLE, run_dir=False)
    assert code == 0
    assert "tiny (no installed distribution)" in out
    assert "  horizon=16   (decided by agent.rollout)" in out


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        (["agent.normalize_values=true"], "tiny cannot do it: the tiny library has no value normalisation"),
        (["agent.precision=mixed"], "tiny cannot do it: the tiny library computes in float32 only"),
        (["agent=sac"], "agent.algorithm=sac: tiny has none (ppo)"),
        (["framework.native.update.clipp=0.1"], "tiny has no such setting; did you mean update.clip"),
        (["framework.native.horizon=8"], "is decided by the run; set agent.rollout instead"),
        (["framework.distribution=tiny-rl"], "needs the package tiny-rl; type: pip install tiny-rl"),
    ],
)
def test_what_it_cannot_do_is_refused_before_anything_starts(app, settings, refusal):
    code, _, err = app.run(*CONFIG, "framework=tiny", *settings, env=IMPORTABLE)
    assert code == 2
    assert refusal in err
    assert len(err.splitlines()) == 1
    assert not app.run_dir.exists()


def test_a_package_that_cannot_be_imported_is_refused_even_from_its_own_folder(app):
    (app.folder / "tiny_library").symlink_to(DOUBLES / "tiny_library")
    code, _, err = app.run(*CONFIG, "framework=tiny", env={"PYTHONPATH": str(ROOT)})
    assert code == 2
    assert "framework.module=tiny_library" in err
    assert "No module named 'tiny_library'" in err


def test_the_page_on_adding_a_library_names_what_there_is():
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
    named = re.findall(r"`([^`\n]+)`", blocks.sub("", page))

    folders = [ROOT, DOUBLES / "tiny_library", DOUBLES / "fifth", ROOT / "tests" / "frameworks"]
    paths = {name: [folder / name for folder in folders] for name in named if re.fullmatch(PATH, name)}
    found = {name: next((path for path in places if path.exists()), None) for name, places in paths.items()}
    assert len(found) > 10
    assert [name for name, path in found.items() if path is None] == []

    for folder in (ROOT / "benchmark_app" / "frameworks", *folders):
        found |= {str(path): path for path in folder.glob("*.py")}
    text = "\n".join(path.read_text(encoding="utf-8") for path in found.values() if path.is_file())
    words = set(re.findall(r"\w+", text))
    symbols = [name for name in named if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", name) and name not in paths]
    assert len(symbols) > 20
    assert [name for name in symbols if not set(name.split(".")) <= words] == []
    for name in symbols:
        module, _, attribute = name.partition(".")
        if module in ("base", "mapping", "checkpoints", "start") and attribute:
            assert hasattr(importlib.import_module(f"benchmark_app.frameworks.{module}"), attribute), name

    excerpts = [block for language, block in blocks.findall(page) if language]
    assert len(excerpts) > 3
    assert [excerpt for excerpt in excerpts if excerpt not in text] == []
