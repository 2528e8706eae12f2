"""The programs of a server: `python -P served/__main__.py serve FD` and `… session FD`.

They are started as files, as workers are, so that a server in another interpreter runs exactly this package. What they
are to do is the first line of their standard input; when that ends they end, so that none is left behind.
"""

import importlib.util
import sys
from pathlib import Path


def _import_this_package() -> None:
    folder = Path(__file__).resolve().parent.parent.parent
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
    role, fd = sys.argv[1], int(sys.argv[2])
    if role == "serve":
        from benchmark_app.execution.served import listening

        listening.main(fd)
    else:
        from benchmark_app.execution.served import session

        session.main(fd)
