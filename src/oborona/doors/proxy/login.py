"""The login name in an AUTH exchange, for the mechanisms in which the client sends it readably; no
socket.

Only those are offered: whoever logs in by another would be a stranger to us, and one of our own
people to the next hop.

Source: RFC 4954; RFC 4616 (PLAIN), 2195 (CRAM-MD5); LOGIN and XOAUTH2 as their clients write them.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from oborona.doors.arguments import peer_text

MECHANISMS: Final = (b"PLAIN", b"LOGIN", b"CRAM-MD5", b"XOAUTH2")
MAX_TURNS: Final = 10  # of challenge and answer; none of these has more than two

_XOAUTH2_USER: Final = re.compile(rb"user=([^\x01]+)\x01")


def is_base64_line(line: bytes) -> bool:
    """Tell whether a line is one that a client may say in its turn: base64, "=" for nothing, or "*"
    to give up.
    """
    return line in (b"*", b"=", b"") or bool(_BASE64.fullmatch(line))


def login_name(mechanism: bytes, lines: list[bytes]) -> str:
    """Return the login name, empty where it can't be read.

    Args:
        mechanism: one of `MECHANISMS`.
        lines: of the client, base64, the initial response first.
    """
    if not lines:
        return ""
    try:
        first = base64.b64decode(lines[0], validate=True)
    except (binascii.Error, ValueError):
        return ""
    match mechanism:
        case b"PLAIN":
            parts = first.split(b"\0")
            login = (parts[0] or parts[1]) if len(parts) == 3 else b""  # on whose behalf, else who
        case b"LOGIN":
            login = first
        case b"CRAM-MD5":
            login = first.rpartition(b" ")[0]
        case b"XOAUTH2":
            user = _XOAUTH2_USER.match(first)
            login = user[1] if user else b""
        case _:
            login = b""
    shown = peer_text(login)
    return shown if shown.isprintable() else ""


_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]+={0,2}")
