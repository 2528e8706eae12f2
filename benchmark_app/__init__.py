"""benchmark_app: which RL library, on which physics engine and renderer, is faster and learns better on this machine.

This package is light: importing it, and everything the parent process uses, loads neither torch nor an engine nor an
RL library. Those are imported by the worker process alone.
"""

from pathlib import Path

__version__ = "0.1.0"

# `conf/` and `tasks/` stand beside this package in a checkout and inside it in a wheel. One line gives both the same
# import name, `benchmark_app.tasks`, so that a user's own top-level `tasks.py` or `conf/` is never picked up instead.
_ROOT = Path(__file__).resolve().parent.parent
if (_ROOT / "tasks" / "cartpole").is_dir() and (_ROOT / "pyproject.toml").is_file():
    __path__.append(str(_ROOT))
