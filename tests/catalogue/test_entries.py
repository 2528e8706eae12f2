"""Finding tasks, shipped and offered by installed packages."""

import sys

import pytest
import yaml

from benchmark_app.catalogue import TaskError, find_tasks, load_task
from benchmark_app.catalogue.entries import offered_folders, unusable_tasks
from benchmark_app.places import conf_dir

from .offered import offer


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of packages, on the path; nothing of them stays imported."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pole_tasks", "more")]:
        del sys.modules[name]


def test_every_task_file_is_a_task_with_its_name_module_and_folder():
    tasks = find_tasks()
    assert list(tasks) == sorted(path.stem for path in (conf_dir() / "task").glob("*.yaml"))
    for name, entry in tasks.items():
        cfg = entry.cfg()
        assert (cfg.name, cfg.module) == (name, f"benchmark_app.tasks.{name}")
        assert entry.origin == "shipped"
        assert (entry.folder / "assets").is_dir() or cfg.declaration.assets_of in {
            other.module for other in tasks.values()
        }


def test_the_ids_of_shipped_tasks_differ():
    ids = [entry.cfg().gym_id for entry in find_tasks().values()]
    assert len(set(ids)) == len(ids)


def test_settings_may_be_changed_and_are_checked():
    entry = load_task("cartpole")
    assert entry.cfg(max_effort=50).max_effort == 50.0
    with pytest.raises(TaskError, match=r"max_efort=50: no such setting; did you mean max_effort\?"):
        entry.cfg(max_efort=50)
    with pytest.raises(TaskError, match="max_effort=much: "):
        entry.cfg(max_effort="much")


def test_an_unknown_task_is_refused_with_the_nearest_ones():
    with pytest.raises(TaskError, match=r"^cartpol: no such task; did you mean cartpole or cartpole_camera\?$"):
        load_task("cartpol")
    with pytest.raises(TaskError, match=r"^xyz: no such task; known: .*cartpole"):
        load_task("xyz")


def test_a_package_offers_a_task_by_its_entry_point(site):
    folder = offer(site)
    entry = load_task("tilted")
    assert (entry.origin, entry.module, entry.folder) == ("pole-tasks", "pole_tasks.tilted", folder)
    assert entry.cfg().max_episode_steps == 100
    assert (entry.golden, entry.reference) == (folder / "golden.json", folder / "reference.json")
    assert offered_folders() == [("pole-tasks", folder / "conf")]
    assert unusable_tasks() == {}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"name": "cartpole"}, "offers one of the name of a shipped task"),
        ({"code": "import nothing_of_this_name"}, "nothing_of_this_name"),
        ({"code": "Cfg = 3"}, "must be a subclass of"),
        ({"settings": "name: tilted"}, "no task; expected its settings"),
        ({"settings": "name: other\nmodule: {module}\ngym_id: A-v0"}, "says name=other; its entry point says tilted"),
        ({"settings": "name: {name}\nmodule: elsewhere\ngym_id: A-v0"}, "says module=elsewhere; its entry point says"),
        ({"settings": "name: [\n"}, "is not valid YAML"),
    ],
)
def test_a_task_that_cannot_be_used_is_left_out_and_says_why(site, change, why):
    offer(site, **change)
    name = change.get("name", "tilted")
    assert why in unusable_tasks()[name]
    assert "pole-tasks" in unusable_tasks()[name]
    assert find_tasks().keys() == {path.stem for path in (conf_dir() / "task").glob("*.yaml")}
    assert load_task("cartpole").origin == "shipped"
    if name != "cartpole":
        with pytest.raises(TaskError, match=f"^task {name}: "):
            load_task(name)


def test_two_packages_that_offer_one_name_are_both_named(site):
    offer(site)
    offer(site, module="more.tilted", package="more-tasks")
    assert "more-tasks" in unusable_tasks()["tilted"]
    assert "pole-tasks" in unusable_tasks()["tilted"]
    assert "tilted" not in find_tasks()


def test_an_entry_point_without_its_module_says_so(site):
    folder = offer(site)
    for path in (folder / "__init__.py", folder.parent / "__init__.py"):
        path.unlink()
    (folder.parent).rename(site / "gone")
    assert "its module pole_tasks.tilted" in unusable_tasks()["tilted"]
    assert offered_folders() == []


def test_a_folder_of_the_users_goes_before_what_is_shipped(tmp_path):
    settings = yaml.safe_load(load_task("cartpole").config.read_text()) | {"max_effort": 7.0}
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "cartpole.yaml").write_text(yaml.safe_dump(settings))
    entry = load_task("cartpole", tmp_path)
    assert (entry.origin, entry.cfg().max_effort) == (str(tmp_path), 7.0)
