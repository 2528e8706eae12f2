"""The end of a run, in a few lines: the numbers that matter, what failed and why, and where the files are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmark_app.bundle.conditions import read_warnings
from benchmark_app.bundle.facts import WARNINGS
from benchmark_app.bundle.read import read_bundle_file
from benchmark_app.bundle.schema import Bundle, PlayBundle, RuntimeBundle, StartupBundle, TrainingBundle
from benchmark_app.bundle.video import LOST
from benchmark_app.execution.cfg import LOCAL, is_gymnasium
from benchmark_app.journal.events import Scalar
from benchmark_app.settings import Settings

from .closing import WorkflowResult
from .equivalence_summary import equivalence_lines
from .run_directory import RunDirectory


def print_summary(directory: RunDirectory, results: list[WorkflowResult], settings: Settings) -> None:
    """Print how a run ended."""
    shown = _short(directory.path)
    s = settings
    gymnasium = is_gymnasium(s.task.module)
    head = [s.task.name, s.framework.name, "Gymnasium's own simulator" if gymnasium else s.physics.name]
    if s.reference_physics is not None and s.workflow.steps == ["equivalence"]:  # no library takes part
        head = [s.task.name, f"{s.physics.name} against {s.reference_physics.name}"]
    head += [_count(s.num_envs, "environment"), f"seed {s.seed}"]
    head.append(_count(s.threads, "thread"))
    if s.execution.name != LOCAL:
        head.append(f"execution {s.execution.label}")
    if s.worker.program is not None:
        head.append("synthetic")
    print(" · ".join(head))
    bundles = {
        result.workflow: read_bundle_file(result.bundle).bundle
        for result in results
        if result.bundle and result.workflow != "equivalence"
    }
    for bundle in bundles.values():
        if device := (bundle.extra or {}).get("device"):
            reason = (bundle.extra or {}).get("device_reason")
            print(f"  device    {device}" + (f": {reason}" if reason else ""))
            break
    for result in results:
        compared = equivalence_lines(result.bundle) if result.workflow == "equivalence" and result.bundle else []
        line = _line(result, bundles.get(result.workflow)) or "".join(compared[:1])
        print(f"  {result.workflow:<9} {result.status:<12} {line}".rstrip())
        for more in compared[not result.reason :]:
            print(f"  {'':<9} {'':<12} {more}")
        if meaning := _meaning(bundles.get(result.workflow)):
            print(f"  {'':<9} {'':<12} {meaning}")
        for text in _videos(bundles.get(result.workflow)):
            print(f"  {'':<9} {'video':<12} {text}")
        for text in read_warnings(directory.path, result.workflow):
            print(f"  {'':<9} {'warning':<12} {text}")
        for name, count in _warnings(bundles.get(result.workflow)).items():
            print(f"  {'':<9} {'':<12} engine warning {name}: {count}")
        if result.status == "crashed":
            log = directory.latest_log(result.workflow)  # of several processes, the last one failed
            if log is not None:
                print(f"  {'':<9} {'':<12} log: {_short(log)}")
    written = [result.bundle.name for result in results if result.bundle is not None]
    print(f"  results   {shown}/ ({', '.join(written) if written else 'no bundle'}, run.json)")


def _warnings(bundle: Bundle | None) -> dict[str, Scalar]:
    """How often the engine gave each warning that means wrong physics."""
    extra = bundle.extra or {} if bundle is not None else {}
    return {key.removeprefix(WARNINGS): count for key, count in extra.items() if key.startswith(WARNINGS) and count}


def _videos(bundle: Bundle | None) -> list[str]:
    """What became of the videos asked for: the last one, and what keeps others from being there."""
    extra: dict[str, Any] = (bundle.extra or {}) if bundle is not None else {}
    found = []
    if isinstance(bundle, TrainingBundle | PlayBundle) and bundle.video_path is not None:
        more = f" and {extra['videos'] - 1} more" if extra["videos"] > 1 else ""
        shows = f"{_count(extra['video_episodes'], 'episode')}, {extra['video_seconds']:.1f} s"
        cut = ", cut there (video.seconds): an episode went on" if extra["video_cut"] else ""
        why = f", since {extra['video_renderer_reason']}" if "video_renderer_reason" in extra else ""
        found.append(f"{bundle.video_path}{more}: {shows}{cut}; drawn by {extra['video_renderer']}{why}")
    if LOST in extra:
        found.append(f"{'no video' if not extra['videos'] else 'no further video'}: {extra[LOST]}")
    return found


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _short(path: Path) -> str:
    """A path as a person would type it from here."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _line(result: WorkflowResult, bundle: Bundle | None) -> str:
    if bundle is None:
        return result.reason
    numbers = NUMBERS[type(bundle)](bundle)
    return f"{result.reason}; {numbers}" if result.reason and numbers else result.reason or numbers


