"""Reading, writing and building bundles needs nothing but the standard library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_the_bundle_package_imports_neither_third_party_nor_worker_code() -> None:
    code = (
        "import sys, json; before = set(sys.modules);"
        "import benchmark_app.bundle.build, benchmark_app.bundle.validate, benchmark_app.bundle.json_schema;"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    root = Path(__file__).resolve().parents[2]
    output = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True).stdout
    loaded = json.loads(output)
    assert "benchmark_app.bundle.build" in loaded
    ours = ("benchmark_app.bundle", "benchmark_app.journal")
    foreign = {
        name
        for name in loaded
        if name.split(".")[0] not in sys.stdlib_module_names and name != "benchmark_app" and not name.startswith(ours)
    }
    assert foreign == set()
