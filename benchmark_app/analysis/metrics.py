"""The registry of metrics: the one source for columns, tables, verdicts, plots and docs/metrics.md.

Regenerate the page with:

    python -m benchmark_app.analysis.metrics > docs/metrics.md
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Direction = Literal["higher", "lower"]
Scale = Literal["ratio", "relative", "points"]
Noise = Literal["machine", "seed"]
Group = Literal["speed", "time", "start-up", "memory", "load", "learning", "evaluation", "size"]

TRAINING, PLAY, RUNTIME, STARTUP = "training", "play", "runtime", "startup"
LOOPS = (TRAINING, PLAY, RUNTIME)


@dataclass(frozen=True)
class Metric:
    """One number of a run, and how to judge it.

    Args:
        name: Its column in `Results.runs`.
        title: Its name for a person.
        unit: Unit, `""` for plain counts.
        direction: Which way is better; None where neither is.
        sources: Workflow → where the number stands in that workflow's bundle, as dotted paths. Several paths are added
            up, and one that is missing leaves the sum missing.
        aggregation: How the run's samples became this number.
        description: What it says, in one sentence.
        min_effect: Smallest change worth a verdict, by default: a fraction (0.05 is 5 %), or a difference for `points`.
        scale: `ratio` for positive numbers compared by their quotient, `relative` for differences in units of the
            base's size (a return may be negative), `points` for differences as they are (a success rate).
        noise: What makes two runs of the same code differ: the `machine` (speed, memory) or the `seed` (learning).
        group: Which table it belongs to.
    """

    name: str
    title: str
    unit: str
    direction: Direction | None
    sources: dict[str, tuple[str, ...]]
    aggregation: str
    description: str
    min_effect: float = 0.05
    scale: Scale = "ratio"
    noise: Noise = "machine"
    group: Group = "speed"

    @property
    def workflow(self) -> tuple[str, ...]:
        """The workflows whose bundles hold it."""
        return tuple(self.sources)

    @property
    def path(self) -> str:
        """Where it stands, in words, such as `runtime.total_fps.mean`."""
        return "; ".join(dict.fromkeys(" + ".join(paths) for paths in self.sources.values()))


def _at(path: str, *workflows: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(workflows, (path,))


def _phase(name: str) -> dict[str, tuple[str, ...]]:
    """A phase of the start stands in every bundle; startup.json has its own place for it."""
    return _at(f"runtime.startup_time_s.{name}", *LOOPS) | _at(f"phases.{name}.total_time_s", STARTUP)


_PHASES = ("python_imports", "task_config", "app_launch", "env_creation", "first_step")
_STEP = "runtime.environment_step_timing"
_RATE = "all work over all time"
_MEAN = "mean of the samples"
_LAST = "last value"
_EMA = "exponential moving average at the end"
_SUM = "sum"
_PEAK = "largest sample"
_ONCE = "measured once"
_COUNT = "count"

_SPEED = [
    Metric(
        "total_fps", "Total rate", "frames/s", "higher", _at("runtime.total_fps.mean", *LOOPS), _RATE,
        "Environment steps per second of whole iterations, learning included.",
    ),
    Metric(
        "collection_fps", "Collection rate", "frames/s", "higher", _at("runtime.collection_fps.mean", *LOOPS), _RATE,
        "Environment steps per second of the rollouts, policy included and learning not.",
    ),
    Metric(
        "environment_step_fps", "Environment step rate", "frames/s", "higher",
        _at(f"{_STEP}.environment_step_fps.mean", *LOOPS), _RATE,
        "Environment steps per second spent inside the environment's step calls.",
    ),
    Metric(
        "iterations_per_s", "Iteration rate", "1/s", "higher", _at("runtime.iterations_per_s.mean", *LOOPS), _RATE,
        "Iterations per second; an iteration of runtime and play is one step of all environments.",
    ),
    Metric(
        "render_fps", "Rendering rate", "pictures/s", "higher", _at("extra.render_fps", *LOOPS), _RATE,
        "Pictures drawn per second spent drawing: one per environment and camera, those after a reset included.",
    ),
]  # fmt: skip

_TIME = [
    Metric(
        "iteration_time_s", "Iteration time", "s", "lower", _at("runtime.iteration_time_s.mean", *LOOPS), _MEAN,
        "Duration of one iteration.", group="time",
    ),
    Metric(
        "iteration_time_peak_s", "Slowest iteration", "s", None, _at("runtime.iteration_time_s.peak", *LOOPS), _PEAK,
        "Duration of the slowest iteration.", min_effect=0.25, group="time",
    ),
    Metric(
        "environment_step_time_s", "Environment step time", "s", "lower",
        _at(f"{_STEP}.environment_step_time_s.mean", *LOOPS), _MEAN,
        "Duration of one step call of the environment, over all its rows.", group="time",
    ),
    Metric(
        "simulation_step_time_s", "Simulation time per step", "s", "lower",
        _at(f"{_STEP}.simulation_step_time_s.mean", *LOOPS), _MEAN,
        "The physics engine's share of one step call; measured in serialized mode only.", group="time",
    ),
    Metric(
        "outside_simulation_step_time_s", "Step time outside of simulation", "s", "lower",
        _at(f"{_STEP}.outside_simulation_step_time_s.mean", *LOOPS), _MEAN,
        "The rest of one step call: observations, rewards, resets; measured in serialized mode only.", group="time",
    ),
    Metric(
        "outside_simulation_step_fraction", "Share outside of simulation", "", None,
        _at(f"{_STEP}.outside_simulation_step_fraction", *LOOPS), "ratio of the mean times",
        "That rest as a fraction of the step call; measured in serialized mode only.", scale="points", group="time",
    ),
    Metric(
        "render_time_per_step_s", "Rendering time per step", "s", "lower", _at("extra.render_time_per_step_s", *LOOPS),
        "all time over all step calls", "The renderer's share of one step call, outside of simulation.", group="time",
    ),
    Metric(
        "render_step_fraction", "Share of rendering", "", None, _at("extra.render_step_fraction", *LOOPS),
        "ratio of the summed times", "That share as a fraction of the step call.", scale="points", group="time",
    ),
    Metric(
        "collection_time_s", "Collection time", "s", "lower", _at("extra.collection_time_s", TRAINING), _SUM,
        "Time of all measured rollouts together.", group="time",
    ),
    Metric(
        "learning_time_s", "Learning time", "s", "lower", _at("extra.learning_time_s", TRAINING), _SUM,
        "Time of all measured updates together.", group="time",
    ),
    Metric(
        "hook_time_fraction", "Share of the measurement itself", "", None, _at("extra.hook_time_fraction", TRAINING),
        "ratio of the summed times", "The part of the iteration time that observing the library takes.",
        min_effect=0.01, scale="points", group="time",
    ),
    Metric(
        "total_wall_time_s", "Time of all iterations", "s", "lower", _at("runtime.total_wall_time_s", *LOOPS), _SUM,
        "Time of all completed iterations together, warm-up included.", group="time",
    ),
    Metric(
        "measured_wall_time_s", "Measured time", "s", None, _at("extra.measured_wall_time_s", *LOOPS), _SUM,
        "Time of the iterations that enter rates and times, warm-up excluded.", group="time",
    ),
    Metric(
        "iteration_time_drift", "Drift of the iteration time", "", None, _at("extra.iteration_time_drift", *LOOPS),
        "ratio of the medians, less 1",
        "How much longer an iteration of the second half took than one of the first; a run that is beyond 0.05 either "
        "way was not steady.", scale="points", group="time",
    ),
    Metric(
        "duration_s", "Duration of the run", "s", "lower", _at("run.duration_s", *LOOPS, STARTUP), _ONCE,
        "From start to end, with everything between.", min_effect=0.1, group="time",
    ),
]  # fmt: skip

_STARTUP = [
    Metric(
        "startup_time_s", "Time to the first step", "s", "lower",
        {workflow: tuple(f"runtime.startup_time_s.{name}" for name in _PHASES) for workflow in LOOPS}
        | {STARTUP: tuple(f"phases.{name}.total_time_s" for name in _PHASES)},
        _SUM, "All phases of the start together.", min_effect=0.1, group="start-up",
    ),
    *(
        Metric(
            f"startup_{name}_s", title, "s", "lower", _phase(name), _ONCE, description, min_effect=0.1,
            group="start-up",
        )
        for name, title, description in (
            ("python_imports", "Imports", "From the spawn of the process to the end of its imports."),
            ("task_config", "Task configuration", "Reading of the task's configuration."),
            ("app_launch", "Launch of the simulator", "Launch of the simulator."),
            ("env_creation", "Creation of the environments", "Building of the environments."),
            ("first_step", "First step", "The first environment step, with what is compiled in it."),
        )
    ),
    *(
        Metric(
            f"startup_{name}_s", title, "s", "lower", _at(f"extra.env_creation.{name}_s", STARTUP), _ONCE,
            f"{title}, a part of the creation of the environments; Isaac Lab records it.", min_effect=0.1,
            group="start-up",
        )
        for name, title in (
            ("scene_creation", "Creation of the scene"),
            ("simulation_start", "Start of the simulation"),
            ("newton_finalize_builder", "Finalizing of Newton's builder"),
            ("newton_initialize_solver", "Initialization of Newton's solver"),
            ("env_reset", "First reset"),
        )
    ),
]  # fmt: skip

_MACHINE = [
    Metric(
        "ram_peak_gb", "Memory, peak", "GB", "lower", _at("resources.ram_gb.peak", *LOOPS), "high-water mark",
        "Largest resident memory of the worker's process tree, spikes between two samples included.", group="memory",
    ),
    Metric(
        "ram_gb", "Memory", "GB", "lower", _at("resources.ram_gb.mean", *LOOPS), _MEAN,
        "Resident memory of the worker's process tree during the measured loop.", group="memory",
    ),
    Metric(
        "gpu_mem_peak_gb", "GPU memory, peak", "GB", "lower", _at("resources.gpu_mem_gb.peak", *LOOPS), _PEAK,
        "Largest memory in use on the GPU, by all processes.", group="memory",
    ),
    Metric(
        "gpu_mem_gb", "GPU memory", "GB", "lower", _at("resources.gpu_mem_gb.mean", *LOOPS), _MEAN,
        "Memory in use on the GPU during the measured loop, by all processes.", group="memory",
    ),
    Metric(
        "gpu_util_pct", "GPU load", "%", None, _at("resources.gpu_util_pct.mean", *LOOPS), _MEAN,
        "Share of the time in which the GPU worked.", group="load",
    ),
    Metric(
        "cpu_util_pct", "CPU load", "%", None, _at("resources.cpu_util_pct.mean", *LOOPS), _MEAN,
        "Processor time of the worker's process tree; 100 % is one core.", group="load",
    ),
    Metric(
        "gpu_process_mem_peak_gb", "GPU memory of the run, peak", "GB", "lower",
        _at("extra.gpu_process_mem_peak_gb", *LOOPS), _PEAK,
        "Largest memory the worker's processes held on the GPU, where its driver tells.", group="memory",
    ),
    Metric(
        "gpu_process_util_pct", "GPU load of the run", "%", None, _at("extra.gpu_process_util_pct", *LOOPS), _MEAN,
        "Share of the time in which the GPU worked for the worker's processes, where its driver tells.", group="load",
    ),
    Metric(
        "other_cpu_percent", "CPU load of others", "%", None,
        _at("extra.conditions.other_cpu_percent", *LOOPS, STARTUP), "all work over all time",
        "Processor time other processes took of the run's cores while it ran; 100 % is one core.", group="load",
    ),
    Metric(
        "worker_cpu_s", "CPU time", "s", None, _at("extra.worker_cpu_s", *LOOPS), _SUM,
        "Processor time of the worker from its start to its end, with the children it waited for.", group="load",
    ),
    Metric(
        "energy_j", "Energy", "J", None, _at("extra.energy_j", *LOOPS), _SUM,
        "Energy of the measured loop: whole processors and the whole GPU that was used, as far as they tell.",
        group="load",
    ),
    Metric(
        "energy_per_million_steps_j", "Energy per million steps", "J", "lower",
        _at("extra.energy_per_million_steps_j", *LOOPS), "energy over frames",
        "That energy per million environment steps.", group="load",
    ),
]  # fmt: skip

_LEARNING = [
    Metric(
        "return_final", "Final return", "", "higher", _at("learning.reward.final_raw", TRAINING), _LAST,
        "Mean return of the last 100 finished episodes at the end of the training.",
        scale="relative", noise="seed", group="learning",
    ),
    Metric(
        "return_ema", "Final return, smoothed", "", "higher", _at("learning.reward.final_ema", TRAINING), _EMA,
        "The return's moving average over the iterations at the end of the training.",
        scale="relative", noise="seed", group="learning",
    ),
    Metric(
        "success_rate", "Success rate", "", "higher", _at("success_rate", TRAINING, PLAY),
        "share of the episodes",
        "Fraction of successful episodes: of the last 100 of a training, of all evaluated ones of a play.",
        scale="points", noise="seed", group="learning",
    ),
    Metric(
        "success_ema", "Success rate, smoothed", "", "higher", _at("learning.success_rate.final_ema", TRAINING), _EMA,
        "The success rate's moving average over the iterations at the end of the training.",
        scale="points", noise="seed", group="learning",
    ),
    Metric(
        "ep_length_final", "Final episode length", "steps", None, _at("learning.ep_length.final_raw", TRAINING), _LAST,
        "Mean length of the last 100 finished episodes at the end of the training.", noise="seed", group="learning",
    ),
    Metric(
        "ep_length_ema", "Final episode length, smoothed", "steps", None,
        _at("learning.ep_length.final_ema", TRAINING), _EMA,
        "The episode length's moving average over the iterations at the end of the training.",
        noise="seed", group="learning",
    ),
    Metric(
        "learning_first_iteration", "First iteration with an episode", "", None,
        _at("extra.learning_first_iteration", TRAINING), _ONCE,
        "Iteration, from 0, in which the first episode finished; the curves repeat its value before that.",
        noise="seed", group="learning",
    ),
    Metric(
        "return_mean", "Return", "", "higher", _at("reward.mean", PLAY), _MEAN,
        "Mean return of the evaluated episodes.", scale="relative", noise="seed", group="evaluation",
    ),
    Metric(
        "return_std", "Spread of the return", "", None, _at("reward.std", PLAY), "sample standard deviation",
        "Standard deviation of the return over the evaluated episodes.", noise="seed", group="evaluation",
    ),
    Metric(
        "max_reward_mean", "Largest reward", "", None, _at("extra.avg_max_reward", PLAY), _MEAN,
        "Mean over the evaluated episodes of the largest reward of a single step.",
        scale="relative", noise="seed", group="evaluation",
    ),
    Metric(
        "ep_length_mean", "Episode length", "steps", None, _at("ep_length.mean", PLAY), _MEAN,
        "Mean length of the evaluated episodes.", noise="seed", group="evaluation",
    ),
    Metric(
        "n_success", "Successful episodes", "", None, _at("extra.n_success", PLAY), _COUNT,
        "Evaluated episodes that succeeded.", noise="seed", group="evaluation",
    ),
    Metric(
        "n_episodes", "Evaluated episodes", "", None, _at("extra.n_episodes", PLAY), _COUNT,
        "Episodes that were evaluated to their end.", noise="seed", group="evaluation",
    ),
    Metric(
        "pc_success_ci95_low", "Success, lower bound", "%", None, _at("extra.pc_success_ci95_low", PLAY),
        "Wilson's 95 % interval",
        "Lower end of the interval of the success rate over the episodes of this one policy; it says nothing of seeds.",
        noise="seed", group="evaluation",
    ),
    Metric(
        "pc_success_ci95_high", "Success, upper bound", "%", None, _at("extra.pc_success_ci95_high", PLAY),
        "Wilson's 95 % interval", "Upper end of that interval.", noise="seed", group="evaluation",
    ),
]  # fmt: skip

_SIZE = [
    Metric(name, title, "", None, _at(path, *workflows), _COUNT, description, group="size")
    for name, title, path, workflows, description in (
        ("iterations_completed", "Completed iterations", "runtime.iterations_completed", LOOPS,
         "Completed iterations, warm-up included."),
        ("steps_per_iteration", "Frames per iteration", "runtime.steps_per_iteration", LOOPS,
         "Environment steps of one iteration over all environments; of play the most there can be."),
        ("warmup_iterations", "Warm-up iterations", "extra.warmup_iterations", LOOPS,
         "Leading iterations that enter counts only."),
        ("kernel_load_iterations", "Iterations that loaded kernels", "extra.kernel_load_iterations", LOOPS,
         "Iterations after the warm-up in which kernel modules were compiled or loaded; they enter counts only."),
        ("environment_step_calls", "Measured environment calls", f"{_STEP}.environment_step_calls", LOOPS,
         "Step calls of the environment that were measured."),
        ("episodes_finished", "Finished episodes", "extra.episodes_finished", (TRAINING,),
         "Episodes that finished during the training."),
        ("gradient_steps_per_iteration", "Gradient steps per iteration", "extra.gradient_steps_per_iteration",
         (TRAINING,), "Gradient steps of one iteration, counted while it learned."),
        ("samples_per_minibatch", "Samples per minibatch", "extra.samples_per_minibatch", (TRAINING,),
         "Samples of one gradient step, counted while it learned."),
        ("actor_parameters", "Parameters of the actor", "extra.actor_parameters", (TRAINING,),
         "Numbers the policy learns."),
        ("critic_parameters", "Parameters of the critic", "extra.critic_parameters", (TRAINING,),
         "Numbers the value function learns."),
    )
]  # fmt: skip

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in [*_SPEED, *_TIME, *_STARTUP, *_MACHINE, *_LEARNING, *_SIZE]
}


def metrics_of(workflow: str) -> list[Metric]:
    """The metrics that bundles of one workflow hold, in the order of the registry."""
    return [metric for metric in METRICS.values() if workflow in metric.sources]


_PAGE = """\
# Metrics

