"""What an engine prints: warnings that mean wrong physics are counted, and fail the run unless they are allowed."""

import re
import subprocess
import sys
import time

import pytest

from benchmark_app.journal import read_journal
from benchmark_app.journal.events import EngineWarned
from benchmark_app.launch.engine_output import CHUNK, LONGEST_LINE, EngineOutput
from benchmark_app.physics.availability import missing
from benchmark_app.physics.catalogue import ENGINES
from tests.conftest import ROOT

OVPHYSX = [
    pytest.mark.ovphysx,
    pytest.mark.skipif(bool(missing("ovphysx")), reason=f"physics=ovphysx {missing('ovphysx')}"),
]
NEFC = "nefc overflow - please increase njmax beyond 12"
BROADPHASE = "broadphase overflow - please increase nconmax beyond 4 or naconmax beyond 256"

# Name, and a line as the engine's own source makes it.
SAID = {
    "newton_mjwarp": [
        ("constraint_overflow", NEFC),
        ("constraint_overflow", "njmax_nnz overflow - please increase njmax_nnz beyond 40"),
        ("constraint_overflow", "nvmax overflow: world 3 needs 12 active DOFs but nvmax = 6 (behavior undefined)"),
        ("contact_overflow", BROADPHASE),
        ("contact_overflow", "narrowphase overflow - please increase nconmax beyond 4 or naconmax beyond 256"),
        ("contact_overflow", "CCD overflow - please increase naccdmax beyond 64"),
        (
            "contact_overflow",
            "height field collision overflow, number of collisions >= 50 - please adjust resolution: ",
        ),
        ("contact_overflow", "Warning: EPA horizon = 12 isn't large enough."),
        ("contact_overflow", "Number of Newton contacts (40) exceeded MJWarp limit (32). Increase nconmax."),
        ("contact_overflow", "Warning: Mesh-mesh shape pair buffer overflowed 12 > 8."),
        (
            "contact_overflow",
            "  [hydroelastic] broad phase overflow: 12 > 8. Increase buffer_fraction or buffer_mult_b",
        ),
        (
            "invalid_inertia",
            "/x/builder.py:9: NewtonWarning: Inertia validation corrected 2 bodies. Set validate_inertia_detailed=True",
        ),
        (
            "invalid_inertia",
            "/x/inertia.py:9: NewtonWarning: Negative mass -1.0 detected for body 'pole', setting to 0",
        ),
        (
            "invalid_inertia",
            "x.py:9: NewtonWarning: Inertia tensor for body 'pole' violates triangle inequality with principal moments",
        ),
    ],
    "newton_kamino": [
        ("contact_overflow", "Warning: Kamino per-world contact capacity exceeded. Increase the per-world contact cap"),
        ("contact_overflow", "Warning: Kamino model contact capacity exceeded. Increase the model contact capacity."),
        ("contact_overflow", "Warning: Contact buffer overflowed 12 > 8."),
        (
            "constraint_overflow",
            "[kamino fused CR] WARNING: constraint row 3 has more than 8 Jacobian blocks; the forw",
        ),
    ],
    "ovphysx": [
        (
            "contact_overflow",
            "[Error] [omni.physx] Contact buffer overflow detected, please increase its size in the s",
        ),
        (
            "contact_overflow",
            "[Error] [x] PhysX error: The application needs to increase PxGpuDynamicsMemoryConfig::totalAggregatePairs"
            "Capacity to 4096 , otherwise, the simulation will miss interactions",
        ),
        ("constraint_overflow", "... - ran out of buffer space for constraint prep. Either accept joints detaching"),
        (
            "invalid_inertia",
            "[Warning] [] The rigid body at /World/b has a possibly invalid inertia tensor of {1.0, 1.0, 1.0} and a ne",
        ),
    ],
}

HARMLESS = [
    "Module validate_and_correct_inertia_kernel_dad5ce26 f0aca1e load on device 'cpu' took 3.26 ms  (cached)",
    "RuntimeWarning: overflow encountered in exp",
    "To disable the print warning: m.opt.warn_overflow &= ~mjw.OverflowType.NEFC (or = 0 for all)",
    '          "nefc overflow - please increase njmax beyond %u\\n"',
    "ValueError: naconmax overflow (naconmax must be >= 12)",
    '    raise ValueError(f"njmax overflow (njmax must be >= {mjd.nefc})")',
    "INFO: contact buffer: no overflow, all contacts kept; inertia is valid",
    '    warnings.warn(f"Inertia matrix{body_id} is not symmetric, making it symmetric", NewtonWarning, stacklevel=2)',
    "UserWarning: integer overflow in contact id, inertia corrected",
    "[Warning] [omni.physx] GPU broadphase requires a CUDA context manager; falling back to ePABP.",
    "solver iterations limit reached - please increase iterations beyond 100",
    "pybullet: contact overflow, constraint overflow, invalid inertia",
]


def watch(tmp_path, engine="newton_mjwarp", allow=()):
    log = tmp_path / "worker.log"
    log.touch()
    return log, EngineOutput(log, ENGINES[engine].cfg(name=engine, allow=list(allow)))


