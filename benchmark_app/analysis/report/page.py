"""One HTML file that needs nothing else: its data, its script and its style stand in it.

What bundles say is data, never markup. It enters the page once, as JSON in a script element that no browser runs, and
the page's own script puts it on the screen as text. A policy in the page's head allows that script and that style by
their hashes, pictures and videos from inside the file, and nothing else: no request, no other script, no markup from
text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

# In the order they are put together: the last one starts the page.
SCRIPTS = ("dom", "state", "chart", "table", "summary", "results", "costs", "runs", "app")

# Inside a script element only these can end it, open a comment, or break a line of JSON read as JavaScript.
_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def render_page(payload: dict[str, Any]) -> str:
    """The report as HTML.

    Args:
        payload: What the page's script reads, as plain JSON values; NaN and Infinity are errors.
    """
    static = files(__package__) / "static"
    style = (static / "style.css").read_text(encoding="utf-8")
    parts = [(static / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    script = "(() => {\n" + '"use strict";\n' + "\n".join(parts) + "})();\n"
    pieces = {"csp": policy(script, style), "style": style, "script": script, "data": embed(payload)}
    template = (static / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: pieces[match[1]], template)


def embed(payload: Any) -> str:
    """JSON that can stand in a script element, whatever texts it holds."""
    # A file name may hold bytes that are no text; `ensure_ascii` keeps their stand-ins out of the UTF-8 file.
    return json.dumps(payload, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def policy(script: str, style: str) -> str:
    """The Content-Security-Policy under which this script and this style, and nothing else, work."""
    rules = {
        "default-src": "'none'",
        "script-src": f"'{_hash(script)}'",
        "style-src": f"'{_hash(style)}'",
        "img-src": "data:",
        "media-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
