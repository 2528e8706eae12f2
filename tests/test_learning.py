"""Every library learns cartpole at the default budget: `make test-learning`."""

import pytest
import torch

from tests.conftest import FRAMEWORKS

pytestmark = [pytest.mark.learning, pytest.mark.engine, pytest.mark.timeout(600)]
STEPS = ("workflow=training", "workflow.steps=[training,play]", "device=cpu")


@pytest.mark.parametrize("seed", [1, 2, 3], ids=lambda seed: f"seed{seed}")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_cartpole_is_learned_at_the_default_budget(app, framework, seed):
    code, _, err = app.run(f"framework={framework}", f"seed={seed}", *STEPS, timeout=500)
    assert code == 0, err
    training, play = app.bundle("training"), app.bundle("play")
    curve = training.learning.reward.series_per_iter
    print(f"{framework} seed {seed}: half {curve[74]:.2f}, end {curve[-1]:.2f}, play {play.success_rate:.3f}")
    assert len(curve) == 150
    assert curve[74] >= 3.5
    assert curve[-1] >= 4.4
    assert play.extra["n_episodes"] >= 128
    assert play.success_rate >= 0.95


@pytest.mark.timeout(3900)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_cartpole_is_learned_from_pixels_within_an_hour(app, framework):
    settings = ("task=cartpole_camera", "rendering=newton", f"framework={framework}", "seed=1")
    code, _, err = app.run(*settings, *STEPS, timeout=3600)
    assert code == 0, err
    training, play = app.bundle("training"), app.bundle("play")
    print(f"{framework}: {training.runtime.total_wall_time_s:.0f} s, play {play.success_rate:.3f}")
    assert training.runtime.total_wall_time_s <= 3600
    assert play.extra["n_episodes"] >= 128
    assert play.success_rate >= 0.8


@pytest.fixture(scope="module")
def random_return():
    """Mean return of uniformly random actions over more than a thousand episodes."""
    from benchmark_app.tasks.cartpole import Cfg

    from benchmark_app.envs.make import make_env

    env = make_env(Cfg(), "newton_mjwarp", 256)
    env.seed(1)
    env.reset()
    for _ in range(300):
        env.step(2.0 * torch.rand(256, 1) - 1.0)
    returns = env.drain_episodes().returns
    env.close()
    assert len(returns) > 1000
    return returns.mean().item()


@pytest.mark.parametrize("framework", [name for name in FRAMEWORKS if name != "rsl_rl"])
def test_sac_at_least_doubles_the_random_policys_return(app, framework, random_return):
    code, _, err = app.run(f"framework={framework}", "agent=sac", "seed=1", *STEPS, timeout=500)
    assert code == 0, err
    training, play = app.bundle("training"), app.bundle("play")
    curve = training.learning.reward.series_per_iter
    print(f"{framework} sac: random {random_return:.2f}, end {curve[-1]:.2f}, play {play.reward.mean:.2f}")
    assert random_return > 0
    assert curve[-1] >= 2 * random_return
    assert play.reward.mean >= 2 * random_return
    assert curve[-1] >= 1.5  # the tuned settings do far better than twice next to nothing