def totals(events):
    counts = {}
    for event in events:
        counts[event.name] = counts.get(event.name, 0) + event.count
    return counts


@pytest.mark.parametrize(("engine", "name", "line"), [(e, n, text) for e, said in SAID.items() for n, text in said])
def test_what_an_engine_says_of_wrong_physics_is_recognised_by_name(tmp_path, engine, name, line):
    log, output = watch(tmp_path, engine)
    log.write_text(f"before\n{line}\nafter\n")
    (event,) = output.finish()
    assert (event.name, event.count, event.line) == (name, 1, line.strip()[:300])
    assert event.meaning == ENGINES[engine].warnings[name].meaning


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_similar_words_of_others_are_not_taken_for_the_engine(tmp_path, engine):
    log, output = watch(tmp_path, engine)
    log.write_text("\n".join(HARMLESS) + "\n")
    assert output.finish() == []


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_every_pattern_can_stand_in_one_expression_with_the_others(engine):
    for name, warning in ENGINES[engine].warnings.items():
        assert name.isidentifier()
        assert warning.pattern is None or re.compile(warning.pattern).groups == 0


def test_a_line_written_in_pieces_is_seen_once_and_only_when_it_is_whole(tmp_path):
    log, output = watch(tmp_path)
    with log.open("a") as file:
        for piece in (NEFC[:20], NEFC[20:], "\n"):
            assert output.read() == []
            file.write(piece)
            file.flush()
    (event,) = output.read()
    assert event.count == 1
    assert event.line == NEFC
    assert output.finish() == []


def test_the_first_line_is_told_at_once_and_the_rest_is_counted(tmp_path):
    log, output = watch(tmp_path, allow=["contact_overflow"])
    with log.open("a") as file:
        file.write(f"{BROADPHASE}\n" * 3 + f"{NEFC}\n")
        file.flush()
        told = output.read()
        assert {(event.name, event.count, event.allowed) for event in told} == {
            ("contact_overflow", 3, True),
            ("constraint_overflow", 1, False),
        }
        file.write(f"{BROADPHASE}\n" * 5)
        file.flush()
        assert output.read() == []  # known, and told again only now and then
    assert totals(output.finish()) == {"contact_overflow": 5}


def test_a_line_that_says_two_things_is_one_line(tmp_path):
    log, output = watch(tmp_path)
    log.write_text(f"{NEFC} {BROADPHASE}\n{BROADPHASE}\n")
    assert totals(output.finish()) == {"constraint_overflow": 1, "contact_overflow": 1}


def test_the_last_line_counts_without_its_newline(tmp_path):
    log, output = watch(tmp_path)
    log.write_text(NEFC)
    assert output.read() == []
    assert totals(output.finish()) == {"constraint_overflow": 1}


def test_a_flood_is_counted_exactly_and_each_look_at_it_is_short(tmp_path):
    log, output = watch(tmp_path)
    lines = 4 * CHUNK // len(NEFC)
    log.write_text(f"{NEFC}\n" * lines)
    first = output.read()
    assert totals(first)["constraint_overflow"] <= CHUNK // len(NEFC) + 1
    assert totals(first + output.finish()) == {"constraint_overflow": lines}


def test_a_log_without_newlines_is_not_kept_in_memory(tmp_path):
    log, output = watch(tmp_path)
    log.write_bytes(b"x" * (3 * CHUNK) + f"\n{NEFC}\n".encode())
    for _ in range(3):
        output.read()
        assert len(output._rest) <= LONGEST_LINE
    assert totals(output.finish()) == {"constraint_overflow": 1}


def test_a_warning_that_is_not_allowed_stops_the_worker_and_fails_the_run(app):
    # C keeps what it prints into a file until some KiB have come together, unless the supervisor sees to it.
    said = {"SYNTHETIC_SAYS": f"{NEFC}\n", "PYTHONUNBUFFERED": ""}
    process = app.synthetic("workflow=training", "agent.iterations=100000", fault="say@5", env=said)
    out, err = process.communicate(timeout=30)
    bundle = app.bundle("training")
    assert process.returncode == 1
    assert bundle.run.status == "crashed"
    assert bundle.extra["reason"] == (
        f"engine warning constraint_overflow: constraints were dropped for want of room ({NEFC}); to run all the same, "
        "set physics.allow=[constraint_overflow]"
    )
    assert bundle.extra["engine_warnings.constraint_overflow"] == 1
    assert bundle.checkpoint_path is not None  # it was asked to stop, not killed
    assert "physics.allow=[constraint_overflow]" in out
    assert NEFC in err
    app.assert_clean()


def test_a_worker_that_does_not_stop_for_it_is_killed_after_the_grace_period(app):
    said = {"SYNTHETIC_SAYS": f"{NEFC}\n"}
    begin = time.monotonic()
    process = app.synthetic(
        "workflow=training", "agent.iterations=9", "run.grace_s=0.5", fault="say@3,hang@4", env=said
    )
    process.communicate(timeout=30)
    assert time.monotonic() - begin < 15
    assert process.returncode == 1
    assert "constraint_overflow" in app.bundle("training").extra["reason"]
    app.assert_clean()


