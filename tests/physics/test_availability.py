"""What an engine needs is found out, and said in a line, without importing it."""

import dataclasses
import resource
import subprocess
import sys

import pytest

from benchmark_app.physics import UnsupportedSceneError, availability, make_backend
from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.physics.scene import SceneSpec
from benchmark_app.profiling.host import gpu, interpreter
from benchmark_app.profiling.host.interpreter import Interpreter, other_interpreter, this_interpreter

MJWARP = ENGINES["newton_mjwarp"]
SPEC = SceneSpec(
    mjcf="robot.xml",
    joints=("hinge",),
    num_envs=2,
    physics_dt=0.01,
    decimation=1,
    max_contacts=0,
    max_constraints=1,
)


@pytest.fixture
def pretended(monkeypatch):
    """An engine with needs of its own, under the name `pretended`."""

    def pretend(**needs):
        monkeypatch.setitem(ENGINES, "pretended", dataclasses.replace(MJWARP, **needs))

    return pretend


def found(*, python=(3, 12), torch="2.13.0", **versions):
    return Interpreter(python, {**{name.replace("_", "-"): value for name, value in versions.items()}, "torch": torch})


def test_nothing_is_missing_where_all_is_there(pretended):
    pretended(distributions=("engine==1.2.*",), python=((3, 12),))
    assert availability.missing("pretended", found(engine="1.2.7")) == ""


@pytest.mark.parametrize("installed", [None, "1.3.0", "0.9"])
def test_a_package_that_is_absent_or_of_another_version_is_named_with_the_one_allowed(pretended, installed):
    pretended(distributions=("engine==1.2.*",), install="pip install 'x[engine]'")
    line = availability.missing("pretended", found(engine=installed))
    assert line == "needs the package engine==1.2.* (type: pip install 'x[engine]')"


@pytest.mark.parametrize(
    ("apart", "python", "how"),
    [
        ("in the checkout, type: make it", None, "in the checkout, type: make it"),
        ("in the checkout, type: make it", "/a b/python", "in the checkout, type: '/a b/python' -m pip install x"),
        ("", "/other/python", "type: /other/python -m pip install x"),
    ],
)
def test_packages_go_into_the_interpreter_the_user_chose_or_where_they_go_well(pretended, apart, python, how):
    pretended(distributions=("engine",), install="pip install x", apart=apart, python=((3, 12),))
    assert availability.missing("pretended", found(engine=None), python) == f"needs the package engine ({how})"


def test_nothing_is_to_go_into_a_chosen_interpreter_of_the_wrong_version(pretended):
    pretended(distributions=("engine",), install="pip install x", python=((3, 12),))
    line = availability.missing("pretended", found(python=(3, 11), engine=None), "/chosen/python")
    assert line == "needs Python 3.12 instead of 3.11 and the package engine (type: pip install x)"


def test_a_version_with_a_build_number_is_allowed(pretended):
    pretended(distributions=("engine==0.7.*",))
    assert availability.missing("pretended", found(engine="0.7.0.74035321")) == ""


def test_everything_that_is_missing_stands_in_one_line(pretended, monkeypatch):
    monkeypatch.setattr(gpu, "devices", list)
    monkeypatch.delenv("ENGINE_ACCEPTED", raising=False)
    pretended(
        distributions=("engine", "schemas"),
        install="pip install x",
        python=((3, 12),),
        needs_gpu=True,
        licence="the Maker's terms",
        accepted_by="ENGINE_ACCEPTED",
    )
    line = availability.missing("pretended", found(python=(3, 11), engine=None, schemas=None))
    assert line == (
        "needs Python 3.12 instead of 3.11 (name one by worker.python=PATH), the packages engine and schemas "
        "(type: pip install x), an NVIDIA GPU with its driver (none is seen) and your acceptance of the Maker's terms "
        "(if you accept, type: export ENGINE_ACCEPTED=YES)"
    )


@pytest.mark.parametrize(("answer", "accepted"), [("YES", True), ("y", True), ("1", True), ("no", False), ("", False)])
def test_a_licence_is_accepted_by_the_user_s_own_word_only(pretended, monkeypatch, answer, accepted):
    monkeypatch.setenv("ENGINE_ACCEPTED", answer)
    pretended(distributions=(), licence="the terms", accepted_by="ENGINE_ACCEPTED")
    assert (availability.missing("pretended", found()) == "") is accepted


