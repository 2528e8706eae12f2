"""The container file, as far as it can be judged without building it."""

import re

from tests.conftest import ROOT

TEXT = (ROOT / "containers" / "ovphysx.Dockerfile").read_text()
STEPS = [line for line in TEXT.splitlines() if re.match(r"[A-Z]+ ", line)]


def test_what_is_copied_is_there():
    copied = [name for line in STEPS if line.startswith("COPY ") for name in line.split()[1:-1]]
    assert {"benchmark_app", "conf", "tasks", "pyproject.toml", "constraints-ovphysx.txt"} <= set(copied)
    for name in copied:
        assert (ROOT / name).exists(), name
    assert re.search(r"^torch==", (ROOT / "constraints-ovphysx.txt").read_text(), re.MULTILINE)


def test_the_licence_is_asked_for_before_anything_is_downloaded():
    first = next(number for number, line in enumerate(STEPS) if "ACCEPT_OMNIVERSE_TERMS" in line)
    downloads = [number for number, line in enumerate(STEPS) if "pip install" in line or "apt-get" in line]
    assert STEPS[0].startswith("FROM python:3.11")
    assert first == 1
    assert "ACCEPT_OMNIVERSE_TERMS" in STEPS[2]
    assert "exit 1" in TEXT
    assert min(downloads, default=99) > 2


def test_the_documented_commands_are_those_of_the_file():
    docs = (ROOT / "docs" / "execution.md").read_text()
    for words in ("docker build -f containers/ovphysx.Dockerfile", "--network host", "--token-file /token --port 5555"):
        assert words in docs
        assert words in TEXT
