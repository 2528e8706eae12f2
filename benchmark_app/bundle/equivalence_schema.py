"""What stands in `equivalence.json`, and reading it strictly; what each entry means stands in docs/engines.md."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from benchmark_app.bundle.check import BundleError, Record, describe
from benchmark_app.bundle.equivalence import FORMAT, VERSION
from benchmark_app.bundle.read import parse_record, read_checked
from benchmark_app.bundle.schema import RunStatus

Verdict = Literal["identical", "rounding", "step", "model"]


@dataclass(frozen=True)
class Joint(Record):
    """One joint as an engine reports it; null is "no limit"."""

    name: str
    lower: float | None
    upper: float | None
    damping: float
    armature: float
    friction: float
    effort_limit: float | None


@dataclass(frozen=True)
class Link(Record):
    """One link as an engine reports it."""

    name: str
    mass: float
    com: list[float]
    inertia: list[float]


@dataclass(frozen=True)
class Facts(Record):
    """The robot as an engine reports it."""

    joints: list[Joint]
    links: list[Link]
    gravity: list[float]
    physics_dt: float


@dataclass(frozen=True)
class Engine(Record):
    """One of the two engines."""

    engine: str
    version: str
    device: str
    settings: dict[str, Any]
    versions: dict[str, str]
    facts: Facts


@dataclass(frozen=True)
class Engines(Record):
    """Both engines; null where the run did not get to it."""

    reference: Engine | None
    physics: Engine | None


@dataclass(frozen=True)
class FactDifference(Record):
    """A fact that the engines report differently."""

    fact: str
    reference: float | None
    physics: float | None


@dataclass(frozen=True)
class Curves(Record):
    """What is plotted: a value per control step, the initial state first."""

    rows_counting: list[int]
    divergence_maximum: list[float]
    divergence_median: list[float]
    divergence_at_half_step_median: list[float]
    rounding_median: list[float]
    rounding_at_half_step_median: list[float]
    step_error_reference_median: list[float]
    step_error_physics_median: list[float]

    def rules(self) -> None:
        """All curves are over the same time."""
        expected = len(self.rows_counting)
        for field in fields(self):
            if (found := len(getattr(self, field.name))) != expected:
                raise BundleError(field.name, f"expected {expected} values, as many as rows_counting has, got {found}")


@dataclass(frozen=True)
class ActionSet(Record):
    """One joint in the rows of one action set."""

    verdict: Verdict
    rows: int
    compared_s: float
    horizon_s: float | None
    first_row_s: float | None
    judged_s: float
    divergence: float
    divergence_at_half_step: float
    rounding: float
    rounding_at_half_step: float
    step_error_reference: float
    step_error_physics: float
    left_at_half_step: float | None
    curves: Curves


@dataclass(frozen=True)
class JointComparison(Record):
    """One joint, or a floating root's position or orientation, in all action sets."""

    name: str
    unit: Literal["rad", "m"]
    tolerance: float
    rows_whole_turns_apart: int
    verdict: Verdict
    horizon_s: float | None
    first_row_s: float | None
    compared_s: float
    action_sets: dict[str, ActionSet]


@dataclass(frozen=True)
class Comparison(Record):
    """How far the engines came apart."""

    verdict: Verdict
    control_dt_s: float
    steps: int
    perturbation: float
    initial_difference: float
    amplitude: float
    joints: list[JointComparison]


@dataclass(frozen=True)
class Equivalence(Record):
    """The whole file."""

    format: str
    version: int
    status: RunStatus
    reason: str
    run_id: str
    task: str
    physics: str
    reference_physics: str
    seed: int
    num_envs: int
    start_time_utc: str
    end_time_utc: str | None
    synthetic: bool
    hardware: dict[str, Any]
    extra: dict[str, bool | int | float | str]
    engine_warnings: dict[str, dict[str, int]]
    engines: Engines
    fact_differences: list[FactDifference] | None
    comparison: Comparison | None

    def rules(self) -> None:
        """A run that completed has found something; one that did not says why."""
        if self.status != "completed":
            if not self.reason:
                raise BundleError("reason", f"empty, although the run is {self.status}")
            return
        both = self.engines.reference is not None and self.engines.physics is not None
        found = {"engines": both, "fact_differences": self.fact_differences, "comparison": self.comparison}
        for name, value in found.items():
            if value is None or value is False:
                raise BundleError(name, "missing, although the run is completed")


def read_equivalence_file(path: str | Path) -> Equivalence:
    """Read the result of an equivalence run.

    Raises:
        BundleError: The file cannot be read, is no JSON, or is not as this module says.
    """
    return read_checked(path, parse_equivalence)


def parse_equivalence(raw: object) -> Equivalence:
    """Build the result from the object a JSON parser returned.

    Raises:
        BundleError: It is none, of another version, or not as this module says.
    """
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise BundleError("format", f"expected {FORMAT!r}: not the result of an equivalence run")
    if raw.get("version") != VERSION:
        raise BundleError("version", f"{describe(raw.get('version'))} is not supported, expected {VERSION}")
    return parse_record(Equivalence, raw, "")
