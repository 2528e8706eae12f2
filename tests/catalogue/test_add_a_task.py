"""docs/add_a_task.md: what it shows is what the code expects."""

import re
import tomllib

from benchmark_app.catalogue import GROUP
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "add_a_task.md").read_text()


def block(language):
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found


def test_the_entry_point_on_the_page_is_of_our_group():
    project = tomllib.loads(block("toml"))["project"]
    assert project["entry-points"] == {GROUP: {"tilt": "pole_tasks.tilt"}}


def test_the_declaration_on_the_page_can_be_made():
    scope = {}
    exec(block("python"), scope)
    assert scope["DECLARATION"].joints[0].name == "hinge"


def test_every_file_the_page_names_is_there():
    for path in re.findall(r"`((?:benchmark_app|benchmarks|tasks/cartpole)/[\w/]+\.py)`", PAGE):
        assert (ROOT / path).is_file(), path
