"""The verb `backends`: what there is, what can run here, and why not."""

import json
import subprocess
import sys
from typing import get_args

import pytest

from benchmark_app.bundle.schema import RenderingBackend
from benchmark_app.cli import main
from benchmark_app.physics import availability
from benchmark_app.physics.catalogue import ENGINES
from tests.conftest import ROOT


def listed(capsys, *arguments):
    assert main(["backends", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_engine_is_listed_with_what_the_catalogue_says(capsys):
    physics = {engine["name"]: engine for engine in listed(capsys)["physics"]}
    assert set(physics) == set(ENGINES)
    for name, engine in physics.items():
        assert engine["missing"] == availability.missing(name)
        assert engine["available"] is (engine["missing"] == "")
        assert engine["capabilities"]["devices"] == list(ENGINES[name].capabilities.devices)
        assert set(engine["warnings"]) == set(ENGINES[name].warnings)
        assert engine["licence"] == ENGINES[name].licence


def test_the_engine_of_the_main_install_is_available_with_its_version(capsys):
    import importlib.metadata

    (mjwarp,) = (engine for engine in listed(capsys)["physics"] if engine["name"] == "newton_mjwarp")
    assert mjwarp["available"]
    assert mjwarp["version"] == importlib.metadata.version("newton")
    assert "cpu" in mjwarp["devices"]


def test_the_renderers_are_the_schema_s_and_can_be_chosen_and_what_is_not_here_says_why(capsys):
    rendering = {renderer["name"]: renderer for renderer in listed(capsys)["rendering"]}
    assert set(rendering) == set(get_args(RenderingBackend))
    choices = {path.stem for path in (ROOT / "conf" / "rendering").glob("*.yaml")}
    assert set(rendering) == choices
    assert {"none", "newton"} <= {name for name, renderer in rendering.items() if renderer["available"]}
    assert all(renderer["missing"] for renderer in rendering.values() if not renderer["available"])


def test_a_person_reads_it_in_80_columns(capsys):
    assert main(["backends"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("newton_mjwarp   available") for line in lines)
    assert any(line.startswith("ovrtx           not here") for line in lines)


def test_another_interpreter_is_asked(tmp_path, capsys):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    bare.chmod(0o755)
    engines = listed(capsys, "--python", str(bare))["physics"]
    engines = listed(capsys, "--python", str(bare))["physics"]
    assert not any(engine["available"] for engine in engines)
    (mjwarp,) = (engine for engine in engines if engine["name"] == "newton_mjwarp")
    assert f"(type: {bare} -m pip install 'newton[sim]')" in mjwarp["missing"]
    assert main(["backends", "--python", "/bin/false"]) == 2
    assert capsys.readouterr().err == (
        "benchmark_app: error: --python /bin/false: cannot be asked what it has installed "
        "(exit status 1: it is no Python interpreter, or one older than 3.11)\n"
    )
    assert main(["backends", "--python", "/no/such"]) == 2
    assert "--python /no/such: cannot be asked" in capsys.readouterr().err


def test_it_imports_no_engine_and_no_torch():
    code = (
        "import sys; from benchmark_app.cli import main; main(['backends']); "
        "print([name for name in ('torch', 'numpy', 'warp', 'newton', 'ovphysx', 'hydra') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("arguments", [["--bogus"], ["newton_mjwarp"]])
def test_what_it_does_not_take_is_refused(arguments):
    with pytest.raises(SystemExit) as ended:
        main(["backends", *arguments])
    assert ended.value.code == 2
