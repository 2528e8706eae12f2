"""Videos are recorded after the results are on disk: whatever becomes of them, the results are the same.

The worker is synthetic; `test_real_run.py` records a real one, `rendering/test_mp4.py` has the encoder's failures.
"""

import json
import os
import signal
import time

import pytest

from benchmark_app.launch.recover import rebuild
from tests.conftest import alive_in

PLAY = ("workflow=play", "play.episodes=6", "num_envs=2", "video.envs=4")


def play(app, *arguments, **options):
    (app.folder / "policy.pt").write_text("synthetic")
    return app.synthetic(*PLAY, f"checkpoint={app.folder / 'policy.pt'}", *arguments, **options)


def finish(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def recorded(app):
    """What lies in the folder of videos."""
    folder = app.run_dir / "videos"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def steady(bundle):
    """What is the same in every synthetic play: everything but times, load and names of the run."""
    kept = ("n_episodes", "n_success", "pc_success", "avg_sum_reward", "settings", "exit_code", "warmup_iterations")
    extra = {key: bundle.extra.get(key) for key in kept}
    return bundle.run.status, bundle.reward, bundle.ep_length, bundle.success_rate, bundle.run.config, extra


def wait_for_recording(app, process):
    app.wait_for_event("video.play", '"worker_facts"', process)


def test_a_play_with_a_video_says_where_it_is_and_is_otherwise_the_same(app, tmp_path_factory):
    code, out, err = finish(play(app, "play.video=true"))
    assert code == 0, err
    bundle = app.bundle("play")
    assert bundle.video_path == "videos/play.mp4"
    assert recorded(app) == ["play.mp4"]
    assert bundle.extra["video_episodes"] == 4
    assert bundle.extra["video_renderer"] == "newton"
    assert "video_lost" not in bundle.extra
    assert "videos/play.mp4: 4 episodes, 1.0 s; drawn by newton, since rendering=none draws nothing" in out
    without = type(app)(tmp_path_factory.mktemp("without"))
    assert finish(play(without))[0] == 0
    assert without.bundle("play").video_path is None
    assert not [key for key in without.bundle("play").extra if key.startswith("video")]
    assert steady(without.bundle("play")) == steady(bundle)
    assert without.bundle("play").extra.keys() == {k for k in bundle.extra if not k.startswith("video")}
    app.assert_clean()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("kill@0", "the worker was killed by SIGKILL before it finished its work"),
        ("raise@0", "RuntimeError: the synthetic task failed"),
        pytest.param(
            "os_exit@0", "the worker exited with status 0 before it finished its work", marks=pytest.mark.slow
        ),
        pytest.param("spawn@0,kill@0", "the worker was killed by SIGKILL", marks=pytest.mark.slow),
    ],
)
def test_a_recording_that_fails_costs_the_video_alone(app, fault, reason):
    code, out, err = finish(play(app, "play.video=true", fault=fault, env={"SYNTHETIC_PART": "video"}))
    assert code == 0, err
    bundle = app.bundle("play")
    assert (bundle.run.status, bundle.video_path, bundle.extra["n_episodes"]) == ("completed", None, 6)
    assert bundle.extra["video_lost"].startswith(reason)
    assert "exit_note" not in bundle.extra
    assert f"no video: {reason}" in out
    assert recorded(app) == []
    app.assert_clean()


