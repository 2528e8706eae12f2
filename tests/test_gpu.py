"""What only a machine with an NVIDIA GPU can show: `make test-gpu`."""

import json
import os

import pytest

from tests.conftest import FRAMEWORKS

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.engine,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device here"),
]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_main_job_runs_on_cuda_and_measures_the_device_it_used(app, framework):
    small = ("num_envs=64", "agent.iterations=6", "play.episodes=20", "runtime.steps=200")
    code, _, err = app.run(f"framework={framework}", *small, timeout=280)
    assert code == 0, err
    for workflow in ("runtime", "training", "play"):
        bundle = app.bundle(workflow)
        assert bundle.run.status == "completed"
        assert bundle.extra["device"] == "cuda:0"
        assert bundle.extra["gpu_measured"] is True
        assert bundle.resources.gpu_mem_gb.peak > 0
        assert "0" in bundle.resources.devices
        assert len(bundle.hardware.gpu_devices) == torch.cuda.device_count()


@pytest.mark.parametrize("physics", ["newton_mjwarp", "newton_kamino"])
def test_the_serialized_mode_tells_the_engine_s_share_on_cuda(app, physics):
    small = ("agent.iterations=6", "play.episodes=64", "runtime.steps=200", "workflow.steps=[runtime,training,play]")
    settings = (f"physics={physics}", "profiling=serialized_synchronized", "device=cuda", *small)
    code, _, err = app.run(*settings, timeout=280)
    assert code == 0, err
    for workflow in ("runtime", "training", "play"):
        timing = app.bundle(workflow).runtime.environment_step_timing  # reading it has checked that the parts add up
        assert timing.measurement_mode == "serialized_synchronized"
        assert timing.simulation_step_calls == timing.environment_step_calls
        # A launch that was not waited for would take a few microseconds, and leave the physics to the rest of the step.
        assert 0.02 < timing.outside_simulation_step_fraction < 0.98


@pytest.mark.parametrize("image_type", ["rgb", "depth"])
def test_images_on_cuda_are_those_of_the_cpu(image_type):
    """One stream, one host read: a picture that was read too early would show the step before."""
    from benchmark_app.tasks.cartpole_camera import Cfg

    from benchmark_app.envs.make import make_env

    def rollout(device):
        env = make_env(Cfg(episode_length_s=0.5, image_type=image_type), "newton_mjwarp", 8, device)
        env.seed(1)
        seen = [*env.init_state().obs.values()]
        for _ in range(20):
            seen += env.step(torch.linspace(-1.0, 1.0, 8, device=device).unsqueeze(1)).obs.values()
        assert all(image.device == env.device for image in seen)
        env.close()
        return torch.stack(seen).float().cpu()

    far = (rollout("cuda:0") - rollout("cpu")).abs() > (8.0 if image_type == "rgb" else 0.05)
    assert far.float().mean() < 0.01, "but for edges, where rounding decides what a ray meets"


def test_timing_the_engine_apart_changes_nothing_on_cuda():
    from benchmark_app.tasks.cartpole import Cfg

    from benchmark_app.envs.make import make_env
    from benchmark_app.profiling.worker.timing import Timing
    from benchmark_app.workflows.device import drain_of

    env = make_env(Cfg(episode_length_s=0.2), "newton_mjwarp", 64, "cuda:0")

    def rollout():
        env.seed(1)
        env.reset()
        seen = []
        for step in range(40):
            state = env.step(torch.full((64, 1), 0.5 - step % 2, device="cuda:0"))
            seen += [*state.obs.values(), state.reward, state.terminated, state.truncated]
        return seen

    whole = rollout()
    timing = Timing("serialized_synchronized", drain_of("cuda:0"))
    env.set_simulation_watch(timing.simulation)
    apart = rollout()
    env.close()
    assert all(torch.equal(a, b) for a, b in zip(whole, apart, strict=True))
    assert timing.simulation.take()[1] == 40


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_library_computes_on_cuda_as_we_say(app, framework):
    code, _, err = app.run(f"framework={framework}", "workflow=training", "agent.iterations=4", "device=cuda")
    assert code == 0, err
    extra = app.bundle("training").extra
    assert (extra["matmul_precision"], extra["matmul_tf32"]) == ("highest", False)
    assert (extra["cudnn_tf32"], extra["cudnn_benchmark"]) == (False, False)
    assert (extra["gradient_steps_per_iteration"], extra["samples_per_minibatch"]) == (20, 256)


