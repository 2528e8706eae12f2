"""The page and the Markdown, and what stands in the report beside bundles: equivalence, files, media."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmark_app.analysis.report.page import embed, render_page
from benchmark_app.analysis.report.payload import link
from benchmark_app.analysis.report.wording import LEADS
from benchmark_app.bundle.equivalence import build_equivalence
from benchmark_app.cli import main
from benchmark_app.journal.events import Comparison, Finished, RunPlanned
from tests.analysis import report_cases as cases
from tests.analysis.test_report import payload_of, titles

# ---------------------------------------------------------------- what is no bundle


def test_a_run_that_has_not_ended_is_counted_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = cases.write(tmp_path / "runs", "training", 1)
    manifest = {"status": "running", "planned": ["training", "play"], "workflows": {}, "started_utc": "now"}
    (path.parent / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    payload = payload_of(tmp_path / "runs")
    assert payload["facts"][-1] == "1 more run not ended, or killed"
    (entry,) = payload["broken"]
    assert entry["path"] == str(path.parent)
    assert "there is no play.json yet" in entry["reason"]
    path.unlink()
    assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "a.html")]) == 2
    assert "training.json and no play.json" in capsys.readouterr().err
    manifest["status"] = "completed"
    (path.parent / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    cases.write(tmp_path / "runs", "training", 2)
    assert payload_of(tmp_path / "runs")["broken"] == []


def equivalence(folder: Path, **changes: Any) -> Path:
    """The result of an equivalence run, built from the events of its journal."""
    events = [
        RunPlanned(
            t=0.0, run_id="e", workflow="equivalence", framework=None, physics="newton_kamino", rendering="none",
            task="Cartpole-Direct-v0", seed=1, num_envs=4, max_iterations=None, presets=[],
            start_time_utc="2026-11-02T08:00:00+00:00", reference_physics="newton_mjwarp",
        ),
        Comparison(
            t=1.0,
            values={
                "verdict": "step",
                "joints": [
                    {"name": "slider", "unit": "m", "tolerance": 0.01, "horizon_s": 1.5},
                    {"name": "pole", "unit": "rad", "tolerance": 0.01, "horizon_s": None},
                ],
            },
        ),
        Finished(t=2.0, outcome="budget"),
    ]  # fmt: skip
    content = build_equivalence(events)
    assert content is not None
    path = folder / "equivalence.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content | changes), encoding="utf-8")
    return path


def test_equivalence_runs_are_listed_with_verdict_and_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = equivalence(tmp_path / "eq")
    path.with_name("equivalence.svg").write_text("<svg/>", encoding="utf-8")
    (told,) = payload_of(tmp_path)["equivalences"]
    assert (told["reference"], told["physics"], told["verdict"]) == ("newton_mjwarp", "newton_kamino", "step")
    assert "shrinks with it" in told["meaning"]
    assert told["joints"] == ["slider: within 0.01 m until 1.50 s", "pole: within 0.01 rad throughout"]
    assert (told["href"], told["plot"]) == ("./eq/equivalence.json", "./eq/equivalence.svg")
    assert main(["report", str(path), "-o", str(tmp_path / "a.html")]) == 0
    assert "0 runs, 1 equivalence result" in capsys.readouterr().out
    assert main(["report", str(path), "--markdown"]) == 0
    assert "step: apart by the time step only" in capsys.readouterr().out


@pytest.mark.parametrize("comparison", [None, [], {"verdict": 7, "joints": [3, {}]}, {"verdict": "new", "joints": {}}])
def test_a_damaged_equivalence_result_is_told_as_it_is(tmp_path: Path, comparison: object) -> None:
    equivalence(tmp_path, comparison=comparison, status="crashed", reason="no space", task=None)
    (told,) = payload_of(tmp_path)["equivalences"]
    assert told["meaning"] == "not compared: crashed no space"
    assert told["plot"] is None
    render_page(payload_of(tmp_path))


def test_conditions_beside_a_bundle_come_as_they_were_written(tmp_path: Path) -> None:
    path = cases.write(tmp_path, "runtime", 1)
    busy = "2 of 2 cores were 60 % busy before the run: timings will be low and noisy"
    content = {"warnings": [busy, {"rule": "governor", "message": "the governor is powersave"}, 7]}
    (path.parent / "conditions.json").write_text(json.dumps(content), encoding="utf-8")
    found = titles(payload_of(tmp_path))
    assert busy in found
    assert "the governor is powersave" in found


def test_conditions_of_several_runs_that_differ_in_numbers_only_are_one_warning(tmp_path: Path) -> None:
    for index, cores in enumerate((1.7, 1.25, 1.7)):
        path = cases.write(tmp_path / str(index), "runtime", index)
        text = f"the GPU H200 and {cores} of 2 cores were busy"
        (path.parent / "conditions.json").write_text(json.dumps({"warnings": {"runtime": [text]}}), encoding="utf-8")
    notices = [notice for notice in payload_of(tmp_path)["notices"] if "busy" in notice["title"]]
    assert [notice["title"] for notice in notices] == ["the GPU H200 and 1.25 to 1.7 of 2 cores were busy"]
    assert len(notices[0]["runs"]) == 3
    hostile = {"warnings": ["# of 2 cores", f"{'9' * 400} of 2 cores", "1 of 2 cores", "1.5.2 of 2 cores"]}
    path = cases.write(tmp_path / "3", "runtime", 3)
    (path.parent / "conditions.json").write_text(json.dumps(hostile), encoding="utf-8")
    assert "# of 2 cores" in titles(payload_of(tmp_path))


def test_several_machines_and_commits_are_warnings(tmp_path: Path) -> None:
    for index in range(2):
        path = cases.write(tmp_path, "runtime", index)
        bundle = json.loads(path.read_text(encoding="utf-8"))
        bundle["hardware"]["hostname"] = f"host{index}"
        bundle["versions"]["git_commit"] = f"{index}" * 40
        path.write_text(json.dumps(bundle), encoding="utf-8")
    found = titles(payload_of(tmp_path))
    assert any(title.startswith("Results of 2 machines: host0") for title in found)
    assert "Results of 2 commits: 0000000000, 1111111111" in found


def test_too_few_seeds_are_a_warning(tmp_path: Path) -> None:
    cases.write(tmp_path, "training", 1)
    assert "Fewer than 3 seeds in 1 of 1 training group" in titles(payload_of(tmp_path))


# ---------------------------------------------------------------- files beside a bundle


def test_links_are_relative_to_the_report_and_cannot_be_anything_else(tmp_path: Path) -> None:
    assert link(tmp_path / "a b" / "x?.json", tmp_path) == "./a%20b/x%3F.json"
    assert link(tmp_path / "x.json", tmp_path / "reports") == "../x.json"
    assert link(tmp_path / "javascript:alert(1)", tmp_path) == "./javascript%3Aalert%281%29"


def test_a_run_has_its_command_and_its_log(tmp_path: Path) -> None:
    cases.write(tmp_path, "training", 1)
    run = payload_of(tmp_path)["runs"][0]
    assert run["command"] == "python -m benchmark_app task=cartpole seed=1"
    assert run["log"] == "./run-00001/logs/training.log"
    assert run["tail"] == "", "it completed"


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "link", "", "logs", "a\0b", 7, "x" * 5000])
def test_a_manifest_cannot_lead_out_of_its_folder(tmp_path: Path, name: object) -> None:
    path = cases.write(tmp_path / "in", "training", 1, status="crashed")
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    (path.parent / "link").symlink_to(tmp_path / "secret")
    (path.parent / "run.json").write_text(json.dumps({"workflows": {"training": {"log": name}}}), encoding="utf-8")
    run = payload_of(tmp_path)["runs"][0]
    assert (run["log"], run["tail"]) == (None, "")


@pytest.mark.parametrize("content", ["[]", "{", '{"command": 3, "workflows": []}', "", "[" * 100_000])
def test_a_manifest_that_is_none_is_as_good_as_absent(tmp_path: Path, content: str) -> None:
    path = cases.write(tmp_path, "training", 1)
    for name in ("run.json", "conditions.json"):
        (path.parent / name).write_text(content, encoding="utf-8")
    run = payload_of(tmp_path)["runs"][0]
    assert (run["command"], run["log"]) == ("", None)


def test_only_pictures_and_videos_of_the_run_itself_are_embedded(tmp_path: Path) -> None:
    outside = tmp_path / "outside.mp4"
    outside.write_bytes(b"\0\0\0\x18ftypmp42")
    for index, (name, content) in enumerate(
        {"good.mp4": b"\0\0\0\x18ftypmp42", "text.mp4": b"root:x:0:0", "page.svg": b"<svg onload=x>"}.items()
    ):
        path = cases.write(tmp_path, "play", index, video=name, task=name)
        (path.parent / name).write_bytes(content)
    cases.write(tmp_path, "play", 7, video=str(outside), task="outside")
    payload = payload_of(tmp_path)
    tasks = {run["id"]: payload["groups"][run["group"]]["identity"]["task"] for run in payload["runs"]}
    shown = {tasks[run["id"]]: run["media"] for run in payload["runs"] if run["media"]}
    assert list(shown) == ["good.mp4"]
    assert shown["good.mp4"][0]["kind"] == "video"
    assert shown["good.mp4"][0]["source"].startswith("data:video/mp4;base64,")


def test_a_large_video_is_a_link(tmp_path: Path) -> None:
    path = cases.write(tmp_path, "play", 1, video="long.mp4")
    (path.parent / "long.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + bytes(3_000_000))
    entry = payload_of(tmp_path)["runs"][0]["media"][0]
    assert (entry["source"], entry["href"]) == (None, "./run-00001/long.mp4")


def test_a_large_video_is_a_link_behind_the_picture_that_announces_it(tmp_path: Path) -> None:
    path = cases.write(tmp_path, "play", 1, video="long.mp4")
    (path.parent / "long.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + bytes(3_000_000))
    (path.parent / "long.jpg").write_bytes(b"\xff\xd8\xff")
    film, picture = payload_of(tmp_path)["runs"][0]["media"]
    assert (film["source"], film["href"]) == (None, "./run-00001/long.mp4")
    assert (picture["kind"], picture["source"][:23]) == ("image", "data:image/jpeg;base64,")


# ---------------------------------------------------------------- the page


def test_no_text_can_end_the_element_its_data_stands_in() -> None:
    text = "</script><!--<script>&amp;\u2028\u2029\ud800"
    embedded = embed({"text": text})
    assert not set(embedded) & set("<>&\u2028\u2029")
    assert json.loads(embedded) == {"text": text}
    embedded.encode()


def test_numbers_no_browser_could_read_are_an_error() -> None:
    with pytest.raises(ValueError, match="JSON"):
        embed({"value": float("nan")})


def test_placeholders_in_data_stay_data() -> None:
    page = render_page({"text": "{{script}}{{csp}}"})
    assert page.count("{{script}}{{csp}}") == 1
    assert page.count("default-src 'none'") == 1


def test_the_page_asks_for_nothing_outside_itself(tmp_path: Path) -> None:
    cases.write(tmp_path, "training", 1)
    page = render_page(payload_of(tmp_path))
    namespace = "http://www.w3.org/2000/svg"
    assert set(re.findall(r"https?://[^\s\"'`)]+", page)) == {namespace}
    assert not re.search(r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval)\b", page)


# ---------------------------------------------------------------- Markdown


def test_markdown_says_conditions_first_and_ranks_every_workload(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = 0
    for framework in ("sb3", "rsl_rl"):
        for seed in (1, 2, 3, 4, 5):
            index += 1
            cases.write(tmp_path, "training", index, framework=framework, seed=seed)
    cases.write(tmp_path, "training", 99, framework="sb3", status="crashed")
    assert main(["report", str(tmp_path), "--markdown"]) == 0
    text = capsys.readouterr().out
    assert text.index("### Conditions") < text.index("### Cartpole-Direct-v0 · training")
    rows = [line for line in text.splitlines() if line.startswith(("| rsl", "| sb3"))]
    assert rows[0].startswith(r"| rsl\_rl · newton\_mjwarp | 5 | **")
    assert rows[1].startswith(r"| sb3 · newton\_mjwarp | 5 of 6 |")
    assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1


def test_markdown_shows_both_ends_of_an_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed, scale in ((1, 1.0), (2, 2.0), (3, 3.0)):
        path = cases.write(tmp_path, "training", seed, seed=seed)
        bundle = json.loads(path.read_text(encoding="utf-8"))
        for key in ("mean", "peak"):
            bundle["runtime"]["total_fps"][key] *= scale
        path.write_text(json.dumps(bundle), encoding="utf-8")
    value, low, high, *_ = payload_of(tmp_path)["groups"][0]["stats"]["total_fps"]
    assert value - low != pytest.approx(high - value, rel=0.1), "the interval of a geometric mean is not symmetric"
    assert main(["report", str(tmp_path), "--markdown"]) == 0
    assert f"| {value:,.0f} ({low:,.0f} to {high:,.0f}) |" in capsys.readouterr().out


def test_the_page_says_of_what_kind_its_means_are() -> None:
    assert "geometric means" in LEADS["ranking"]
    assert all("Arithmetic means" in LEADS[section] for section in ("breakdown", "startup"))


def test_markdown_of_a_hostile_bundle_is_text(tmp_path: Path) -> None:
    hostile = "</td><script>x</script> | `a` [l](http://x) @team \x1b[31m\nnext"
    cases.write(tmp_path, "runtime", 1, task=hostile)
    output = tmp_path / "summary.md"
    assert main(["report", str(tmp_path), "--markdown", "-o", str(output)]) == 0
    text = output.read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert not re.search(r"(?<!\\)[<@`]", text)
    assert "\nnext" not in text