def test_the_results_are_on_disk_before_the_recording_begins_and_outlive_the_supervisor(app):
    process = play(app, "play.video=true", step_s=0.05)
    wait_for_recording(app, process)
    before = app.bundle("play")
    assert (before.run.status, before.video_path, before.extra["n_episodes"]) == ("completed", None, 6)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and alive_in(app.run_dir):
        time.sleep(0.05)  # the worker notices
    assert app.bundle("play") == before
    assert recorded(app) == [".play.mp4.partial"]
    (result,), lost = rebuild(app.run_dir)
    assert (result.status, lost) == ("completed", [])
    after = app.bundle("play")
    assert after.video_path is None
    assert recorded(app) == []
    assert after.extra["video_lost"] == "the supervisor ended while it was recorded (killed, or power loss)"
    assert {key: value for key, value in after.extra.items() if not key.startswith("video")} == before.extra


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_during_the_recording_ends_it_and_leaves_completed_results(app, number):
    process = play(app, "play.video=true", step_s=0.05)
    wait_for_recording(app, process)
    process.send_signal(number)
    code, out, _ = finish(process)
    assert code == 0
    bundle = app.bundle("play")
    assert (bundle.run.status, bundle.video_path) == ("completed", None)
    assert bundle.extra["video_lost"] == f"stopped by {signal.Signals(number).name}"
    assert "no video" in out
    assert recorded(app) == []
    app.assert_clean()


@pytest.mark.slow
def test_a_recording_that_ignores_the_request_to_stop_is_ended_after_the_grace(app):
    options = {"fault": "hang@0", "env": {"SYNTHETIC_PART": "video"}}
    process = play(app, "play.video=true", "run.grace_s=0.5", **options)
    wait_for_recording(app, process)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    code, _, _ = finish(process)
    assert code == 0
    assert app.bundle("play").extra["video_lost"] == "stopped by SIGINT"
    assert recorded(app) == []
    app.assert_clean()


@pytest.mark.slow
def test_a_time_limit_holds_for_the_recording_too(app):
    process = play(app, "play.video=true", "run.time_limit=4", "run.grace_s=0.5", step_s=0.4)
    _, out, _ = finish(process)
    bundle = app.bundle("play")
    assert (bundle.run.status, bundle.video_path) == ("completed", None)
    assert "no video" in out


@pytest.mark.slow
def test_a_play_that_did_not_complete_has_no_video(app):
    code, _, _ = finish(play(app, "play.video=true", fault="raise@3"))
    assert code == 1
    assert app.bundle("play").video_path is None
    assert recorded(app) == []
    assert not list((app.run_dir / "journal").glob("video.*"))


def test_a_training_leaves_a_video_of_every_so_many_iterations_and_of_the_last(app):
    arguments = (
        "workflow=training",
        "agent.iterations=7",
        "training.checkpoint_interval=2",
        "training.video_interval=3",
    )
    code, out, err = finish(app.synthetic(*arguments))
    assert code == 0, err
    bundle = app.bundle("training")
    assert recorded(app) == ["training-000003.mp4", "training-000006.mp4", "training-000007.mp4"]
    assert bundle.video_path == "videos/training-000007.mp4"
    assert bundle.extra["videos"] == 3
    assert "videos/training-000007.mp4 and 2 more" in out
    lines = (app.run_dir / "journal" / "video.training.worker.jsonl").read_text().splitlines()
    saved = [event for event in map(json.loads, lines) if event["kind"] == "video_saved"]
    assert [event["iteration"] for event in saved] == [3, 6, 7]


@pytest.mark.slow
def test_what_was_recorded_before_a_failure_stays(app):
    arguments = ("workflow=training", "agent.iterations=6", "training.video_interval=2")
    options = {"fault": "kill@2", "env": {"SYNTHETIC_PART": "video"}}
    code, out, err = finish(app.synthetic(*arguments, **options))
    assert code == 0, err
    assert recorded(app) == ["training-000002.mp4", "training-000004.mp4"]
    assert app.bundle("training").video_path == "videos/training-000004.mp4"
    assert "no further video: the worker was killed by SIGKILL" in out


def test_a_disk_that_is_full_when_the_results_are_written_again_leaves_those_there_were(app, monkeypatch):
    code, _, err = finish(play(app))
    assert code == 0, err
    before = app.bundle("play")
    monkeypatch.setattr("benchmark_app.launch.closing.write_bundle_file", _full)
    (result,), lost = rebuild(app.run_dir)
    assert result.bundle is None
    assert "No space left on device" in lost[0]
    assert app.bundle("play") == before


def _full(*_):
    raise OSError(28, os.strerror(28))
