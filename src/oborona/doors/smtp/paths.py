"""MAIL and RCPT as a mail server writes them: the address, untouched, and its parameters.

No socket.

The library's own reading makes addresses anew and writes parameters in capitals; what goes on to
the mailboxes has to be what came.

Source: RFC 5321 sections 4.1.1.2, 4.1.1.3 and 4.1.2; RFC 6531 for addresses in UTF-8.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MAX_PATH: Final = 1024  # bytes; RFC 5321 section 4.5.3.1.3 says 256, in characters of one byte each

_QUOTED: Final = rb'"(?>[^"\\\x00-\x1f\x7f]|\\[\x20-\x7e])*+"'
_PATH: Final = re.compile(
    rb"[ ]*<((?>" + _QUOTED + rb'|[^<>"\x00-\x20\x7f])*+)>(?:[ ]+([^\x00-\x1f\x7f]*))?', re.DOTALL
)
_PARAMETER: Final = re.compile(rb"[A-Za-z0-9][A-Za-z0-9-]*(?:=[!-<>-~\x80-\xff]+)?")


class SmtpPath(NamedTuple):
    """The path of MAIL or RCPT, with its parameters."""

    address: bytes  # between the angle brackets; empty = nobody, the sender of a bounce
    parameters: dict[str, bytes]  # by name in capitals; b"" for one without a value


def parse_path(argument: bytes, keyword: bytes) -> SmtpPath | None:
    """Return what a command names, None where it is not written as it must be.

    Args:
        argument: of MAIL or RCPT, all behind that word.
        keyword: b"FROM:" or b"TO:".
    """
    if argument[: len(keyword)].upper() != keyword:
        return None
    match = _PATH.fullmatch(argument, len(keyword))
    if match is None or len(match[1]) > MAX_PATH:
        return None
    parameters: dict[str, bytes] = {}
    for word in (match[2] or b"").split():
        if not _PARAMETER.fullmatch(word):
            return None
        name, _, value = word.partition(b"=")
        if (key := name.decode("ascii").upper()) in parameters:
            return None
        parameters[key] = value
    return SmtpPath(match[1], parameters)
