"""Runs whose settings differ did other work, and say so in their results."""

import pytest

QUICK = ("agent.iterations=3", "workflow=training")


def settings_of(app, *arguments, workflow="training"):
    assert app.status(*arguments) == 0
    return app.bundle(workflow).extra["settings"]


def test_the_shipped_settings_are_an_empty_text_whatever_is_chosen(app):
    assert settings_of(app, *QUICK, "seed=3", "num_envs=8", "framework=skrl", "run.grace_s=5") == ""


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (["task.max_effort=50", "agent.learning_rate=0.01"], "agent.learning_rate=0.01,task.max_effort=50.0"),
        (["physics.iterations=1", "nan_guard=false"], "nan_guard=False,physics.iterations=1"),
        (
            ["training.warmup_iterations=1", "task.max_pole_angle=null"],
            "task.max_pole_angle=null,training.warmup_iterations=1",
        ),
        (["physics=newton_kamino"], ""),
        (["physics=newton_kamino", "physics.tolerance=1e-5"], "physics.tolerance=1e-05"),
        (["agent=sac", "framework=skrl", "agent.gamma=0.9"], "agent.gamma=0.9"),
    ],
)
def test_what_was_changed_is_named(app, changes, told):
    assert settings_of(app, *QUICK, *changes) == told


def test_only_what_counts_for_a_workflow_is_told(app):
    runtime = ("workflow=runtime", "agent.learning_rate=0.01", "runtime.warmup_steps=3", "runtime.steps=20")
    assert settings_of(app, *runtime, workflow="runtime") == "runtime.warmup_steps=3"


def test_a_preset_counts_as_what_it_changes(app, tmp_path):
    preset = tmp_path / "presets" / "experiment" / "strong.yaml"
    preset.parent.mkdir(parents=True)
    preset.write_text("# @package _global_\ntask:\n  max_effort: 200.0\n")
    arguments = ("--config-dir", str(tmp_path / "presets"), "experiment=strong")
    assert settings_of(app, *arguments, *QUICK) == "task.max_effort=200.0"


def test_compare_refuses_runs_with_other_settings_and_names_them(app):
    runs = []
    for name, changes in (("base", ()), ("new", ("agent.learning_rate=0.01",))):
        app.run_dir = app.folder / name
        assert app.status(*QUICK, *changes) == 0
        runs.append(str(app.run_dir))
    code, out, err = app.run("compare", *runs, run_dir=False)
    assert code == 2
    assert "settings: none against agent.learning_rate=0.01" in out + err
