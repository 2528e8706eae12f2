"""`python -m benchmark_app compare` on folders of bundles."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from benchmark_app.cli import main
from tests.analysis.compare_cases import FAST, SLOW, training, write
from tests.analysis.test_compare import history, runs


@pytest.fixture
def folders(tmp_path):
    """Runs of a version, of one that is as fast, and of one that is slower."""
    return (
        write(tmp_path / "base", runs(1000, commit=FAST)),
        write(tmp_path / "same", runs(1000, minute=60)),
        write(tmp_path / "slow", runs(800, minute=120, commit=SLOW)),
    )


def test_the_exit_status_says_fine_regressed_or_not_comparable(folders, tmp_path, capsys):
    base, same, slow = folders
    other = write(tmp_path / "other", runs(1000, minute=200, num_envs=128))
    assert main(["compare", base, same]) == 0
    assert main(["compare", base, slow]) == 1
    assert main(["compare", slow, base]) == 0
    assert main(["compare", base, other]) == 2
    assert "num_envs: 64 against 128" in capsys.readouterr().out
    assert main(["compare", base, "--allow", "num_envs", other, "--metric", "total_fps"]) == 0


def test_a_regression_comes_with_the_lines_for_git_bisect(folders, capsys):
    base, _, slow = folders
    main(["compare", base, slow])
    out = capsys.readouterr().out
    assert f"git bisect start {SLOW} {FAST}" in out
    assert "git bisect run sh -c" in out


def test_bisect_turns_what_cannot_be_said_into_a_skip(folders, tmp_path, capsys):
    base, same, slow = folders
    assert main(["compare", "--bisect", base, same, "--metric", "total_fps"]) == 0
    assert main(["compare", "--bisect", "--metric", "total_fps", "ram_gb", "--", base, slow]) == 1
    one = write(tmp_path / "one", runs(1000, 1, minute=300))
    assert main(["compare", "--bisect", base, one]) == 125
    assert main(["compare", "--bisect", base, str(tmp_path / "none")]) == 125
    assert main(["compare", "--bisect", base]) == 125


def test_globs_and_files_name_sides_too(folders):
    base, _, slow = folders
    assert main(["compare", f"{base}/*/runtime.json", f"{slow}/**/*.json"]) == 1


def test_every_format_goes_to_a_file(folders, tmp_path):
    base, _, slow = folders
    for form, name in {"terminal": "c.txt", "markdown": "c.md", "json": "c.json", "junit": "c.xml"}.items():
        for _ in range(2):  # what was written is replaced
            assert main(["compare", base, slow, "--format", form, "-o", str(tmp_path / name)]) == 1
    assert json.loads((tmp_path / "c.json").read_text())["status"] == 1
    assert ET.parse(tmp_path / "c.xml").getroot().get("failures") != "0"
    assert "**regressed**" in (tmp_path / "c.md").read_text()
    assert "- regressed" in (tmp_path / "c.txt").read_text()


def test_a_dash_as_the_output_prints(folders, tmp_path, capsys, monkeypatch):
    base, same, _ = folders
    monkeypatch.chdir(tmp_path)
    assert main(["compare", base, same, "--format", "json", "-o", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == 0
    assert not (tmp_path / "-").exists()


def test_an_output_never_replaces_a_result_or_a_json_file_of_something_else(folders, tmp_path, capsys):
    base, same, _ = folders
    (tmp_path / "conditions.json").write_text('{"warnings": []}')
    bundle = next((tmp_path / "base").glob("*/runtime.json"))
    (tmp_path / "bundle.md").write_bytes(bundle.read_bytes())
    for form, target in (
        ("json", bundle),
        ("json", tmp_path / "conditions.json"),
        ("markdown", tmp_path / "bundle.md"),
    ):
        before = target.read_bytes()
        assert main(["compare", base, same, "--format", form, "-o", str(target)]) == 2
        assert target.read_bytes() == before
        assert "another name" in capsys.readouterr().err


def test_an_output_that_cannot_be_written_leaves_the_older_one(folders, tmp_path, capsys, monkeypatch):
    base, same, _ = folders
    target = tmp_path / "out.json"
    assert main(["compare", base, same, "--format", "json", "-o", str(target)]) == 0
    before = target.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert main(["compare", base, same, "--format", "json", "-o", str(target)]) == 2
    assert "No space left" in capsys.readouterr().err
    assert target.read_bytes() == before
    assert not list(tmp_path.glob(".*"))


def test_bisect_finds_the_commit_though_noise_hides_the_minimum_effect(folders, tmp_path, capsys):
    base, _, _ = folders
    bad = write(tmp_path / "bad", runs(40, 3, minute=300))
    good = write(tmp_path / "good", [one for i, rate in enumerate((700, 1000, 1500)) for one in runs(rate, 1, 400 + i)])
    words = ["--metric", "total_fps", "--", base]
    assert main(["compare", "--bisect", *words, good]) == 125
    assert main(["compare", "--bisect", "--bad", bad, *words, good]) == 0
    assert main(["compare", "--bisect", "--bad", good, *words, bad]) == 125
    capsys.readouterr()
    assert main(["compare", "--bisect", "--bad", bad, *words, write(tmp_path / "b", runs(45, 3, 500))]) == 1
    assert "Total rate: bad" in capsys.readouterr().out


def test_libraries_inside_one_folder(tmp_path, capsys):
    every = runs(1000, make=training, framework="rsl_rl") + runs(700, make=training, framework="sb3", minute=20)
    folder = write(tmp_path / "all", every)
    assert main(["compare", "--by", "framework", folder]) == 1
    assert "sb3 (5 runs) against rsl_rl (5 runs)" in capsys.readouterr().out
    assert main(["compare", "--by", "framework", "--reference", "sb3", folder]) == 0


def test_a_rolling_history_is_a_baseline(tmp_path, capsys):
    store = str(tmp_path / "history.jsonl")
    stored = write(tmp_path / "stored", history([1000.0, 1004.0, 997.0, 1002.0, 999.0] * 2))
    assert main(["history", "add", "--store", store, stored]) == 0
    same = write(tmp_path / "same", runs(1000, 3, minute=900))
    slow = write(tmp_path / "slow", runs(700, 3, minute=950, commit=SLOW))
    capsys.readouterr()
    assert main(["compare", "--baseline", "last:10", "--store", store, same, "--format", "json"]) == 0
    verdicts = {one["metric"]: one for one in json.loads(capsys.readouterr().out)["groups"][0]["metrics"]}
    assert (verdicts["total_fps"]["verdict"], verdicts["total_fps"]["n_base"]) == ("unchanged", 10)
    assert "MAD" in verdicts["total_fps"]["test"]
    assert main(["compare", "--baseline", "last:10", "--store", store, slow]) == 1
    assert main(["compare", "--baseline", "last:3", "--store", store, slow]) == 0
    assert "3 points of history, at least 5 are needed" in capsys.readouterr().out


def test_a_users_thresholds_decide(folders, tmp_path):
    base, _, slow = folders
    rules = tmp_path / "rules.toml"
    rules.write_text('[min_effect]\n"*" = 0.5\n')
    assert main(["compare", base, slow, "--thresholds", str(rules)]) == 0


def test_the_rules_in_force_are_printed_as_a_file_to_edit(tmp_path, capsys):
    assert main(["compare", "--show-thresholds"]) == 0
    text = capsys.readouterr().out
    (tmp_path / "rules.toml").write_text(text)
    assert main(["compare", "--show-thresholds", "--thresholds", str(tmp_path / "rules.toml")]) == 0
    assert capsys.readouterr().out == text


def test_broken_files_are_listed_and_not_fatal(folders, tmp_path, capsys):
    base, same, _ = folders
    (tmp_path / "base" / "runtime.json").write_text('{"schema_version": "1.4", "run":')
    assert main(["compare", base, same]) == 0
    assert "left out" in capsys.readouterr().out


REFUSED = [
    ([], "0 paths given, expected BASE and NEW"),
    (["{base}"], "1 paths given, expected BASE and NEW"),
    (["{base}", "{base}", "{base}"], "3 paths given, expected BASE and NEW"),
    (["{base}", "{base}"], "share 5 runs"),
    (["{base}", "nowhere"], "nowhere"),
    (["{base}", "{same}", "--allow", "color"], "color: no such field; known: task, framework"),
    (["{base}", "{same}", "--allow", "workflow"], "workflow: runs that differ in it are never compared"),
    (["--by", "seed", "{base}"], "seed: no such field"),
    (["{base}", "{same}", "--reference", "x"], "--reference belongs to --by FIELD"),
    (["{base}", "{same}", "--metric", "fps"], "--metric fps: no such metric to judge; known: total_fps"),
    (
        ["{base}", "{same}", "--metric", "cpu_util_pct"],
        "--metric cpu_util_pct: no such metric to judge; it has no better",
    ),
    (["{base}", "{same}", "--format", "html"], "invalid choice: 'html'"),
    (["{base}", "{same}", "--thresholds", "none.toml"], "--thresholds none.toml: No such file"),
    (["{base}", "{same}", "-o", "no/folder/out.txt"], "-o no/folder/out.txt: No such file"),
    (["{base}", "{same}", "-o", "out.html"], "-o out.html: expected a name that ends in .txt"),
    (["{base}", "{same}", "--bad", "{same}"], "--bad PATH belongs to --bisect"),
    (["{base}", "--baseline", "last:20"], "--baseline last:N and --store FILE belong together"),
    (["{base}", "--baseline", "20", "--store", "x"], "--baseline 20: expected last:N"),
    (["{base}", "--baseline", "last:20", "--store", "none.jsonl"], "none.jsonl"),
    (["{base}", "--by", "framework", "--baseline", "last:2", "--store", "x"], "--by and --baseline: give one"),
    (["{base}", "{same}", "--frmat", "json"], "unrecognized arguments: --frmat"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_bad_input_is_refused_in_one_line(folders, arguments, message, capsys):
    base, same, _ = folders
    assert main(["compare", *(word.format(base=base, same=same) for word in arguments)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_help_is_there_without_any_heavy_library():
    script = (
        "import sys; from benchmark_app.cli import main\n"
        "try: main(['compare', '--help'])\nexcept SystemExit: pass\n"
        "print([name for name in ('polars', 'scipy', 'numpy', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "exit status" in done.stdout
    assert done.stdout.endswith("[]\n")
