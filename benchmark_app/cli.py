"""The command line: a table of verbs, and without a verb the Hydra application that runs benchmarks."""

from __future__ import annotations

import os
import sys

import benchmark_app

# `python -m` puts the current folder first: a user's json.py or hydra.py would shadow the real ones. In a checkout the
# current folder may be what this package is imported from, and then it stays.
if sys.path and sys.path[0] == os.getcwd() != os.path.dirname(os.path.dirname(benchmark_app.__file__)):
    del sys.path[0]

import errno
import signal
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from benchmark_app.refusal import REFUSED, refuse


def entry() -> NoReturn:
    """Be a program: set up signals and streams, run `main`, and end with its exit status."""
    # Until a run watches its signals, Ctrl-C simply ends the process, without a traceback through half an import.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Started without standard streams, the first files opened would take their place and receive what is printed.
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (lives as long as the process)
        _make_lasting(getattr(sys, name))
    sys.exit(main())


def _make_lasting(stream: Any) -> None:
    """Let a stream whose reader went away, or whose disk is full, or that lacks a letter, swallow what is printed.

    What is printed is for a person; a measurement, its files and its exit status do not depend on who is listening.
    """
    stream.reconfigure(errors="replace")

    def lasting(call: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(*arguments: Any) -> Any:
            try:
                return call(*arguments)
            except OSError as error:
                if error.errno != errno.EPIPE:  # a reader that went away has seen enough
                    unwritten.append(error.strerror or str(error))
                return 0

        return attempt

    stream.write, stream.flush = lasting(stream.write), lasting(stream.flush)


unwritten: list[str] = []
"""Why something that was printed did not arrive."""


def main(argv: list[str] | None = None) -> int:
    """Run a verb, or a benchmark.

    Args:
        argv: Arguments after the program's name; None takes them from the command line.

    Returns:
        Exit status: 0 completed, 1 crashed, 2 refused, 130 and 143 interrupted by SIGINT and SIGTERM.
    """
    arguments = sys.argv[1:] if argv is None else argv
    first = arguments[0] if arguments else ""
    if first in VERBS:
        return VERBS[first](arguments[1:])
    if first == "--version":
        print(f"benchmark_app {benchmark_app.__version__}")
        return 0
    for argument in arguments:
        if argument in VERBS:
            return refuse(f"{argument}: a verb comes first and takes no settings: python -m benchmark_app {argument} …")
    if first and "=" not in first and not first.startswith(("-", "~", "+")):
        return refuse(f"{first}: no such verb; known: {', '.join(VERBS)}; settings are written KEY=VALUE")

    from benchmark_app.profiling.host import other_load

    other_load.watch.begin()  # what others do while this program starts is what they did before the run
    from benchmark_app.compose import run_application

    return run_application(arguments)


def _validate(arguments: list[str]) -> int:
    from benchmark_app.bundle.validate import validate_paths

    if not arguments or arguments[0].startswith("-"):
        return _usage("validate PATH...", "Check result files, or every result file below a folder.", arguments)
    if "" in arguments:
        return refuse("validate '': give the path of a file or folder")
    return validate_paths(arguments)


def _recover(arguments: list[str]) -> int:
    from benchmark_app.sweep.recover import recover

    if not arguments or arguments[0].startswith("-"):
        return _usage("recover DIR...", "Rebuild the results of runs that were killed, or of whole sweeps.", arguments)
    if "" in arguments:
        return refuse("recover '': give the path of a run's or a sweep's folder")
    return max(recover(Path(argument)) for argument in arguments)


def _status(arguments: list[str]) -> int:
    from benchmark_app.sweep.status import status

    return status(arguments)


def _matrix(arguments: list[str]) -> int:
    from benchmark_app.matrix import matrix

    return matrix(arguments)


def _replay(arguments: list[str]) -> int:
    from benchmark_app.replay import replay

    if len(arguments) != 1 or arguments[0].startswith("-"):
        return _usage("replay DUMP", "Take the failing step of a NaN dump again, on the CPU.", arguments)
    if "" in arguments:
        return refuse("replay '': give the path of a dump")
    return replay(Path(arguments[0]))


def _agents(arguments: list[str]) -> int:
    from benchmark_app.agents import agents

    return agents(arguments)


def _backends(arguments: list[str]) -> int:
    from benchmark_app.backends import backends

    return backends(arguments)


def _tasks(arguments: list[str]) -> int:
    from benchmark_app.catalogue.verb import tasks

    return tasks(arguments)


def _check(arguments: list[str]) -> int:
    status: int = import_module("benchmark_app.check.verb").check(arguments)
    return status


def _serve(arguments: list[str]) -> int:
    status: int = import_module("benchmark_app.serve").serve(arguments)
    return status


def _parity(arguments: list[str]) -> int:
    status: int = import_module("benchmark_app.parity.verb").parity(arguments)
    return status


def _selftest(arguments: list[str]) -> int:
    status: int = import_module("benchmark_app.selftest.verb").selftest(arguments)
    return status


def _analysis(verb: str) -> Callable[[list[str]], int]:
    def run(arguments: list[str]) -> int:
        status: int = import_module(f"benchmark_app.analysis.verbs.{verb}").run(arguments)
        sys.stdout.flush()
        if status == 0 and unwritten:  # what these print is their result
            return refuse(f"{verb}: the output could not be written ({unwritten[0]})")
        return status

    return run


def _usage(form: str, what: str, arguments: list[str]) -> int:
    asked = arguments[:1] in (["-h"], ["--help"])
    print(f"usage: python -m benchmark_app {form}\n\n{what}", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else REFUSED


VERBS: dict[str, Callable[[list[str]], int]] = {
    "validate": _validate,
    "recover": _recover,
    "status": _status,
    "matrix": _matrix,
    "replay": _replay,
    "agents": _agents,
    "backends": _backends,
    "tasks": _tasks,
    "check": _check,
    "serve": _serve,
    "parity": _parity,
    "selftest": _selftest,
    **{verb: _analysis(verb) for verb in ("scores", "summary", "compare", "report", "export", "history")},
}
