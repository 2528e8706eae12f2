"""The program of a checking process: `python -P check/__main__.py JOB FD`, started as a file like a worker."""

import importlib.util
import os
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
    from benchmark_app.check import child

    status = child.run(sys.argv[1], int(sys.argv[2]))
    sys.stderr.flush()
    os._exit(status)  # taking an engine down object by object would only cost seconds
