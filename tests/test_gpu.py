"""What only a machine with an NVIDIA GPU can show: `make test-gpu`."""

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
