"""The program of a worker process: `python -P worker/__main__.py SPEC FD SPAWNED_AT`.

It is started as a file, so that a worker in another interpreter runs exactly this package, and nothing that happens to
be importable in the folder the user is in.
"""

import importlib.util
import sys
from pathlib import Path


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
    from benchmark_app.worker.main import main

    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
