"""The actions both engines are driven with, fixed before anything moves."""

from __future__ import annotations

import numpy as np

ACTION_SETS = ("zero", "held", "sine")
"""What a row is driven with; row r has set r mod 3.

- zero: nothing, so that the robot's own dynamics show.
- held: random actions, each held for `HOLD_S`: jumps, as a policy makes them.
- sine: one sinusoid per action, its frequency and phase random: smooth.
"""

HOLD_S = 0.25
FREQUENCIES_HZ = (0.5, 2.0)


def open_loop_actions(
    seed: int, *, steps: int, num_envs: int, num_actions: int, control_dt: float, amplitude: float
) -> np.ndarray:
    """Draw the actions of every row and step.

    Args:
        seed: Seed of the draw.
        steps: Control steps; fewer are the first of more.
        num_envs: Rows.
        num_actions: Actions per row.
        control_dt: Control step [s].
        amplitude: Largest action, as a share of the largest the task takes.

    Returns:
        float32 `[steps, num_envs, num_actions]`.
    """
    rng = np.random.default_rng(seed)
    # What is drawn once comes before what is drawn as long as it lasts: a shorter run is the beginning of a longer one.
    frequency = rng.uniform(*FREQUENCIES_HZ, (num_envs, num_actions))
    phase = rng.uniform(0, 2 * np.pi, (num_envs, num_actions))
    hold = max(1, round(HOLD_S / control_dt))
    held = rng.uniform(-1, 1, (-(-steps // hold), num_envs, num_actions)).repeat(hold, axis=0)[:steps]
    time = control_dt * np.arange(steps)[:, None, None]
    sine = np.sin(2 * np.pi * frequency * time + phase)
    kind = np.arange(num_envs)[None, :, None] % len(ACTION_SETS)
    drawn = np.select([kind == ACTION_SETS.index("held"), kind == ACTION_SETS.index("sine")], [held, sine], 0.0)
    return (amplitude * drawn).astype(np.float32)
