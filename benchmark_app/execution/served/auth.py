"""Tokens: both sides show that they know the same one, and neither sends it. Standard library only.

The server says a number it never says again, the client answers with one of its own, and each proves with an HMAC over
both that it knows the token. So a program that listens on the port after a server is gone learns nothing from a client.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from pathlib import Path

VARIABLE = "BENCHMARK_APP_TOKEN"
NONCE_LETTERS = 64
_TOKEN = re.compile(r"[\x21-\x7e]{16,512}")


class TokenError(ValueError):
    """There is no token, or one that must not be used; one line."""


def new_token() -> str:
    """A token nobody can guess."""
    return secrets.token_hex(32)


def new_nonce() -> str:
    """A number that is used once."""
    return secrets.token_hex(NONCE_LETTERS // 2)


def proof(token: str, side: str, server_nonce: str, client_nonce: str) -> str:
    """What only one who knows the token can say.

    Args:
        token: The token.
        side: Who says it, `server` or `client`, so that neither can repeat the other's.
        server_nonce: The server's number.
        client_nonce: The client's.
    """
    text = f"benchmark_app:{side}:{server_nonce}:{client_nonce}"
    return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()


def proves(found: object, token: str, side: str, server_nonce: str, client_nonce: str) -> bool:
    """Whether the other side knows the token; takes the same time whatever it said."""
    expected = proof(token, side, server_nonce, client_nonce)
    return isinstance(found, str) and found.isascii() and hmac.compare_digest(found, expected)


def is_nonce(found: object) -> bool:
    """Whether this is a number as `new_nonce` makes them."""
    return isinstance(found, str) and re.fullmatch(rf"[0-9a-f]{{{NONCE_LETTERS}}}", found) is not None


def read_token(file: str | None, setting: str) -> str | None:
    """The token a person gave: in a file of theirs alone, or else in the environment; None where neither is set.

    Args:
        file: The file.
        setting: What names it, for the message.

    Raises:
        TokenError: The file cannot be read, others may read it, or there is no token in it.
    """
    if file is None:
        token = os.environ.get(VARIABLE)
        if token is not None and not _TOKEN.fullmatch(token):
            raise TokenError(f"{VARIABLE}: must be 16 to 512 letters without spaces")
        return token
    try:
        with Path(file).expanduser().open(encoding="ascii") as opened:
            seen = os.fstat(opened.fileno())
            if not stat.S_ISREG(seen.st_mode):
                raise TokenError(f"{setting}={file}: is no regular file")
            if seen.st_mode & 0o077:
                raise TokenError(f"{setting}={file}: others may read it; type: chmod 600 {file}")
            token = opened.read(1024).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not ASCII"
        raise TokenError(f"{setting}={file}: cannot be read ({why})") from None
    if not _TOKEN.fullmatch(token):
        raise TokenError(f"{setting}={file}: must hold 16 to 512 letters without spaces")
    return token


def write_token(file: Path, token: str) -> None:
    """Write a token into a new file that only its owner may read.

    Raises:
        FileExistsError: The file is there.
        OSError: It cannot be written.
    """
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        opened.write(f"{token}\n")