def _startup(bundle: StartupBundle) -> str:
    if not bundle.phases:
        return ""
    phases = ", ".join(f"{name} {phase.total_time_s:.2f}" for name, phase in bundle.phases.items())
    reached = "to the first step" if "first_step" in bundle.phases else f"until it ended in {list(bundle.phases)[-1]}"
    extra = bundle.extra or {}
    kernels = f", {extra['kernel_cache']} kernel cache" if "kernel_cache" in extra else ""
    lost = f"; no profile: {extra['profile_lost']}" if "profile_lost" in extra else ""
    return f"{sum(phase.total_time_s for phase in bundle.phases.values()):.2f} s {reached} ({phases}){kernels}{lost}"


def _runtime(bundle: RuntimeBundle) -> str:
    runtime = bundle.runtime
    if runtime.collection_fps.mean == 0:
        return ""
    timing = runtime.environment_step_timing
    measured = f" over {_count(timing.environment_step_calls, 'step')}" if timing is not None else ""
    return (
        f"{runtime.collection_fps.mean:,.0f} environment steps/s, {1e3 * runtime.iteration_time_s.mean:.2f} ms a step"
        f"{measured}"
    )


def _training(bundle: TrainingBundle) -> str:
    runtime, learning = bundle.runtime, bundle.learning
    parts = [f"{runtime.iterations_completed}/{bundle.run.max_iterations} iterations"]
    if before := int((bundle.extra or {}).get("resumed_iterations", 0)):
        parts[0] += f" after the first {before}"
    if runtime.total_fps.mean > 0:
        parts.append(f"{runtime.total_fps.mean:,.0f} steps/s (collection {runtime.collection_fps.mean:,.0f})")
    finished = int((bundle.extra or {}).get("episodes_finished", 0))
    if finished:
        success = "" if bundle.success_rate is None else f", success {bundle.success_rate:.3f}"
        last = _count(min(finished, 100), "episode")
        parts.append(f"mean return {learning.reward.final_raw:.2f}{success} (last {last})")
    if reason := (bundle.extra or {}).get("early_stop"):
        parts.append(f"stopped early: {reason}")
    return ", ".join(parts)


def _play(bundle: PlayBundle) -> str:
    extra = bundle.extra or {}
    ended = int(extra.get("n_episodes", 0))
    planned = int(extra.get("n_episodes_planned", ended))
    parts = [_count(ended, "episode") if ended == planned else f"{ended} of {_count(planned, 'episode')}"]
    if bundle.reward is not None:
        parts.append(f"mean return {bundle.reward.mean:.2f}")
    if "n_success" in extra:
        percent, low, high = (extra[f"pc_success{end}"] for end in ("", "_ci95_low", "_ci95_high"))
        share = f"{percent:.1f} % (95 % interval {low:.1f} to {high:.1f})"
        parts.append(f"success {extra['n_success']} of {ended}: {share}")
    if bundle.runtime.total_fps.mean > 0:
        parts.append(f"{bundle.runtime.total_fps.mean:,.0f} steps/s")
    return ", ".join(parts)


def _meaning(bundle: Bundle | None) -> str:
    """What the numbers of a play do not say."""
    if not isinstance(bundle, PlayBundle):
        return ""
    extra = bundle.extra or {}
    if extra.get("smoke"):
        return "a smoke run: it shows that things work, and is no score"
    if bundle.run.status != "completed":
        return "no score: short episodes end first, so those that ended are no fair draw"
    if "n_success" in extra:
        return "the interval is of the draw of episodes, for this one policy; of training again only other seeds tell"
    return ""


NUMBERS: dict[type, Any] = {
    StartupBundle: _startup,
    RuntimeBundle: _runtime,
    TrainingBundle: _training,
    PlayBundle: _play,
}
