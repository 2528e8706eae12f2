"""Whole runs on the real engine with the real libraries, small. A process takes seconds, so runs are shared."""

import json
import re
import shutil

import pytest

from benchmark_app.bundle.read import read_bundle_file
from tests.conftest import FRAMEWORKS, App

pytestmark = pytest.mark.engine

SMALL = (
    "num_envs=16",
    "agent.iterations=6",
    "play.episodes=20",
    "play.policy_batch=16",
    "runtime.steps=60",
    "device=cpu",
)


TRAINING = ("workflow=training", "num_envs=16", "agent.iterations=8", "device=cpu")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small training with seed 5: its App, whose run directory must stay as it is."""
    app = App(tmp_path_factory.mktemp("trained"))
    code, _, err = app.run(*TRAINING, "seed=5")
    assert code == 0, err
    return app


@pytest.fixture
def checkpoint(trained):
    return trained.bundle("training").checkpoint_path


def test_the_main_job_leaves_four_true_bundles_and_a_video(app):
    video = ("play.video=true", "video.envs=2", "video.seconds=0.5", "video.width=64", "video.height=64")
    code, out, err = app.run(*SMALL, *video, "seed=3")
    assert code == 0, err
    startup, runtime, training, play = (app.bundle(name) for name in ("startup", "runtime", "training", "play"))
    for bundle in (startup, runtime, training, play):
        assert bundle.run.status == "completed"
        assert bundle.run.seed == 3
        assert bundle.run.config.physics_backend == "newton_mjwarp"
        assert bundle.versions.newton
        assert bundle.versions.isaaclab == ""
        assert "synthetic" not in bundle.extra
    assert (training.run.framework, play.run.framework, runtime.run.framework) == ("rsl_rl", "rsl_rl", None)

    names = ["python_imports", "task_config", "app_launch", "env_creation", "first_step"]
    assert list(startup.phases) == names
    assert all(phase.total_time_s > 0 for phase in startup.phases.values())
    assert all(len(startup.phases[name].top_functions) > 0 for name in names)
    # Engines are called from our code: their functions are listed with the time of those calls.
    (finalize,) = (row for row in startup.phases["env_creation"].top_functions if row.name.endswith(":finalize"))
    assert finalize.name.startswith("newton.")
    assert (finalize.calls, finalize.cum_time_s > 10 * finalize.own_time_s) == (1, True)
    imports = (app.run_dir / "startup_profile" / "imports.txt").read_text()
    assert re.search(r"^ +\d+\.\d{3} +\d+\.\d{3}  newton$", imports, re.MULTILINE)
    flame = json.loads((app.run_dir / "startup_profile" / "flame.speedscope.json").read_text())
    assert [profile["name"] for profile in flame["profiles"]] == names
    seen = {flame["shared"]["frames"][frame]["name"] for stack in flame["profiles"][3]["samples"] for frame in stack}
    assert any("ModelBuilder.finalize" in name for name in seen)

    assert runtime.runtime.iterations_completed == 60 + 50
    assert runtime.runtime.environment_step_timing.environment_step_calls == 60
    assert runtime.runtime.environment_step_timing.warmup_steps == 50
    assert runtime.runtime.steps_per_iteration == 16

    loop = training.runtime
    assert (training.run.max_iterations, loop.iterations_completed) == (6, 6)
    assert loop.steps_per_iteration == 16 * 16
    assert loop.environment_step_timing.environment_step_calls == 16 * 4  # two of six iterations are warm-up
    assert loop.environment_step_timing.environment_step_fps.mean > loop.collection_fps.mean > loop.total_fps.mean
    assert training.extra["warmup_iterations"] == 2
    assert 0 < training.extra["hook_time_fraction"] < 0.05
    assert training.extra["threads"] == 1
    assert training.extra["kernel_cache"] in ("warm", "cold")
    assert len(training.learning.reward.series_per_iter) == 6
    assert training.resources.devices == {}
    assert training.resources.ram_gb.peak > 0.1

    assert play.extra["n_episodes"] == 20
    assert play.checkpoint_path == training.checkpoint_path
    assert play.ep_length.peak <= 300

    assert play.video_path == "videos/play.mp4"
    content = (app.run_dir / play.video_path).read_bytes()
    assert content[4:8] == b"ftyp"
    assert content.find(b"moov") < content.find(b"mdat")
    assert play.extra["video_episodes"] == 2
    assert play.extra["video_seconds"] == pytest.approx(0.5, abs=0.04)
    assert play.extra["video_cut"] is True  # an untrained policy still balances by then
    assert (app.run_dir / "videos" / "play.jpg").read_bytes()[:3] == b"\xff\xd8\xff"
    assert training.video_path is None
    assert "cut there (video.seconds): an episode went on; drawn by newton, since rendering=none draws nothing" in out

    logs = app.run_dir / "logs"
    assert list((logs / "training").rglob("events.out.tfevents*"))
    assert (logs / "training.log").stat().st_size > 0
    assert "Warp" not in out + err  # library chatter belongs in the log
    assert re.search(r"training +completed +6/6 iterations", out)
    assert app.manifest()["diagnostics"]["training"]["backend_type"] == "NewtonMjwarpBackend"
    assert_equal_terms(app, "rsl_rl")
    app.assert_clean()


@pytest.mark.slow
@pytest.mark.parametrize("framework", [name for name in FRAMEWORKS if name != "rsl_rl"])
def test_every_other_library_trains_and_plays_on_equal_terms(app, framework):
    steps = ("workflow=training", "workflow.steps=[training,play]")
    code, out, err = app.run(f"framework={framework}", *steps, *SMALL, "seed=0")
    assert code == 0, err
    # Nothing of the library's own; a busy machine is warned of.
    assert len([line for line in out.splitlines() if line.split()[0] != "warning"]) < 10
    assert_equal_terms(app, framework)
    app.assert_clean()


def assert_equal_terms(app, framework):
    """The library did what the shared description says, all of it, and left what every run leaves."""
    training, play = app.bundle("training"), app.bundle("play")
    assert (training.run.framework, play.run.framework) == (framework, framework)
    assert (training.run.max_iterations, training.runtime.iterations_completed) == (6, 6)
    assert training.runtime.steps_per_iteration == 16 * 16
    equal = {
        "timeout_bootstrap": "exact",
        "agent_exact": 29,
        "agent_approximate": "",
        "agent_unsupported": "",
        "native_overrides": "",
        "threads": 1,
        "matmul_precision": "highest",
        "matmul_tf32": False,
        "cudnn_tf32": False,
        "cudnn_benchmark": False,
        "gradient_steps_per_iteration": 5 * 4,
        "samples_per_minibatch": 16 * 16 // 4,
        "actor_parameters": 4 * 32 + 32 + 32 * 32 + 32 + 32 + 1 + 1,
        "critic_parameters": 4 * 32 + 32 + 32 * 32 + 32 + 32 + 1,
    }
    assert {key: training.extra[key] for key in equal} == equal
    assert 0 < training.extra["hook_time_fraction"] < 0.05
    assert play.extra["n_episodes"] == 20
    assert play.checkpoint_path == training.checkpoint_path
    table = json.loads((app.run_dir / "agent_mapping.json").read_text())
    assert {row["quality"] for row in table["parameters"]} == {"exact"}
    assert list((app.run_dir / "logs" / "training").rglob("events.out.tfevents*"))
    assert list((app.run_dir / "logs" / "series").glob("events.out.tfevents*"))
    log = (app.run_dir / "logs" / "training.log").read_text()
    assert "Traceback" not in log


def test_the_early_stop_completes_the_run_and_says_why(app):
    settings = ("training.early_stop_success=0.2", "training.early_stop_window=10", "agent.iterations=150")
    code, _, err = app.run("workflow=training", "device=cpu", *settings)
    assert code == 0, err
    training = app.bundle("training")
    assert training.run.status == "completed"
    assert 18 < training.runtime.iterations_completed < 100
    assert re.fullmatch(r"\d+ of the last 10 episodes succeeded \(asked for 0.2\)", training.extra["early_stop"])


def test_the_same_seed_gives_bitwise_the_same_learning_curve_and_another_does_not(app, trained):
    def curve(app):
        learning = app.bundle("training").learning
        return learning.reward.series_per_iter, learning.ep_length.series_per_iter

    for seed in (5, 6):
        app.run_dir = app.folder / str(seed)
        code, _, err = app.run(*TRAINING, f"seed={seed}")
        assert code == 0, err
        assert (curve(app) == curve(trained)) is (seed == 5)


def test_an_earlier_checkpoint_plays_the_same_whatever_the_number_of_environments(app, checkpoint):
    results = []
    for num_envs in (4, 32):
        app.run_dir = app.folder / f"play {num_envs}"
        code, _, err = app.run("workflow=play", f"checkpoint={checkpoint}", f"num_envs={num_envs}", "play.episodes=24")
        assert code == 0, err
        results.append((app.run_dir / "episodes.jsonl").read_bytes())
        assert read_bundle_file(app.run_dir / "play.json").bundle.extra["n_episodes"] == 24
    assert results[0] == results[1]
    assert results[0].count(b"\n") == 24


def test_a_policy_is_not_played_with_another_network_than_it_was_trained_with(app, checkpoint):
    code, _, err = app.run("workflow=play", f"checkpoint={checkpoint}", "agent.activation=relu", "device=cpu")
    assert code == 2
    assert "agent.activation=relu: the checkpoint policy.pt was made with agent.activation=elu" in err
    assert not app.run_dir.exists()


def test_a_checkpoint_of_another_library_is_refused_before_anything_is_played(app, checkpoint):
    code, _, err = app.run("workflow=play", "framework=skrl", f"checkpoint={checkpoint}", "device=cpu")
    assert code == 2
    assert "framework=skrl: the checkpoint policy.pt was made with framework=rsl_rl" in err
    alone = shutil.copy(checkpoint, app.folder)  # without its card the library itself must notice
    code, _, err = app.run("workflow=play", "framework=skrl", f"checkpoint={alone}", "device=cpu")
    assert code == 2
    assert "refused: it is no skrl checkpoint" in err
    assert not app.run_dir.exists()


@pytest.mark.parametrize("workflow", ["all", "training", "play"])
def test_a_device_that_is_not_there_is_refused_by_the_worker_of_every_workflow(app, workflow, checkpoint):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    given = [f"checkpoint={checkpoint}"] if workflow == "play" else []
    code, out, _ = app.run(f"workflow={workflow}", *given, "device=cuda")
    assert code == 2
    assert "device=cuda: " in out
    assert "set device=cpu" in out
    assert {path.name for path in app.run_dir.glob("*.json")} <= {"run.json", "agent_mapping.json"}
