"""The journal: whole lines only, a reader that never trusts what follows a broken one, one clock."""

import dataclasses
import math
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_app.journal import JournalTail, JournalWriter, merge, read_journal, writer
from benchmark_app.journal.events import KINDS, Extra, Failed, Finished, Phase, ResourceSample


def phase(t, name="python_imports"):
    return Phase(t=t, name=name, duration_s=0.5)


def write(path, *events):
    with JournalWriter(path) as journal:
        for event in events:
            journal.append(event)


def example(hint):
    if typing.get_origin(hint) in (list, dict):
        return typing.get_origin(hint)()
    if type(None) in typing.get_args(hint):
        return None
    return {str: "text", int: 3, float: 0.5, bool: True}[hint]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_event_comes_back_as_it_was_written(kind, tmp_path):
    cls = KINDS[kind]
    hints = typing.get_type_hints(cls)
    event = cls(**{field.name: example(hints[field.name]) for field in dataclasses.fields(cls)})
    write(tmp_path / "a.jsonl", event)
    assert read_journal(tmp_path / "a.jsonl") == ([event], "")


@given(cut=st.integers(min_value=0))
def test_a_journal_cut_anywhere_gives_its_complete_lines(cut, tmp_path_factory):
    path = tmp_path_factory.mktemp("cut") / "a.jsonl"
    events = [phase(float(i), name=f"größe {i}") for i in range(5)]
    write(path, *events)
    data = path.read_bytes()
    cut %= len(data) + 1
    path.write_bytes(data[:cut])
    complete = data[:cut].count(b"\n")
    read, dropped = read_journal(path)
    assert read == events[:complete]
    assert bool(dropped) == (cut > 0 and not data[:cut].endswith(b"\n"))


@given(junk=st.binary(min_size=1, max_size=80).filter(lambda junk: b"\n" not in junk and junk.strip()))
def test_nothing_behind_an_unreadable_line_is_trusted(junk, tmp_path_factory):
    path = tmp_path_factory.mktemp("junk") / "a.jsonl"
    write(path, phase(1.0), phase(2.0))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + junk + b"\n" + lines[1])
    read, dropped = read_journal(path)
    assert read == [phase(1.0)]
    assert "line 2" in dropped


def test_a_line_that_does_not_fit_is_taken_back_whole(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    real = writer._write
    with JournalWriter(path) as journal:
        journal.append(phase(1.0))

        def half(fd, data):
            if len(data) < 10:
                raise OSError(28, "No space left on device")
            return real(fd, bytes(data)[: len(data) // 2])

        monkeypatch.setattr(writer, "_write", half)
        with pytest.raises(OSError, match="No space"):
            journal.append(phase(2.0))
        monkeypatch.setattr(writer, "_write", real)
        journal.append(phase(3.0))
    assert read_journal(path) == ([phase(1.0), phase(3.0)], "")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_json_does_not_have_is_refused(value, tmp_path):
    path = tmp_path / "a.jsonl"
    with JournalWriter(path) as journal:
        with pytest.raises(ValueError, match="JSON"):
            journal.append(Phase(t=0.0, name="x", duration_s=value))
        journal.append(phase(1.0))
    assert read_journal(path) == ([phase(1.0)], "")


def test_a_journal_has_one_writer(tmp_path):
    write(tmp_path / "a.jsonl", phase(1.0))
    with pytest.raises(FileExistsError):
        JournalWriter(tmp_path / "a.jsonl")


def test_a_tail_follows_a_journal_as_it_grows(tmp_path):
    path = tmp_path / "a.jsonl"
    tail = JournalTail(path)
    assert tail.read() == []
    with JournalWriter(path) as journal:
        journal.append(phase(1.0))
        assert tail.read() == [phase(1.0)]
        assert tail.read() == []
        with path.open("ab") as other:  # half a line is not there yet
            other.write(b'{"kind":"finished","t":2.0,')
        assert tail.read() == []
        assert tail.partial
        with path.open("ab") as other:
            other.write(b'"outcome":"budget"}\n')
        assert tail.read() == [Finished(t=2.0, outcome="budget")]
    assert not tail.dropped


def test_events_a_newer_version_added_are_passed_over(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"kind":"telemetry","t":1.0}\n{"kind":"failed","t":2.0,"error":"x","severity":9}\n')
    assert read_journal(path) == ([Failed(t=2.0, error="x")], "")


def test_journals_are_merged_by_their_common_clock():
    ours = [ResourceSample(t=1.0, cpu_pct=1.0, ram_gb=1.0), ResourceSample(t=3.0, cpu_pct=1.0, ram_gb=1.0)]
    theirs = [Extra(t=2.0, values={}), Extra(t=3.0, values={"a": 1})]
    assert merge(ours, theirs) == [ours[0], theirs[0], ours[1], theirs[1]]
