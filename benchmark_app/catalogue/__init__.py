"""The tasks there are, and what each claims to be. Light: neither torch nor an engine is imported to list them.

Shipped tasks lie in `tasks/` and `conf/task/`; an installed package offers its own through the entry point group
`benchmark_app.tasks` (docs/add_a_task.md).
"""

from .describe import describe
from .entries import GROUP, TaskEntry, TaskError, find_tasks, load_task, task_cfg
from .environments import env_fns, sim_settings
from .reference import ReferenceFileError, ReferenceResult, SeedResult, read_reference

__all__ = [
    "GROUP",
    "ReferenceFileError",
    "ReferenceResult",
    "SeedResult",
    "TaskEntry",
    "TaskError",
    "describe",
    "env_fns",
    "find_tasks",
    "load_task",
    "read_reference",
    "sim_settings",
    "task_cfg",
]
