"""Where a server listens: on this machine only. Standard library only."""

from __future__ import annotations

import ipaddress

MOST_PORT = 65535


class AddressError(ValueError):
    """No address a server may have; one line that says what is."""


def loopback(host: str, setting: str, text: str = "") -> str:
    """The host, if it is this machine by a name or number that can mean no other.

    Args:
        host: Name or number.
        setting: What the error names.
        text: What was typed there; the host alone by default.

    Raises:
        AddressError: It is not.
    """
    if host == "localhost":
        return "127.0.0.1"
    try:
        known = ipaddress.ip_address(host).is_loopback
    except ValueError:
        known = False
    if not known:
        raise AddressError(
            f"{setting}={text or host}: must be 127.0.0.1, ::1 or localhost; to reach another machine, take an SSH "
            "tunnel"
        )
    return host


def parse_address(text: str, setting: str) -> tuple[str, int]:
    """`HOST:PORT` as host and port.

    Raises:
        AddressError: It is none.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or not 0 < int(port) <= MOST_PORT:
        raise AddressError(f"{setting}={text}: must be HOST:PORT, such as 127.0.0.1:5555")
    return loopback(host.strip("[]"), setting, text), int(port)
