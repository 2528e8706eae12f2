"""The program of a worker process: `python -P worker/__main__.py SPEC FD SPAWNED_AT`.

`… environments FD` instead is one that holds environments for another.

It is started as a file, so that a worker in another interpreter runs exactly this package, and nothing that happens to
be importable in the folder the user is in.
"""

import gc

# Importing torch and an engine makes millions of objects that stay; looking through them again and again for cycles
# takes a third of the start-up. The session collects again from the moment it is ready.
gc.disable()

import importlib.util  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402


def _import_this_package() -> None:
    folder = Path(__file__).resolve().parent.parent
    spec = importlib.util.spec_from_file_location(
        "benchmark_app", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["benchmark_app"] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    _import_this_package()
    if sys.argv[1] == "environments":
        from benchmark_app.execution.process import host_main

        status = host_main.main(int(sys.argv[2]))
    else:
        spec, fd, spawned_at = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
        if json.loads(spec.read_text(encoding="utf-8"))["workflow"] == "preflight":
            from benchmark_app.worker import preflight

            status = preflight.main(spec, fd)
        else:
            from benchmark_app.worker import main

            status = main.main(spec, fd, spawned_at)
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything is on disk; taking the interpreter down object by object would only cost seconds.
    os._exit(status)
