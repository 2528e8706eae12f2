"""A run's limits end it as interrupted, with its results; the worker is synthetic."""

import pytest

ENDLESS = ("agent.iterations=100000", "workflow=training")


def ended(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_a_run_over_its_time_limit_is_interrupted_with_its_bundle_and_its_policy(app):
    code, out, _ = ended(app.synthetic(*ENDLESS, "run.time_limit=2"))
    bundle = app.bundle("training")
    assert code == 143
    assert bundle.run.status == "interrupted"
    assert "run.time_limit=2 s" in bundle.extra["reason"]
    assert bundle.runtime.iterations_completed > 5
    assert bundle.checkpoint_path is not None
    assert "run.time_limit=2 s" in out
    app.assert_clean()


def test_a_worker_that_ignores_the_time_limit_is_killed_after_its_grace(app):
    code, _, _ = ended(app.synthetic(*ENDLESS, "run.time_limit=2", "run.grace_s=0.5", fault="hang@3"))
    assert code == 143
    assert app.bundle("training").run.status == "interrupted"
    app.assert_clean()


def test_the_time_limit_is_the_whole_run_s_and_what_it_left_no_time_for_is_told(app):
    code, _, _ = ended(app.synthetic("workflow=all", "agent.iterations=100000", "run.time_limit=3"))
    told = app.manifest()["workflows"]
    assert code == 143
    assert told["startup"]["status"] == told["runtime"]["status"] == "completed"
    assert told["training"]["status"] == "interrupted"
    assert told["play"]["status"] == "not_run"
    assert "run.time_limit=3 s" in told["play"]["reason"]
    assert app.manifest()["status"] == "interrupted"


def test_a_worker_that_holds_more_than_the_memory_limit_is_ended_at_once_with_its_bundle(app):
    code, _, _ = ended(app.synthetic(*ENDLESS, "run.memory_limit=0.3", fault="hog@5"))
    bundle = app.bundle("training")
    assert code == 143
    assert bundle.run.status == "interrupted"
    assert "run.memory_limit=0.3 GiB" in bundle.extra["reason"]
    assert bundle.runtime.iterations_completed >= 5
    app.assert_clean()


def test_a_run_within_its_limits_completes(app):
    code, _, _ = ended(
        app.synthetic("agent.iterations=3", "workflow=training", "run.time_limit=60", "run.memory_limit=4")
    )
    assert code == 0
    assert app.bundle("training").run.status == "completed"


@pytest.mark.parametrize("setting", ["run.time_limit=0", "run.time_limit=-1", "run.memory_limit=0"])
def test_a_limit_that_leaves_nothing_is_refused(app, setting):
    code, _, err = ended(app.synthetic(*ENDLESS, setting))
    assert code == 2
    assert setting.split("=")[0] in err


def test_a_crashed_run_is_made_again_in_a_folder_beside_it_as_often_as_asked(app):
    code, _, err = ended(app.synthetic("workflow=training", "agent.iterations=3", "run.retries=2", fault="raise@1"))
    assert code == 1
    assert "attempt 3 of 3 (run.retries)" in err
    folders = sorted(path.name for path in app.folder.glob("run*") if (path / "training.json").is_file())
    assert folders == ["run", "run-attempt-2", "run-attempt-3"]


def test_a_run_that_completes_is_not_made_again(app):
    code, _, _ = ended(app.synthetic("workflow=training", "agent.iterations=3", "run.retries=2"))
    assert code == 0
    assert not (app.folder / "run-attempt-2").exists()
