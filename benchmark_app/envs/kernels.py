# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""The lifecycle's arithmetic, one pass over the rows each.

In Warp rather than torch, for speed: a dozen small torch operations cost more than the physics of 64 cartpoles, and
kernels can be recorded into the engine's graph.
"""

import warp as wp

FINITE, ENGINE, RESTART = wp.constant(0), wp.constant(1), wp.constant(2)
"""Alarms, in the order in which they stand behind the N entries of the report."""


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def judge_step(  # type: ignore[no-untyped-def]
    judged: wp.array[wp.float32],
    reward: wp.array[wp.float32],
    terms: wp.array2d[wp.float32],
    terminated: wp.array[wp.bool],
    episode: wp.array[wp.int32],
    fault: wp.array[wp.float32],
    max_steps: wp.int64,
    steps: wp.array[wp.int64],
    returns: wp.array[wp.float32],
    largest: wp.array[wp.float32],
    term_sums: wp.array2d[wp.float32],
    truncated: wp.array[wp.bool],
    finished: wp.array[wp.bool],
    tally: wp.array2d[wp.float64],
    report: wp.array[wp.float32],
):
    """Count the step, apply the time limit, judge every number, and report it all to the host.

    `judged` is every action, control, observation and reward, one after the other; thread r looks at each N-th entry.
    """
    row = wp.tid()
    num_envs = steps.shape[0]
    # Each value is read once: the compiler may not assume that what is written leaves the rest as it was.
    count = steps[row] + wp.int64(1)
    paid = reward[row]
    sum_paid = returns[row] + paid
    most = largest[row]
    if count == wp.int64(1) or paid > most:
        most = paid
    ended = terminated[row]
    late = count >= max_steps and not ended
    over = ended or late
    steps[row] = count
    returns[row] = sum_paid
    largest[row] = most
    truncated[row] = late
    finished[row] = over
    report[row] = wp.where(over, 1.0, 0.0)
    for i in range(terms.shape[1]):
        sum_term = term_sums[row, i] + terms[row, i]
        term_sums[row, i] = sum_term
        if over:
            tally[4 + i, row] = wp.float64(sum_term)
    if over:
        tally[0, row] = wp.float64(count)
        tally[1, row] = wp.float64(sum_paid)
        tally[2, row] = wp.float64(episode[row])
        tally[3, row] = wp.float64(most)
    verdict = wp.float32(0.0)
    for i in range(row, judged.shape[0], num_envs):  # type: ignore[arg-type]
        verdict += 0.0 * judged[i]  # a finite number adds 0, any other makes it NaN for good
    if not wp.isfinite(verdict):
        report[num_envs + FINITE] = 1.0
    if row == 0:
        report[num_envs + ENGINE] = fault[0]


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def begin_episodes(  # type: ignore[no-untyped-def]
    rows: wp.array[wp.bool],
    seed: wp.array[wp.int32],
    stride: wp.int32,
    episode: wp.array[wp.int32],
    steps: wp.array[wp.int64],
    returns: wp.array[wp.float32],
    term_sums: wp.array2d[wp.float32],
    uniform: wp.array2d[wp.float32],
):
    """Number the next episode of the masked rows, and draw its random numbers from the seed and that number alone.

    `stride` is the number of rows that episodes are dealt to.
    """
    row = wp.tid()
    if rows[row]:
        steps[row] = wp.int64(0)
        returns[row] = 0.0
        for i in range(term_sums.shape[1]):
            term_sums[row, i] = 0.0
        episode[row] = episode[row] + stride
        generator = wp.rand_init(seed[0], episode[row])
        for i in range(uniform.shape[1]):
            uniform[row, i] = wp.randf(generator)


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def judge_first(rows: wp.array[wp.bool], observations: wp.array2d[wp.float32], report: wp.array[wp.float32]):  # type: ignore[no-untyped-def]
    """Judge a group's observations after the reset of rows, likewise; the host learns of it with its next read."""
    row = wp.tid()
    if rows[row]:
        for i in range(observations.shape[1]):
            if not wp.isfinite(observations[row, i]):
                report[rows.shape[0] + RESTART] = 1.0


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def judge_images(images: wp.array2d[wp.float32], at_restart: wp.bool, report: wp.array[wp.float32]):  # type: ignore[no-untyped-def]
    """Judge every row's image, seen after a step or after a reset."""
    row = wp.tid()
    for i in range(images.shape[1]):
        if not wp.isfinite(images[row, i]):
            report[images.shape[0] + wp.where(at_restart, RESTART, FINITE)] = 1.0


# What is done to frozen rows, when autoreset is off.


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def rest(frozen: wp.array[wp.bool], values: wp.array2d[wp.float32]):  # type: ignore[no-untyped-def]
    """Nothing acts on a frozen row, whatever number it was given."""
    row = wp.tid()
    if frozen[row]:
        for i in range(values.shape[1]):
            values[row, i] = 0.0


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def keep(frozen: wp.array[wp.bool], live: wp.array2d[wp.float32], kept: wp.array2d[wp.float32]):  # type: ignore[no-untyped-def]
    """Remember the rows that still move."""
    row = wp.tid()
    if not frozen[row]:
        for i in range(live.shape[1]):
            kept[row, i] = live[row, i]


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def settle(frozen: wp.array[wp.bool], kept: wp.array2d[wp.float32], live: wp.array2d[wp.float32]):  # type: ignore[no-untyped-def]
    """Remember the rows that still move, and put back what is remembered of the others."""
    row = wp.tid()
    for i in range(live.shape[1]):
        if frozen[row]:
            live[row, i] = kept[row, i]
        else:
            kept[row, i] = live[row, i]


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def silence(  # type: ignore[no-untyped-def]
    frozen: wp.array[wp.bool],
    reward: wp.array[wp.float32],
    terms: wp.array2d[wp.float32],
    terminated: wp.array[wp.bool],
):
    """No reward, no term of one and no second end, before the step is judged."""
    row = wp.tid()
    if frozen[row]:
        reward[row] = 0.0
        for i in range(terms.shape[1]):
            terms[row, i] = 0.0
        terminated[row] = False


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def freeze(  # type: ignore[no-untyped-def]
    frozen: wp.array[wp.bool],
    steps: wp.array[wp.int64],
    truncated: wp.array[wp.bool],
    finished: wp.array[wp.bool],
    report: wp.array[wp.float32],
):
    """Take back from frozen rows the step that was counted, and freeze those that have just finished."""
    row = wp.tid()
    if frozen[row]:
        steps[row] = steps[row] - wp.int64(1)
        truncated[row] = False
        finished[row] = False
        report[row] = 0.0
    elif finished[row]:
        frozen[row] = True
