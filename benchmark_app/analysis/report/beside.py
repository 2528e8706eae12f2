"""What stands beside a bundle: the command, the log, the machine's conditions, pictures and videos.

All of it is optional: bundles travel without their folders. Whatever a file here names is followed only where it lies
inside the run's own folder, so that a bundle from elsewhere cannot make a report carry another file of this machine.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

TAIL_LINES = 20  # of the log of a run that did not complete
_TAIL_BYTES = 4000
_JSON_BYTES = 4_000_000

# Suffix → how the file begins, at which offset, and its media type. A name alone proves nothing.
_MEDIA = {
    ".mp4": (b"ftyp", 4, "video/mp4"),
    ".webm": (b"\x1a\x45\xdf\xa3", 0, "video/webm"),
    ".gif": (b"GIF8", 0, "image/gif"),
    ".png": (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    ".jpg": (b"\xff\xd8\xff", 0, "image/jpeg"),
}


@dataclass(frozen=True)
class Beside:
    """What is known about a run besides its bundle.

    Args:
        command: The line that repeats the run, `""` if unknown.
        log: The worker's log.
        tail: The log's last lines, for a run that did not complete.
        conditions: Sentences of `conditions.json` that warn.
        media: The run's video and the picture that announces it.
    """

    command: str
    log: Path | None
    tail: str
    conditions: list[str]
    media: list[Path]


def look_beside(bundle: Path, workflow: str, status: str, video: str | None) -> Beside:
    """Look into the folder of a bundle.

    Args:
        bundle: The bundle's file.
        workflow: Its workflow.
        status: How the run ended.
        video: The bundle's `video_path`.
    """
    folder = bundle.parent
    manifest = _read_json(folder / "run.json")
    command, entry = manifest.get("command"), _mapping(_mapping(manifest.get("workflows")).get(workflow))
    log = _inside(folder, entry.get("log"))
    return Beside(
        command=command if isinstance(command, str) else "",
        log=log,
        tail=_tail(log) if log is not None and status != "completed" else "",
        conditions=_warnings(_read_json(folder / "conditions.json"), workflow),
        media=_media(folder, video),
    )


def embed_file(path: Path) -> tuple[str, str]:
    """A picture or video as a `data:` address, and `image` or `video`."""
    media_type = _MEDIA[path.suffix.lower()][2]
    return f"data:{media_type};base64,{base64.b64encode(path.read_bytes()).decode()}", media_type.partition("/")[0]


def _inside(folder: Path, name: object) -> Path | None:
    """The file of this name, if it lies in the folder once every link is followed."""
    if not isinstance(name, str) or not name or "\0" in name:
        return None
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, RuntimeError):  # a name that is too long, links in a circle
        return None


def _media(folder: Path, video: str | None) -> list[Path]:
    found = _inside(folder, video)
    if found is None or not _is_media(found):
        return []
    pictures = (found.with_suffix(suffix) for suffix in (".png", ".jpg"))
    announcing = [path for path in pictures if _inside(folder, str(path)) and _is_media(path) and path != found]
    return [found, *announcing[:1]]


def _is_media(path: Path) -> bool:
    known = _MEDIA.get(path.suffix.lower())
    if known is None:
        return False
    magic, offset, _ = known
    try:
        with path.open("rb") as file:
            return file.read(offset + len(magic))[offset:] == magic
    except OSError:
        return False


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-TAIL_LINES:])


def _warnings(conditions: dict[str, Any], workflow: str) -> list[str]:
    """Sentences under `warnings`: texts, or objects with a `message`, for the whole run or by workflow."""
    entries = conditions.get("warnings")
    if isinstance(entries, dict):
        entries = entries.get(workflow)
    found = [_mapping(entry).get("message", entry) for entry in entries] if isinstance(entries, list) else []
    return [text for text in found if isinstance(text, str) and text]


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


@lru_cache(maxsize=64)  # the workflows of a run share a folder, and are looked at one after the other
def _read_json(path: Path) -> dict[str, Any]:
    """A JSON object; empty if there is none: this only ever adds to what a bundle says."""
    try:
        if not path.is_file() or path.stat().st_size > _JSON_BYTES:
            return {}
        return _mapping(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}
