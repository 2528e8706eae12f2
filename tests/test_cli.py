"""The command line: what is refused, in which words, and that reading it costs nothing."""

import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from benchmark_app import config
from benchmark_app.cli import main
from benchmark_app.frameworks.agent import PPOAgent
from benchmark_app.installation import installation_problems
from benchmark_app.settings import GROUPS, Settings, task_cfg_class
from tests.conftest import ROOT, SYNTHETIC

REFUSED = [
    (["bogus=1"], r"bogus=1: no such setting"),
    (["+bogus=1"], r"bogus=1: no such setting"),
    (["agent.gama=0.5"], r"agent.gama=0.5: no such setting; did you mean agent.gamma"),
    (["+agent.foo=1"], r"agent.foo=1: no such setting"),
    (["+hydra.foo=1"], r"hydra.foo=1: no such setting"),
    (["num_envs=abc"], r"num_envs=abc: must be a whole number"),
    (["num_envs=1.5"], r"num_envs=1.5: must be a whole number"),
    (["num_envs=null"], r"num_envs=null: must be a whole number"),
    (["num_envs=0"], r"num_envs=0: must be at least 1"),
    (["agent.gamma=x"], r"agent.gamma=x: must be a number"),
    (["agent.gamma=1.5"], r"agent.gamma=1.5: must be in \(0, 1\]"),
    (["agent.learning_rate=inf"], r"agent.learning_rate=inf: must be a finite number"),
    (["agent.learning_rate=nan"], r"agent.learning_rate=nan: must be a finite number"),
    (["agent.hidden_layers=[a]"], r"agent.hidden_layers=\['a'\]: must be a list of whole numbers"),
    (["agent.minibatches=7"], r"agent.minibatches=7: must divide num_envs x rollout = 1024"),
    (["learning.series=maybe"], r"learning.series=maybe: must be true or false"),
    (["seed=1,2"], r"seed=1,2: several values are a sweep; add -m"),
    (["~seed"], r"seed: has no value; set seed=VALUE"),
    (["x=["], r"x=\[: cannot be read; write KEY=VALUE"),
    (["framework=foo"], r"framework=foo: not one of rl_games, rsl_rl, sb3, skrl"),
    (["framework.name=skrl"], r"framework.name=skrl: is set by the choice framework=rsl_rl"),
    (["physics=mujoco"], r"physics=mujoco: not one of newton_kamino, newton_mjwarp, ovphysx, physx"),
    (["physics=physx", "device=cpu"], r"device=cpu: physics=physx runs on cuda only; set device=cuda"),
    (["physics.allow=[overflow]"], r"physics.allow=\['overflow'\]: overflow is no warning of newton_mjwarp; known: "),
    (
        ["physics=[newton_mjwarp]"],
        r"physics=\[newton_mjwarp\]: is a group; choose one of newton_kamino, newton_mjwarp, ",
    ),
    (["physics=null"], r"physics=null: is a group; choose one of newton_kamino, newton_mjwarp, ovphysx, physx$"),
    (["workflow=runtime", "physics=3"], r"physics=3: is a group; choose one of newton_kamino, "),
    (["task=[cartpole]"], r"task=\[cartpole\]: is a group; choose one of .*cartpole"),
    (["reference_physics=null"], r"reference_physics=null: is a group; choose one of .*, or leave it out$"),
    (
        ["physics=newton_kamino", "physics.integrator=euler"],
        r"physics.integrator=euler: no such setting of newton_kamino; known: physics.allow, physics.dynamics_solver, ",
    ),
    (["+physics.tolerance=1"], r"physics.tolerance=1: no such setting of newton_mjwarp; known: physics.allow, "),
    (
        ["reference_physics=newton_mjwarp", "reference_physics.iteration=3"],
        r"reference_physics.iteration=3: no such setting of newton_mjwarp; did you mean reference_physics.iterations",
    ),
    (
        ["reference_physics=newton_mjwarp", "reference_physics.dynamics_solver=lox"],
        r"dynamics_solver=lox: no such setting of newton_mjwarp; known: reference_physics.allow, reference_",
    ),
    (
        ["reference_physics.cone=elliptic", "physics=newton_kamino"],
        r"reference_physics.cone=elliptic: no reference engine is chosen; set reference_physics=ENGINE, one of newton_",
    ),
    (["equivalence.foo=1"], r"equivalence.foo=1: no such setting; known: equivalence.amplitude, "),
    (["agnt.gama=1"], r"agnt.gama=1: no such setting; did you mean agent.gamma"),
    (["gamma=0.9"], r"gamma=0.9: no such setting; did you mean agent.gamma\?$"),
    (["agent.num_envs=3"], r"agent.num_envs=3: no such setting; did you mean num_envs\?$"),
    (["rendering=openusd"], r"rendering=openusd: not one of isaacsim_rtx, newton, none, ovrtx"),
    (["rendering.name=openusd"], r"rendering.name=openusd: is set by the choice rendering=none"),
    (["rendering=ovrtx", "device=cpu"], r"device=cpu: rendering=ovrtx draws on cuda only; set device=cuda"),
    (["rendering=isaacsim_rtx"], r"rendering=isaacsim_rtx: draws physics=physx only; choose that, or another"),
    (["task=nope"], r"task=nope: not one of .*cartpole"),
    (["experiment=nope"], r"experiment=nope: not one of none"),
    (
        ["framework=rsl_rl", "agent=sac"],
        r"agent.algorithm=sac: rsl_rl has none \(ppo\); choose another framework or agent",
    ),
    (["agent.algorithm=sac"], r"agent.algorithm=sac: follows from the choice of an agent; set agent=CHOICE"),
    (["framework=sb3", "agent.normalize_values=true"], r"agent.normalize_values=True: sb3 cannot do it: SB3 has no"),
    (["agent.precision=mixed", "device=cpu"], r"agent.precision=mixed: the libraries do it on CUDA only"),
    (["framework.native.algorithm.gama=0.5"], r"framework.native.algorithm.gama=0.5: rsl_rl has no such setting; did"),
    (["framework=rl_games", "framework.native.config.gama=0.5"], r"rl_games has no such setting; did you mean config"),
    (["framework.native.config.horizon_length=16"], r"framework.native.config.horizon_length=16: rsl_rl has no such"),
    (["framework.native.num_steps_per_env=8"], r"is decided by the run; set agent.rollout instead"),
    (["framework.native.algorithm.gamma=much"], r"framework.native.algorithm.gamma=much: must be a number"),
    (["framework.native=3"], r"framework.native=3: must be settings, such as"),
    (["framework.native={gamma: 0.9}"], r"framework.native.gamma=0.9: rsl_rl has no such setting"),
    (
        ["framework=sb3", "agent=sac", "agent.learning_starts=5000"],
        r"must be below the 2400 control steps",
    ),
    (["training.early_stop_success=2"], r"training.early_stop_success=2.0: must be in \(0, 1\], or null"),
    (["training.early_stop_window=0"], r"training.early_stop_window=0: must be at least 1"),
    (["numerics.matmul_precision=low"], r"numerics.matmul_precision=low: must be one of highest, high, medium"),
    (["agent=null"], r"agent=null: is a group; choose one of ppo, sac$"),
    (["run=3"], r"run=3: is a group; set one of its settings: run.SETTING=VALUE"),
    (["device=tpu"], r"device=tpu: must be auto, cpu, cuda or cuda:N"),
    (["task.physics_dt=-1"], r"task.physics_dt=-1.0: must be greater than 0"),
    (["task.module=json"], r"task.module=json: cannot be used as a task"),
    (["workflow=play"], r"checkpoint=null: workflow=play plays an earlier checkpoint; set checkpoint=PATH"),
    (["workflow=play", "checkpoint=/no/such"], r"checkpoint=/no/such: no such file"),
    (["checkpoint=/no/such"], r"checkpoint=/no/such: no such file; set checkpoint=PATH to one a training saved"),
    (["workflow=training", "checkpoint=/dev/null"], r"checkpoint=/dev/null: is no regular file"),
    (["workflow=runtime", "checkpoint=/no/such"], r"checkpoint=/no/such: workflow=runtime takes none; set workflow="),
    (["workflow.steps=[play,training]"], r"workflow.steps=.*: must be some of"),
    (["training.warmup_iterations=later"], r"training.warmup_iterations=later: must be a whole number from 0 to"),
    (["training.warmup_iterations=150"], r"training.warmup_iterations=150: must be below agent.iterations=150"),
    (["worker.python=/no/such"], r"worker.python=/no/such: no such program"),
    (["run.root=/proc/x"], r"hydra.run.dir=/proc/x/.*: cannot be written"),
    (["run.root="], r"run.root=: must name a folder"),
    (["hydra.run.dir="], r"hydra.run.dir=: must name a folder"),
    (["run.root=null"], r"run.root=null: must be a text"),
    (["--config-dir", "/no/such"], r"--config-dir /no/such: no such folder"),
    (["num_envs=1000000000"], r"num_envs=1000000000: must be at most"),
    (["threads=1000000"], r"threads=1000000: must be at most"),
    (["agent.rollout=1", "num_envs=1", "agent.minibatches=1"], r"agent.minibatches=1: leaves fewer than 2"),
    (["tuned=x"], r"tuned=x: follows from task and agent|tuned=x: not one of"),
    (["tuned_library=x"], r"tuned_library=x: (follows from task, agent and framework|not one of|no such setting)"),
    (["~workflow"], r"workflow: has no value; set workflow=CHOICE"),
    (["a.b.c=1"], r"a.b.c=1: no such setting; known: admission, agent, "),
    ([""], r"cannot be read; write KEY=VALUE"),
    (["seed=1", "validate"], r"validate: a verb comes first"),
    (["--package", "x"], r"--package"),
    (["--bogus"], r"unrecognized arguments: --bogus"),
    (["nonsense"], r"nonsense: no such verb; known: validate, recover"),
]


