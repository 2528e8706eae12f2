"""What must agree between two runs, or two groups of runs, before their numbers may be compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class IdentityField:
    """One thing that must agree.

    Args:
        name: Its column in `Results.runs`.
        title: Its name for a person.
        description: What the column holds, and why a difference in it matters.
        overridable: False where no wish of the user makes the two sides comparable.
    """

    name: str
    title: str
    description: str
    overridable: bool = True


IDENTITY: dict[str, IdentityField] = {
    field.name: field
    for field in (
        IdentityField("workflow", "Workflow", "What was run: training, play, runtime or startup.", overridable=False),
        IdentityField("task", "Task", "Gym id of the task."),
        IdentityField("framework", "Library", "RL library; missing where none runs."),
        IdentityField("physics", "Physics", "Physics engine."),
        IdentityField("rendering", "Rendering", "Renderer, `none` without a camera."),
        IdentityField(
            "presets", "Presets", "Active choices that have no field of their own, sorted, joined by commas."
        ),
        IdentityField("num_envs", "Environments", "Parallel environments; missing for startup."),
        IdentityField(
            "budget",
            "Budget",
            "Training: iterations asked for. Runtime: completed steps. Play: evaluated episodes, or completed steps "
            "where the bundle has none. Missing for startup, and for runtime and play where the run ended early.",
        ),
        IdentityField("resumed", "Resumed at", "Iterations the training had behind it when it started, mostly 0."),
        IdentityField("ranks", "Ranks", "Processes that trained one policy together, mostly 1."),
        IdentityField("device_kind", "Device", "`cpu` or `cuda`."),
        IdentityField("threads", "Threads", "CPU threads of the worker."),
        IdentityField(
            "execution", "Execution", "Where the environments ran: `local`, `process:N` (in N processes) or `served`."
        ),
        IdentityField("numerics", "Numerics", "Precision of matrix products, and what cuDNN may do."),
        IdentityField(
            "settings",
            "Settings",
            "Settings of task, engine, agent and workflow that are not the ones shipped for these choices; empty where "
            "all are, missing where they are not known.",
        ),
        IdentityField("overrides", "Native overrides", "Settings of the library that replace the shared description."),
        IdentityField("kernel_cache", "Kernel cache", "`cold` or `warm`: whether the engine compiled its kernels."),
        IdentityField("mode", "Measurement mode", "`host_return` or `serialized_synchronized`."),
        IdentityField(
            "producer",
            "Written by",
            "`benchmark_app` or `isaaclab`. Isaac Lab's rates of training and play are means of rates, and its warm-up "
            "stands in them: the same name, another number.",
        ),
        IdentityField("schema_major", "Schema", "Major version of the bundle's schema.", overridable=False),
        IdentityField("hardware", "Hardware", "Processor, its cores and GPUs."),
        IdentityField("host", "Host", "Name of the host. Containers often get a new one each time."),
        IdentityField(
            "oversubscribed", "Oversubscribed", "Other runs of its sweep had no cores or GPUs of their own beside it."
        ),
        IdentityField("synthetic", "Synthetic", "A test's worker pretended to run.", overridable=False),
        IdentityField(
            "perturbed",
            "Perturbed",
            "What made the timings others than in production, such as a debugger.",
            overridable=False,
        ),
    )
}

# What may be compared with each other: everything a run chooses. `--by FIELD` accepts these.
AXES: tuple[str, ...] = tuple(field.name for field in IDENTITY.values() if field.overridable)


class IdentityError(ValueError):
    """A field that is none, or that may not be overridden; one line that names it and says what to do."""


@dataclass(frozen=True)
class Difference:
    """One field in which two sides differ; None stands for a value that is not known.

    Args:
        field: Name of the field.
        base: Value on the one side.
        new: Value on the other.
    """

    field: str
    base: object
    new: object

    def __str__(self) -> str:
        return f"{self.field}: {_word(self.base)} against {_word(self.new)}"


def check_fields(names: Collection[str]) -> None:
    """Check names given for an axis or for fields that may differ.

    Raises:
        IdentityError: A name is no field of the identity, or no one may override it.
    """
    for name in names:
        if name not in IDENTITY:
            raise IdentityError(f"{name}: no such field; known: {', '.join(AXES)}")
        if not IDENTITY[name].overridable:
            raise IdentityError(f"{name}: runs that differ in it are never compared; known: {', '.join(AXES)}")


def differences(
    a: Mapping[str, object], b: Mapping[str, object], *, axis: str | None = None, allowed: Collection[str] = ()
) -> list[Difference]:
    """The fields in which two runs, or two groups, differ although they must agree, in the order of the registry.

    Args:
        a: Values by field, such as a row of `Results.runs`; a field that is absent counts as not known.
        b: Likewise.
        axis: The field that is being compared, which is expected to differ.
        allowed: Fields the user lets differ.

    Raises:
        IdentityError: `axis` or a field of `allowed` is none that may differ.
    """
    exempt = {*allowed, *((axis,) if axis is not None else ())}
    check_fields(exempt)
    found = (Difference(name, a.get(name), b.get(name)) for name in IDENTITY if name not in exempt)
    return [difference for difference in found if difference.base != difference.new]


def identity_of(row: Mapping[str, object], *, without: Collection[str] = ()) -> tuple[object, ...]:
    """The values of all fields of a run, less some, as a key to group by."""
    return tuple(row.get(name) for name in IDENTITY if name not in without)


def _word(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value != "" else "none"