def test_one_in_the_last_breath_fails_a_run_whose_worker_had_finished(app):
    said = {"SYNTHETIC_SAYS": BROADPHASE}
    process = app.synthetic("workflow=training", "agent.iterations=5", fault="say@4", step_s=0, env=said)
    process.communicate(timeout=30)
    assert process.returncode == 1
    assert app.bundle("training").run.status == "crashed"
    assert app.bundle("training").extra["engine_warnings.contact_overflow"] == 1


def test_an_allowed_warning_is_counted_and_the_run_completes(app):
    said = {"SYNTHETIC_SAYS": f"{NEFC}\n{NEFC}\n{BROADPHASE}\n"}
    process = app.synthetic(
        "workflow=training",
        "agent.iterations=6",
        "physics.allow=[constraint_overflow,contact_overflow]",
        fault="say@2,say@4",
        env=said,
    )
    out, err = process.communicate(timeout=30)
    bundle = app.bundle("training")
    assert process.returncode == 0, out + err
    assert bundle.run.status == "completed"
    assert bundle.extra["engine_warnings.constraint_overflow"] == 4
    assert bundle.extra["engine_warnings.contact_overflow"] == 2
    assert "engine warning constraint_overflow: 4" in out
    assert err.count(NEFC) == 1


def test_what_fails_start_up_is_not_profiled(app):
    status = app.status("workflow=startup", fault="say@-1", env={"SYNTHETIC_SAYS": f"{NEFC}\n"})
    assert status == 1
    assert app.bundle("startup").run.status == "crashed"
    assert not (app.run_dir / "journal" / "startup.profile.worker.jsonl").exists()


def test_recover_says_of_it_what_the_supervisor_said(app):
    said = {"SYNTHETIC_SAYS": f"{NEFC}\n"}
    app.status("workflow=training", "agent.iterations=50", fault="say@2", env=said)
    before = app.bundle("training")
    (app.run_dir / "training.json").unlink()
    assert subprocess.run([sys.executable, "-m", "benchmark_app", "recover", str(app.run_dir)]).returncode == 0
    assert app.bundle("training") == before
    events, _ = read_journal(app.run_dir / "journal" / "training.supervisor.jsonl")
    assert sum(event.count for event in events if isinstance(event, EngineWarned)) == 1


def test_an_unknown_name_in_allow_is_refused(app):
    process = app.synthetic("physics.allow=[overflow]")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "physics.allow=['overflow']: overflow is no warning of newton_mjwarp; known: constraint_overflow" in err


@pytest.mark.engine
@pytest.mark.parametrize("engine", ["newton_mjwarp", pytest.param("ovphysx", marks=OVPHYSX)])
def test_a_real_engine_that_replaces_an_inertia_fails_the_run(app, engine):
    (app.folder / "thin.py").write_text((ROOT / "tests" / "doubles" / "thin_cartpole.py").read_text())
    thin = (f"physics={engine}", "task.module=thin", "workflow=runtime")
    small = (*thin, "num_envs=4", "runtime.steps=5", "device=cpu")
    where = {"PYTHONPATH": f"{ROOT}:{app.folder}"}
    code, out, _ = app.run(*small, env=where)
    assert code == 1, out
    assert app.bundle("runtime").extra["engine_warnings.invalid_inertia"] >= 1
    assert "physics.allow=[invalid_inertia]" in app.bundle("runtime").extra["reason"]
    app.run_dir = app.folder / "allowed"
    code, out, err = app.run(*small, "physics.allow=[invalid_inertia]", env=where)
    assert code == 0, out + err
    assert app.bundle("runtime").extra["engine_warnings.invalid_inertia"] >= 1
    assert app.manifest()["status"] == "completed"


@pytest.mark.engine
def test_what_a_real_engine_counts_is_reported_when_it_fails_the_run_and_when_it_is_allowed(app):
    (app.folder / "cramped.py").write_text((ROOT / "tests" / "doubles" / "cramped_box.py").read_text())
    (app.folder / "mine" / "task").mkdir(parents=True)
    (app.folder / "mine" / "task" / "cramped.yaml").write_text("name: cramped\nmodule: cramped\n")
    mine = ("--config-dir", str(app.folder / "mine"), "task=cramped")
    small = (*mine, "workflow=runtime", "num_envs=4", "runtime.steps=20", "device=cpu")
    where = {"PYTHONPATH": f"{ROOT}:{app.folder}"}
    code, out, _ = app.run(*small, env=where)
    assert code == 1, out
    assert "max_constraints=4" in app.bundle("runtime").extra["reason"]
    assert app.bundle("runtime").extra["engine_warnings.constraint_overflow"] >= 1
    app.run_dir = app.folder / "allowed"
    code, out, err = app.run(*small, "physics.allow=[constraint_overflow]", env=where)
    assert code == 0, out + err
    assert app.bundle("runtime").extra["engine_warnings.constraint_overflow"] >= 1
    assert "engine warning constraint_overflow: " in out
