"""What drawing took is told of the measured steps, and of nothing else."""

from __future__ import annotations

import pytest

from benchmark_app.bundle.loop import loop_extra, read_loop
from benchmark_app.journal.events import Iteration, LoopStarted, Steps
from benchmark_app.profiling.worker.timing import HOST_RETURN, SERIALIZED, Timing
from benchmark_app.workflows.stepping import StepRecorder


class Counting:
    """A renderer that says what it drew."""

    def __init__(self):
        self.seconds, self.frames, self.drain = 5.0, 100, None

    def draw(self, seconds, frames):
        self.seconds += seconds
        self.frames += frames


def recorded(timing, each):
    kept = []  # a journal
    recorder = StepRecorder(kept, count_frames=False, timing=timing)
    for seconds, act in each:
        act()
        recorder.add(seconds, seconds)
    recorder.flush()
    return kept


def extra(events, warmup=0):
    started = LoopStarted(t=0.0, steps_per_iteration=4, warmup_iterations=warmup)
    return loop_extra(read_loop([started, *events], 4))


def test_steps_carry_what_was_drawn_in_them_and_not_before():
    renderer, timing = Counting(), Timing(HOST_RETURN)
    timing.watch_renderer(renderer)
    renderer.draw(9.0, 9)  # before the loop
    (batch,) = recorded(timing, [(1.0, lambda: renderer.draw(0.5, 4)), (1.0, lambda: renderer.draw(0.75, 6))])
    assert batch.render_s == [0.5, 0.75]
    assert batch.render_frames == [4, 6]


def test_without_a_renderer_nothing_is_told():
    (batch,) = recorded(Timing(HOST_RETURN), [(1.0, lambda: None)])
    assert batch.render_s is None
    assert not [name for name in extra([batch]) if name.startswith("render")]


@pytest.mark.parametrize("mode", [HOST_RETURN, SERIALIZED])
def test_the_device_is_drained_around_drawing_in_the_serialized_mode_only(mode):
    renderer = Counting()
    timing = Timing(mode, drain=print)
    timing.watch_renderer(renderer)
    assert renderer.drain is (print if mode == SERIALIZED else None)


def test_rates_and_shares_are_of_the_measured_steps():
    batch = Steps(
        t=10.0,
        first_index=0,
        step_s=[5.0, 1.0, 1.0],
        env_step_s=[5.0, 1.0, 0.5],
        render_s=[4.0, 0.25, 0.5],
        render_frames=[4, 4, 6],
    )
    found = extra([batch], warmup=1)
    assert found["render_frames"] == 10
    assert found["render_fps"] == pytest.approx(10 / 0.75)
    assert found["render_time_per_step_s"] == pytest.approx(0.375)
    assert found["render_step_fraction"] == pytest.approx(0.5)


def test_iterations_of_a_training_are_summed_up_alike():
    def iteration(index, **drawn):
        durations = {"iteration_s": 3.0, "collection_s": 2.0, "learning_s": 1.0, "hook_s": 0.0}
        learned = {"episodes": 0, "reward": None, "ep_length": None, "success_rate": None}
        return Iteration(
            t=10.0 + 3 * index, index=index, frames=8, env_step_s=[0.5, 0.5], **durations, **learned, **drawn
        )

    found = extra([iteration(0, render_s=0.25, render_frames=8), iteration(1, render_s=0.75, render_frames=10)])
    assert found["render_fps"] == pytest.approx(18.0)
    assert found["render_time_per_step_s"] == pytest.approx(0.25)
    assert found["render_step_fraction"] == pytest.approx(0.5)