def cli(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "benchmark_app", *arguments], cwd=cwd, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_work_is_refused_in_one_line_before_anything_is_written(
    arguments, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    status = main([*arguments, f"worker.program={SYNTHETIC}"])
    out, err = capsys.readouterr()
    assert status == 2, err
    assert len(err.splitlines()) == 1
    assert re.search(message, err), err
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"# @package _global_\nnum_envs: [", r"experiment/mine.yaml, line \d+: is not valid YAML"),
        (b"# @package _global_\nnum_envs: 8\nnum_envs: 9\n", "num_envs"),
        (b"# @package _global_\n# gr\xfc\xdfe\nnum_envs: 8\n", "not valid YAML in UTF-8"),
        (b"num_envs: 8\n", "experiment: the first line of its file must be '# @package _global_'"),
        (b"# @package _global_\nbogus: 8\n", "bogus=8: no such setting"),
        (b"# @package _global_\nagent:\n  gamma: high\n", "agent.gamma=high: must be a number"),
    ],
)
def test_a_preset_that_cannot_work_is_refused_in_one_line(content, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    preset = tmp_path / "presets" / "experiment" / "mine.yaml"
    preset.parent.mkdir(parents=True)
    preset.write_bytes(content)
    status = main(["--config-dir", "presets", "experiment=mine", f"worker.program={SYNTHETIC}", "workflow=training"])
    _, err = capsys.readouterr()
    assert status == 2, err
    assert len(err.splitlines()) == 1
    assert re.search(message, err), err


def test_a_setting_that_one_engine_of_a_sweep_has_not_is_refused_with_that_engine(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    swept = ["-m", "physics=newton_mjwarp,newton_kamino", "physics.integrator=euler", "workflow=startup"]
    assert main([*swept, "startup.top_n=0", f"worker.program={SYNTHETIC}", "run.report=false"]) == 1
    out, _ = capsys.readouterr()
    assert "physics.integrator=euler: no such setting of newton_kamino; known: " in out
    assert "1 completed, 1 refused" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "num_envs=0,-1"], r"num_envs=0: must be at least 1 \(and 1 other reasons\)$"),
        (["-m", "bogus=1,2"], r"bogus=1: no such setting"),
        (["-m", "seed=1,2", "hydra/sweeper=optuna"], r"hydra/sweeper=optuna: |Could not find"),
        (["-m", "seed=1,2", "hydra.sweep.subdir=x"], r"hydra.sweep.subdir=x: the folders of a sweep are named by"),
        (["-m", "seed=1,2", "hydra.run.dir=x"], r"hydra.run.dir=x: names the folder of a single run; set hydra.sweep."),
        (["-m", "seed=1,2", "hydra.sweep.dir="], r"hydra.sweep.dir=: must name a folder"),
        (["-m", "seed=interval(0,1)"], r"seed=interval\(0,1\): has no end of values"),
        (["sweep.resume=true"], r"sweep.resume=true: which sweep\? name its folder: hydra.sweep.dir=FOLDER"),
        (["sweep.allow_failures=-1"], r"sweep.allow_failures=-1: must be at least 0"),
        (["suite=nope"], r"suite=nope: not one of classic, engines, "),
        (["launcher=joblib"], r"launcher=joblib: starts the runs of a sweep; add -m"),
        (["-m", "agent=sac", "framework=rsl_rl", "seed=1,2"], r"agent.algorithm=sac: rsl_rl has none"),
    ],
)
def test_a_sweep_that_cannot_work_at_all_is_refused_in_one_line_and_leaves_nothing(
    arguments, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    status = main([*arguments, f"worker.program={SYNTHETIC}"])
    out, err = capsys.readouterr()
    assert (status, out, len(err.splitlines())) == (2, "", 1), err
    assert re.search(message, err), err
    assert list(tmp_path.iterdir()) == []


def test_the_exit_status_of_a_refusal_reaches_the_shell(tmp_path):
    done = cli("num_envs=0", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "benchmark_app: error: num_envs=0: must be at least 1\n"


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch):
    import importlib.metadata

    checked = settings()

    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    problems = installation_problems(checked)
    assert "framework=rsl_rl: needs the package rsl-rl-lib; type: pip install rsl-rl-lib" in problems


def settings(*overrides):
    from hydra import compose, initialize_config_dir

    from benchmark_app.places import conf_dir

    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        composed = compose("config", overrides=list(overrides))
    return config.check(composed, [])


def test_settings_survive_the_way_to_the_worker():
    before = settings("task.max_pole_angle=null", "agent.hidden_layers=[8,8]", "num_envs=4")
    assert Settings.from_plain(before.to_plain()) == before
    assert before.task.max_pole_angle is None


def test_the_shared_description_of_cartpole_is_the_documented_one():
    agent = settings().agent
    assert (agent.rollout, agent.epochs, agent.minibatches, agent.iterations) == (16, 5, 4, 150)
    assert (agent.learning_rate, agent.schedule, agent.desired_kl) == (1e-3, "adaptive", 0.01)
    assert (agent.gamma, agent.lam, agent.clip, agent.entropy_coef) == (0.99, 0.95, 0.2, 0.005)
    assert (agent.value_loss_coef, agent.max_grad_norm) == (1.0, 1.0)
    assert (agent.hidden_layers, agent.activation, agent.timeout_bootstrap) == ([32, 32], "elu", "exact")


def test_the_agent_file_and_its_dataclass_agree():
    assert settings().agent == PPOAgent()


def test_every_setting_in_every_file_is_explained():
    """Each key has a comment above it, its own or that of the keys it stands with."""
    for path in sorted((ROOT / "conf").rglob("*.yaml")):
        if {"hydra", "tuned", "tuned_library"} & set(path.parts):
            continue
        explained = False
        for line in path.read_text().splitlines():
            if line.strip().startswith("#"):
                explained = True
            elif not line.strip():
                explained = False
            elif line.startswith("hydra:"):
                break
            elif re.match(r"\s*[a-z_]+:( |$)", line) and not line.rstrip().endswith(":"):
                assert explained, f"{path.name}: {line.strip()} has no comment"


def test_every_file_has_exactly_the_settings_of_its_schema():
    import dataclasses

    for group, kind in {**GROUPS, "task": None}.items():
        for path in (ROOT / "conf" / group).glob("*.yaml"):
            data = yaml.safe_load(path.read_text())
            schema = kind or task_cfg_class(data["module"])
            assert set(data) == {field.name for field in dataclasses.fields(schema)}, path


HEAVY = ("torch", "warp", "newton", "mujoco", "rsl_rl", "skrl", "stable_baselines3", "rl_games", "gymnasium", "numpy")


def imported_by(code, cwd):
    script = f"import sys\n{code}\nprint('LOADED', *[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True, timeout=60)
    return done.stdout.rpartition("LOADED")[2].split(), done


@pytest.mark.parametrize(
    "code",
    [
        "from benchmark_app.cli import main\nmain(['--help'])",
        "from benchmark_app.cli import main\nmain(['validate', '.'])",
        "import benchmark_app.launch.application, benchmark_app.launch.recover",
        "import benchmark_app.bundle.build, benchmark_app.frameworks.registry, benchmark_app.physics",
        "import benchmark_app.workflows.session",
    ],
)
def test_nothing_heavy_is_imported_outside_a_worker(code, tmp_path):
    loaded, done = imported_by(code, tmp_path)
    assert loaded == [], done.stderr


def test_help_is_a_page_for_a_person_and_quick(tmp_path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = cli("--help", cwd=tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0
    for text in ("usage:", "Examples", "validate PATH", "framework: rl_games, rsl_rl, sb3, skrl", "Exit status"):
        assert text in done.stdout
    # Processor time, because a wall clock would measure what else the machine is doing.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.5
    assert list(Path(tmp_path).iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_result_that_could_not_be_printed_is_no_success(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "benchmark_app", "compare", "--show-thresholds"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert "compare: the output could not be written (No space left on device)" in done.stderr
