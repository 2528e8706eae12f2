"""Each check of a declaration and its files catches what breaks it, and blames nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from benchmark_app.catalogue import TaskEntry, TaskError
from benchmark_app.check.claims import find_task, read_claims
from benchmark_app.check.findings import FAILED, OK, judge
from benchmark_app.check.paper import PAPER
from benchmark_app.envs.declaration import Source

from .sliding.cfg import DECLARATION, SlidingCfg

SETTINGS = {
    "name": "sliding",
    "module": "tests.check.sliding",
    "gym_id": "Sliding-Test-v0",
    "physics_dt": 0.01,
    "decimation": 4,
    "episode_length_s": 1.6,
}
OURS = DECLARATION.sources[0]
IDEA = Source(what="an idea", origin="https://example.org/idea", revision="1.0", licence="MIT")


@pytest.fixture
def claims(tmp_path):
    """The sliding task's claims, with its files in a folder of the test's."""
    folder = tmp_path / "task"
    folder.mkdir()
    for name, text in (("mass.xml", "<mujoco/>"), ("LICENSE", "Apache-2.0"), ("golden.json", "{}")):
        (folder / name).write_text(text)
    (tmp_path / "conf" / "task").mkdir(parents=True)
    (tmp_path / "conf" / "task" / "sliding.yaml").write_text(yaml.safe_dump(SETTINGS))
    entry = TaskEntry(name="sliding", module="tests.check.sliding", origin="a test", conf=tmp_path / "conf")
    return replace(read_claims(entry), folder=folder, files=("LICENSE", "golden.json", "mass.xml"))


def declared(**changes):
    return lambda claims: replace(claims, declaration=replace(claims.declaration, **changes))


def added(*sources):
    return declared(sources=(OURS, *sources))


def with_file(name):
    return lambda claims: replace(claims, files=tuple(sorted((*claims.files, name))))


def in_file(**changes):
    def change(claims):
        settings = {key: value for key, value in {**SETTINGS, **changes}.items() if value is not None}
        claims.entry.config.write_text(yaml.safe_dump(settings))
        known = {key: value for key, value in settings.items() if value is not ...}
        return replace(claims, cfg=SlidingCfg(**known))

    return change


@dataclass(kw_only=True)
class Nameless(SlidingCfg):
    def conventions(self):
        return super().conventions() | {"actions": [{"name": "push", "unit": "N"}]}


@dataclass(kw_only=True)
class OtherRate(SlidingCfg):
    def conventions(self):
        return super().conventions() | {"control_rate_hz": 50.0}


@dataclass(kw_only=True)
class Rounds(SlidingCfg):
    episode_length_s: float = 1.59


BROKEN = [
    ("the_declaration_is_complete", declared(title=" "), "DECLARATION.title is empty"),
    ("the_declaration_is_complete", declared(suite="Classic Control"), "lower_case"),
    ("the_declaration_is_complete", declared(reward_terms={"distance": ""}), "has no meaning"),
    ("success_is_declared_whole", declared(success=""), "say in a sentence what success is"),
    ("success_is_declared_whole", declared(solved_at=95.0), "a share of episodes"),
    ("the_engines_are_known", declared(engines=("newton_mjwrap",)), "newton_mjwrap is unknown"),
    ("the_engines_are_known", declared(engines=()), "is empty"),
    ("the_settings_file_and_the_class_agree", in_file(decimation=5, episode_length_s=1.5), "make them the same"),
    ("the_settings_file_and_the_class_agree", in_file(decimation=None), "lacks decimation"),
    (
        "the_episode_is_whole_control_steps",
        lambda claims: replace(claims, cfg=Rounds()),
        "39.75 control steps",
    ),
    ("the_conventions_name_everything", lambda claims: replace(claims, cfg=Nameless()), "lacks its unit"),
    ("the_conventions_name_everything", lambda claims: replace(claims, cfg=OtherRate()), "50.0"),
    ("sources_tell_where_things_come_from", added(replace(IDEA, revision="")), "has no revision"),
    ("sources_tell_where_things_come_from", added(replace(IDEA, licence="Apache 2")), "no SPDX identifier"),
    ("sources_tell_where_things_come_from", added(replace(IDEA, origin="a friend")), "or an address"),
    ("every_file_has_a_source", with_file("mesh.obj"), "mesh.obj: no source names it"),
    ("every_file_has_a_source", added(replace(OURS, what="arm.xml")), "arm.xml: is named"),
    ("every_file_has_a_source", added(replace(OURS, licence_file="NOTICE")), "NOTICE: is named"),
    ("every_file_has_a_source", declared(sources=(replace(OURS, licence_file=""),)), "names no licence_file"),
    (
        "the_gym_id_is_registered_once",
        in_file(gym_id="Cartpole-Direct-v0"),
        "the task cartpole has it too",
    ),
]


def findings(claims):
    return [judge("files", check, claims) for check in PAPER]


def test_every_check_has_something_that_breaks_it():
    assert {check for check, _, _ in BROKEN} == {check.__name__ for check in PAPER}


def test_a_sound_task_passes_every_check(claims):
    found = findings(claims)
    assert {finding.verdict for finding in found[:-1]} == {OK}
    assert "only shipped and installed tasks are registered" in found[-1].text


@pytest.mark.parametrize(("check", "change", "text"), BROKEN, ids=[f"{check}: {text}" for check, _, text in BROKEN])
def test_a_broken_claim_is_caught_by_exactly_its_check(claims, check, change, text):
    failed = [finding for finding in findings(change(claims)) if finding.verdict == FAILED]
    blamed = {finding.check.replace(" ", "_") for finding in failed}
    # An id in the file that is not the class's is a difference between them as well.
    allowed = {check, "the_settings_file_and_the_class_agree"} if check == "the_gym_id_is_registered_once" else {check}
    assert check in blamed <= allowed
    assert any(text in finding.text for finding in failed)


def test_an_empty_licence_is_none(claims):
    (Path(claims.folder) / "LICENSE").write_text("\n")
    assert [finding.check for finding in findings(claims) if finding.verdict == FAILED] == ["every file has a source"]


@pytest.mark.parametrize("name", ["cartpole", "benchmark_app.tasks.cartpole"])
def test_a_task_is_found_by_name_and_not_by_a_module_without_settings(name):
    if name == "cartpole":
        assert find_task(name).module == "benchmark_app.tasks.cartpole"
    else:
        with pytest.raises(TaskError, match="holds 0 files"):
            find_task(name)


def test_a_module_of_ones_own_is_a_task_with_its_settings_beside_it(tmp_path, monkeypatch):
    package = tmp_path / "my_sliding"
    (package / "conf" / "task").mkdir(parents=True)
    (package / "__init__.py").write_text("from tests.check.sliding import Cfg, load_env")
    (package / "conf" / "task" / "sliding.yaml").write_text(yaml.safe_dump({**SETTINGS, "module": "my_sliding"}))
    monkeypatch.syspath_prepend(tmp_path)
    claims = read_claims(find_task("my_sliding"))
    assert claims.entry.name == "sliding"
    assert claims.files == ()  # its code and its settings need no source


def test_a_task_that_declares_nothing_cannot_be_checked(tmp_path):
    folder = tmp_path / "conf" / "task"
    folder.mkdir(parents=True)
    (folder / "shove.yaml").write_text(
        "{name: shove, module: tests.contracts.contact_task, gym_id: Shove-Test-v0, physics_dt: 0.005, decimation: 4, "
        "episode_length_s: 0.8}"
    )
    with pytest.raises(TaskError, match="declares nothing"):
        read_claims(find_task("shove", tmp_path / "conf"))