@pytest.mark.parametrize("framework", [name for name in FRAMEWORKS if name != "rsl_rl"])
def test_sac_runs_on_cuda(app, framework):
    small = ("agent=sac", "agent.iterations=6", "play.episodes=20", "workflow=training")
    code, _, err = app.run(f"framework={framework}", *small, "workflow.steps=[training,play]", "device=cuda")
    assert code == 0, err
    assert app.bundle("training").extra["gradient_steps_per_iteration"] == 16


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="ranks need a CUDA device each")
@pytest.mark.parametrize("framework", [name for name in FRAMEWORKS if name != "sb3"])
def test_two_ranks_train_one_policy_by_the_library_s_own_mechanism(app, framework):
    ranks = ("workflow=training", "distributed.nproc=2", "agent.iterations=6", "device=cuda")
    code, _, err = app.run(f"framework={framework}", *ranks, timeout=280)
    assert code == 0, err
    bundle = app.bundle("training")
    assert bundle.run.num_envs == 128
    assert bundle.extra["world_size"] == 2
    assert bundle.extra["samples_per_minibatch"] == 256
    app.assert_clean()


def test_a_device_index_beyond_the_last_is_refused(app):
    code, out, _ = app.run(f"device=cuda:{torch.cuda.device_count()}", "workflow=runtime")
    assert code == 2
    assert "this process sees" in out


def test_resetting_rows_on_cuda_leaves_the_others_unchanged():
    from benchmark_app.tasks.cartpole import Cfg

    from benchmark_app.envs.make import make_env

    env = make_env(Cfg(), "newton_mjwarp", 32, "cuda:0")
    env.seed(1)
    env.reset()
    for _ in range(5):
        env.step(torch.rand(32, 1, device="cuda:0") * 2 - 1)
    before = env.state.obs["policy"].clone()
    rows = torch.tensor([3, 17], device="cuda:0")
    after, _ = env.reset(rows)
    others = torch.ones(32, dtype=torch.bool, device="cuda:0")
    others[rows] = False
    assert torch.equal(after["policy"][others], before[others])
    assert not torch.equal(after["policy"][rows], before[rows])
    env.close()


# ---------------------------------------------------------------- what the parent reads of the device


def test_a_run_tells_the_device_s_state_its_share_and_its_energy(app):
    code, _, err = app.run("workflow=runtime", "runtime.steps=3000", "num_envs=1024", "device=cuda", timeout=280)
    assert code == 0, err
    extra = app.bundle("runtime").extra
    (device,) = json.loads((app.run_dir / "conditions.json").read_text())["workflows"]["runtime"]["end"]["gpus"]
    assert device["uuid"].lower().removeprefix("gpu-") == str(torch.cuda.get_device_properties(0).uuid)
    assert device["name"] == torch.cuda.get_device_properties(0).name
    assert extra["conditions.gpu_driver"]
    assert 0 < device["clock_sm_mhz"] <= device["clock_sm_max_mhz"]
    assert 0 < device["power_w"] <= 1.2 * device["power_limit_w"]
    if torch.cuda.get_device_capability(0) >= (7, 0):  # Volta was the first to count its energy
        assert extra["energy_gpu_j"] > 0
        assert extra["energy_per_million_steps_j"] > 0
    if "gpu_process_mem_peak_gb" in extra:  # not in a container that numbers processes its own way
        assert 0 < extra["gpu_process_mem_peak_gb"] <= app.bundle("runtime").resources.gpu_mem_gb.peak


def test_memory_that_is_taken_on_the_device_is_what_is_told_of_it():
    from benchmark_app.profiling.host.gpu import GpuSampler

    uuid = str(torch.cuda.get_device_properties(0).uuid)
    torch.zeros(1, device="cuda:0")
    sampler = GpuSampler()
    sampler.watch([uuid])
    (before,) = sampler.sample([os.getpid()]).values()
    block = torch.ones(2 * 2**30, dtype=torch.uint8, device="cuda:0")
    torch.cuda.synchronize()
    (after,) = sampler.sample([os.getpid()]).values()
    assert after["mem_gb"] - before["mem_gb"] == pytest.approx(2.0, rel=0.05)
    if "process_mem_gb" in after:
        assert after["process_mem_gb"] - before["process_mem_gb"] == pytest.approx(2.0, rel=0.05)
    del block


def test_the_device_is_found_when_it_is_named_by_its_uuid(app):
    last = torch.cuda.device_count() - 1
    uuid = str(torch.cuda.get_device_properties(last).uuid)
    env = {"CUDA_VISIBLE_DEVICES": f"GPU-{uuid}"}
    code, _, err = app.run("workflow=runtime", "runtime.steps=200", "device=cuda", env=env, timeout=280)
    assert code == 0, err
    (device,) = json.loads((app.run_dir / "conditions.json").read_text())["workflows"]["runtime"]["start"]["gpus"]
    assert device["uuid"].lower().removeprefix("gpu-") == uuid
    assert list(app.bundle("runtime").resources.devices) == ["0"]