@pytest.mark.parametrize(
    ("capable", "torch", "gpus", "devices", "why"),
    [
        (("cpu", "cuda"), "2.13.0+cpu", 1, ["cpu"], "torch 2.13.0+cpu is built without CUDA"),
        (("cpu", "cuda"), "2.13.0", 0, ["cpu"], "no NVIDIA GPU with a driver is seen"),
        (("cpu", "cuda"), "2.13.0", 1, ["cpu", "cuda"], ""),
        (("cpu",), "2.13.0", 1, ["cpu"], "the engine has no CUDA"),
        (("cuda",), None, 1, [], "torch is not installed"),
    ],
)
def test_the_devices_are_those_of_the_engine_that_are_here(pretended, monkeypatch, capable, torch, gpus, devices, why):
    monkeypatch.setattr(gpu, "devices", lambda: [{}] * gpus)
    pretended(capabilities=dataclasses.replace(MJWARP.capabilities, devices=capable))
    assert availability.devices("pretended", found(torch=torch)) == (devices, why)


@pytest.mark.parametrize(
    ("capable", "device", "problem"),
    [
        (("cuda",), "cpu", "device=cpu: physics=pretended runs on cuda only; set device=cuda"),
        (("cpu",), "cuda:1", "device=cuda:1: physics=pretended runs on cpu only; set device=cpu"),
        (("cuda",), "auto", ""),
        (("cpu", "cuda"), "cuda:0", ""),
    ],
)
def test_a_device_the_engine_has_not_is_refused_by_name(pretended, capable, device, problem):
    pretended(capabilities=dataclasses.replace(MJWARP.capabilities, devices=capable))
    assert availability.device_problem("pretended", device) == problem


@pytest.mark.parametrize(
    ("needs", "scene", "message"),
    [
        ({"needs_usd": True}, {}, r"physics=pretended builds from USD files and the task names none \(SceneSpec.usd\)"),
        ({"floating_base": False}, {"floating": True}, "physics=pretended has no floating base"),
        ({"contacts": False}, {"ground": True}, "physics=pretended has no contacts"),
        ({"contacts": False}, {"max_contacts": 4}, "physics=pretended has no contacts"),
    ],
)
def test_a_scene_the_engine_cannot_build_is_refused_before_anything_is_imported(pretended, needs, scene, message):
    claims = {name: value for name, value in needs.items() if name != "needs_usd"}
    pretended(
        backend=("no.such.module", "Backend"),
        needs_usd="needs_usd" in needs,
        capabilities=dataclasses.replace(MJWARP.capabilities, **claims),
    )
    with pytest.raises(UnsupportedSceneError, match=message):
        make_backend("pretended", dataclasses.replace(SPEC, **scene), "cpu")


def test_another_interpreter_is_asked_for_what_it_has(tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    bare.chmod(0o755)
    assert other_interpreter(sys.executable, ["torch"]) == this_interpreter(["torch"])
    assert other_interpreter(str(bare), ["torch"]).versions == {"torch": None}
    with pytest.raises(subprocess.SubprocessError, match="is no Python"):
        other_interpreter("/bin/true", ["torch"])
    with pytest.raises(subprocess.SubprocessError) as refused:
        other_interpreter("/bin/false", ["torch"])
    assert str(refused.value) == "exit status 1: it is no Python interpreter, or one older than 3.11"


def test_an_interpreter_that_does_not_answer_is_not_waited_for_and_named_without_its_command(tmp_path, monkeypatch):
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(interpreter, "TIMEOUT_S", 1.0)
    with pytest.raises(subprocess.SubprocessError, match=r"^no answer within 1 s$"):
        other_interpreter(str(slow), ["torch"])


def test_no_engine_and_no_torch_is_imported_to_find_out():
    code = (
        "import sys; from benchmark_app.physics import availability; "
        "from benchmark_app.physics.catalogue import ENGINES; "
        "[availability.missing(name) for name in ENGINES]; "
        "print([name for name in ('torch', 'numpy', 'warp', 'newton', 'ovphysx', 'isaacsim') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("engine", sorted(name for name in ENGINES if availability.missing(name)))
def test_an_engine_that_is_not_here_is_refused_in_one_line_and_at_once(engine, tmp_path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "benchmark_app", f"physics={engine}"], cwd=tmp_path, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line == f"benchmark_app: error: physics={engine}: {availability.missing(engine)}"
    assert list(tmp_path.iterdir()) == []
    # Of the processor, so that a busy machine fails nothing; on a free one that is all the time it takes.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2
