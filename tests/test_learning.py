"""Every library learns cartpole at the default budget: `make test-learning`."""

import pytest

from tests.conftest import FRAMEWORKS

pytestmark = [pytest.mark.learning, pytest.mark.engine, pytest.mark.timeout(600)]


@pytest.mark.parametrize("seed", [1, 2, 3], ids=lambda seed: f"seed{seed}")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_cartpole_is_learned_at_the_default_budget(app, framework, seed):
    code, _, err = app.run(f"framework={framework}", f"seed={seed}", "device=cpu", "startup.top_n=0", timeout=500)
    assert code == 0, err
    training, play = app.bundle("training"), app.bundle("play")
    curve = training.learning.reward.series_per_iter
    print(f"{framework} seed {seed}: half {curve[74]:.2f}, end {curve[-1]:.2f}, play {play.success_rate:.3f}")
    assert len(curve) == 150
    assert curve[74] >= 3.5
    assert curve[-1] >= 4.4
    assert play.extra["n_episodes"] >= 128
    assert play.success_rate >= 0.95
