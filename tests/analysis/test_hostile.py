"""Whatever a file holds, loading it ends in one row or in one line, and says what the strict reader says."""

import dataclasses
import json
import os
import random

import pytest

from benchmark_app.analysis import load
from benchmark_app.analysis.export import markdown, write_csv, write_isaaclab, write_parquet
from benchmark_app.analysis.fast_read import read_fast
from benchmark_app.analysis.history import add, read
from benchmark_app.bundle.check import BundleError
from benchmark_app.bundle.read import read_bundle_file
from tests.analysis.made import WORKFLOWS, made

WRONG = [None, True, -1, 0, 1.5, "text", "<script>alert(1)</script>", [], {}, [None], {"a": 1}, 2**63, 2**64, 10**400]
TOKENS = ["NaN", "-Infinity", "1e999", "-0", "1E400", "01", "9" * 5000, '"\\ud800"', '"\\u0000"', "'text'", "[[1]]"]


def content_of(workflow):
    return dataclasses.asdict(made(workflow))


def leaves(value, path=()):
    """Paths of everything in a JSON value that can be replaced."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from leaves(item, (*path, key))


def replaced(content, path, value):
    content = json.loads(json.dumps(content))
    target = content
    for key in path[:-1]:
        target = target[key]
    if value is ...:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return content


def wrong_values(rng):
    for workflow in WORKFLOWS:
        content = content_of(workflow)
        for path in leaves(content):
            yield json.dumps(replaced(content, path, ...))
            for value in rng.sample(WRONG, 2):
                yield json.dumps(replaced(content, path, value))
            yield json.dumps(replaced(content, path, "@")).replace('"@"', rng.choice(TOKENS), 1)


def cut_and_corrupt(rng):
    for workflow in WORKFLOWS:
        data = json.dumps(content_of(workflow), indent=2).encode()
        for _ in range(40):
            yield data[: rng.randrange(len(data))]
            position = rng.randrange(len(data))
            yield data[:position] + bytes([rng.randrange(256)]) + data[position + 1 :]


def repeated_keys():
    """One key of each object stands twice, plainly and as an escape; also where another colon makes up for it."""
    for workflow in WORKFLOWS:
        text = json.dumps(content_of(workflow))
        for position in [i for i, c in enumerate(text) if c == "{" and text[i + 1] == '"']:
            key = text[position + 2 : text.index('"', position + 2)]
            for name in (key, f"\\u{ord(key[0]):04x}{key[1:]}"):
                yield f'{text[: position + 1]}"{name}": 0, {text[position + 1 :]}'
        yield text.replace('"extra": {', '"extra": {"a": "\\u003a", "a": "", ')
        yield text.replace('"extra": {', '"extra": {"a": "\\u003A", "a": "\\u003a", ')
        yield text.replace('"extra": {', '"extra": {"a:": ":", "a:": "::", ')


def odd_texts():
    good = json.dumps(content_of("training"))
    yield from (b"", b" \n", b"null", b"true", b"1", b'"bundle"', b"[]", b"{}", b"\0" * 100, b"\xff\xfe", b"{" * 10)
    yield from (good.encode(code) for code in ("utf-16", "utf-32", "utf-8-sig"))
    yield good.replace("Cartpole", "Carré").encode("latin-1")
    yield good.replace("Cartpole", "Carré").encode()
    yield f"[{good}]"
    yield f"{good}\n{good}"
    yield f"{good}garbage"
    yield good.replace('"schema_version": "1.4"', '"schema_version": "2.0"')
    yield good.replace('"schema_version": "1.4"', '"schema_version": "1.9"')
    yield good.replace('"schema_version": "1.4"', '"schema_version": "1.9", "newer": 1')
    yield good.replace('"schema_version": "1.4"', '"schema_version": ["1.4"]')
    for depth in (500, 5_000, 200_000):
        yield "[" * depth
        yield "[" * depth + "]" * depth
        yield '{"a":' * depth + "1" + "}" * depth
        yield good.replace('"extra": {', f'"extra": {{"deep": {"[" * depth}{"]" * depth}, ')
    for text in ("<img src=x onerror=alert(1)>", "\\n\\r\\u001b[31mred", "\\ud83d", "\\u202e", "a" * 100_000):
        yield good.replace("Benchmark-Cartpole-v0", text)
        yield good.replace('"threads"', f'"{text}"')
    yield good.replace('"seed": 0', '"seed": 9223372036854775808')
    yield good.replace("2026-11-01T00:00:00+00:00", "0001-01-01T00:00:00+14:00")
    yield good.replace("2026-11-01T00:00:00+00:00", "tomorrow")
    yield good.replace('"extra": {', '"extra": {"n": 9223372036854775808, ')
    yield good.replace('"extra": {', '"extra": {"n": 36893488147419103232, ')
    yield good.replace('"extra": {', '"extra": {"synthetic": "no", "not_reached": 5, "n_episodes": "many", ')
    nameless = good.replace('"framework": "rsl_rl"', '"framework": null')
    for name in ("git_dirty", "torch", ""):  # a library that has the name of another fact
        yield nameless.replace('"extra": {', f'"extra": {{"framework": "{name}", ')
    endless = good.replace('"env_creation": 2.0', '"env_creation": 1.7e308')
    yield endless.replace('"first_step": 0.5', '"first_step": 1.7e308')


def cases():
    rng = random.Random(9)
    yield from wrong_values(rng)
    yield from cut_and_corrupt(rng)
    yield from repeated_keys()
    yield from odd_texts()


CASES = [case if isinstance(case, bytes) else case.encode("utf-8", "surrogatepass") for case in cases()]


def judged_strictly(path):
    try:
        read_bundle_file(path)
    except BundleError as error:
        return str(error)
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    for number, data in enumerate(CASES):
        path = folder / f"{number:05d}" / "training.json"
        path.parent.mkdir()
        path.write_bytes(data)
    return folder


def test_of_two_thousand_broken_files_each_is_a_row_or_a_line_and_the_strict_reader_agrees(folder):
    assert len(CASES) >= 500
    results_of = {str(path): judged_strictly(path) for path in folder.rglob("*.json")}
    results = load(folder)
    broken = {entry.path: entry.reason for entry in results.broken}
    copies = {note.path for note in results.notes if "counted once" in note.text}
    loaded = set(results.runs["path"])
    assert len(broken) == len(results.broken)
    assert loaded | copies | broken.keys() == results_of.keys()
    assert len(loaded) + len(copies) + len(broken) == len(CASES)
    for reason in broken.values():
        assert reason.isprintable()
        assert reason
        assert len(reason) < 500
    for path, reason in results_of.items():
        if reason is not None:
            assert path in broken, f"accepted, but: {reason}"
        elif path in broken:
            assert "64 bits" in broken[path]  # a number the schema allows and no table holds


def test_what_was_loaded_of_them_can_be_exported_and_stored(folder, tmp_path):
    runs = load(folder).runs
    write_csv(runs, tmp_path / "runs.csv")
    write_parquet(runs, tmp_path / "runs.parquet")
    assert "<script>" not in markdown(runs)
    assert "<img" not in markdown(runs)
    assert len(write_isaaclab(runs["path"].to_list(), tmp_path / "lab")) == runs.height
    assert add([str(folder)], tmp_path / "s.jsonl").new == runs.height
    history = read(tmp_path / "s.jsonl")
    assert history.dropped == []
    assert history.runs.select(runs.columns).equals(runs)


def test_what_is_read_at_once_is_what_the_strict_reader_reads():
    at_once = 0
    for data in CASES:
        content = read_fast(data)
        if content is not None:
            at_once += 1
            assert content == json.loads(data)
    assert at_once > 50


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_sound_bundle_is_read_at_once(workflow):
    assert read_fast(json.dumps(content_of(workflow), indent=2).encode()) == content_of(workflow)


def test_a_file_larger_than_any_bundle_is_refused_without_reading_it(tmp_path):
    path = tmp_path / "training.json"
    path.touch()
    os.truncate(path, 10**11)
    (entry,) = load(tmp_path).broken
    assert "95367 MiB" in entry.reason


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_and_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "training.json")
    assert load(tmp_path).broken == []
    (entry,) = load(tmp_path / "training.json").broken
    assert entry.reason == "not a regular file"


def test_a_file_name_cannot_break_the_line_that_names_it(tmp_path):
    path = tmp_path / "a\n\x1b[31mb.json"
    path.write_text("{")
    (entry,) = load(tmp_path).broken
    assert str(entry).isprintable()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission_is_listed(tmp_path):
    path = tmp_path / "training.json"
    path.write_text("{}")
    path.chmod(0)
    (entry,) = load(tmp_path).broken
    assert entry.reason == "cannot be read: Permission denied"