Every number `compare`, `report`, `export` and `history` know, by the name of its column. This page is made from the
registry (`benchmark_app/analysis/metrics.py`). What each number means in detail stands in
[design.md](design.md), section 4.

*Better* says which way is better; `-` where neither is. *Smallest change* is what a verdict needs at least, unless a
file of thresholds says otherwise. *Varies with* says what makes two runs of the same code differ.

`steps_per_iteration` times `iterations_per_s` is `total_fps` in training and runtime. In play it is more: every
iteration steps all `num_envs` rows, but only rows whose episode is one of the `play.episodes` count as frames. Rows
that have played theirs stand still until the last row is done, and with more rows than episodes some never play.

What a task itself measures has no column here, because every task measures something else. `play.json` has the mean
over the episodes that have it as `extra.metrics.NAME`, their number as `extra.metrics.NAME.n_episodes`, and the mean of
each term of the reward as `extra.reward_terms.NAME`; `episodes.jsonl` has them by episode, and `scores` shows them.
"""


def page() -> str:
    """The page docs/metrics.md: one table per group."""
    groups = dict.fromkeys(metric.group for metric in METRICS.values())
    tables = [_table(group, [metric for metric in METRICS.values() if metric.group == group]) for group in groups]
    return "\n".join([_PAGE, *tables])


def _table(group: str, metrics: list[Metric]) -> str:
    heads = ("Name", "Unit", "Better", "Smallest change", "Varies with", "Workflows", "What it is", "Where it stands")
    lines = [f"## {group.capitalize()}", "", _row(heads), _row(["---"] * len(heads))]
    for metric in metrics:
        cells = [
            f"`{metric.name}`",
            metric.unit,
            metric.direction or "-",
            _smallest(metric),
            metric.noise,
            ", ".join(metric.workflow),
            f"{metric.title}: {metric.description} ({metric.aggregation})",
            "; ".join(f"`{place}`" for place in metric.path.split("; ")),
        ]
        lines.append(_row(cells))
    return "\n".join([*lines, ""])


def _smallest(metric: Metric) -> str:
    if metric.direction is None:
        return ""
    return f"{metric.min_effect:g}" if metric.scale == "points" else f"{metric.min_effect:.0%}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(page(), end="")
