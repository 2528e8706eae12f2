"""What makes two runs of the same code differ: noise models for the calibration tests.

Each gives two samples on a logarithmic scale, drawn alike, in the order in which the runs took place, and the design
they stand for. `s` is the size of the noise.
"""

import numpy as np


def normal(rng, n, m, s=0.02):
    return s * rng.standard_normal(n), s * rng.standard_normal(m), "apart"


def much_noise(rng, n, m):
    return normal(rng, n, m, 0.15)


def heavy_tails(rng, n, m, s=0.02):
    return s * rng.standard_t(2, n), s * rng.standard_t(2, m), "apart"


def no_variance(rng, n, m, s=0.02):
    """Cauchy: not even the mean exists. Cut off where e to the power of it stops being a number of this world."""
    return np.clip(s * rng.standard_cauchy(n), -200, 200), np.clip(s * rng.standard_cauchy(m), -200, 200), "apart"


def one_sided(rng, n, m, s=0.02):
    """A best time that other work on the machine can only lengthen."""
    return s * rng.standard_exponential(n), s * rng.standard_exponential(m), "apart"


def lognormal(rng, n, m, s=0.02):
    return s * np.exp(1.5 * rng.standard_normal(n)), s * np.exp(1.5 * rng.standard_normal(m)), "apart"


def outliers(rng, n, m, share=0.1, s=0.02):
    """Some runs met something that slowed them by 10 to 50 %."""

    def side(count):
        return s * rng.standard_normal(count) + (rng.random(count) < share) * rng.uniform(0.1, 0.5, count)

    return side(n), side(m), "apart"


def many_outliers(rng, n, m):
    return outliers(rng, n, m, share=0.25)


def outliers_among_quiet_runs(rng, n, m):
    return outliers(rng, n, m, s=0.002)


def two_states(rng, n, m, share=0.5):
    """A process is lucky with its memory layout, core or clock, or 12 % slower throughout."""

    def side(count):
        return 0.003 * rng.standard_normal(count) + 0.12 * (rng.random(count) < share)

    return side(n), side(m), "apart"


def two_unequal_states(rng, n, m):
    return two_states(rng, n, m, share=0.3)


def coarse(rng, n, m):
    """A clock or counter that knows steps of 10 % only."""
    return 0.1 * np.round(0.7 * rng.standard_normal(n)), 0.1 * np.round(0.7 * rng.standard_normal(m)), "apart"


def sessions(rng, n, m, s=0.02):
    """Each side is a session of its own, 1 % away from where it should be."""
    a, b, _ = normal(rng, n, m, s)
    return a + 0.01 * rng.standard_normal(), b + 0.01 * rng.standard_normal(), "apart"


def warming(rng, n, m, s=0.02):
    """BASE, then NEW, while the machine slows by 4 %."""
    a, b, _ = normal(rng, n, m, s)
    trend = 0.04 * np.arange(n + m) / (n + m - 1)
    return a + trend[:n], b + trend[n:], "apart"


def wandering(rng, n, m, s=0.01):
    """BASE, then NEW, while the machine's speed takes a random step of 0.5 % before each run."""
    a, b, _ = normal(rng, n, m, s)
    walk = np.cumsum(0.005 * rng.standard_normal(n + m))
    return a + walk[:n], b + walk[n:], "apart"


def wandering_in_turn(rng, n, m, s=0.01):
    """Runs in turn while the speed wanders by 2 % per run: unequal counts cannot be paired."""
    count = min(n, m)
    walk = np.cumsum(0.02 * rng.standard_normal(2 * count)).reshape(count, 2)
    values = walk + s * rng.standard_normal((count, 2))
    return values[:, 0], values[:, 1], "in turn"


def wandering_pairs(rng, n, m, s=0.01):
    a, b, _ = wandering_in_turn(rng, n, m, s)
    return a, b, "paired"


def pairs_with_outliers(rng, n, m):
    count = min(n, m)
    a, b, _ = outliers(rng, count, count)
    return a, b, "paired"


MODELS = [
    normal,
    much_noise,
    heavy_tails,
    no_variance,
    one_sided,
    lognormal,
    outliers,
    many_outliers,
    outliers_among_quiet_runs,
    two_states,
    two_unequal_states,
    coarse,
    sessions,
    warming,
    wandering,
    wandering_in_turn,
    wandering_pairs,
    pairs_with_outliers,
]
