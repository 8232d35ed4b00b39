"""OpenSMTPD's filter protocol, line by line: what smtpd asks or reports, and the answers.  No
socket, no clock.

    filter|0.7|1576146008.006099|smtp-in|rcpt-to|SESSION|TOKEN|joe@example.test      →
    filter-result|SESSION|TOKEN|proceed report|0.7|1576146008.006099|smtp-in|link-disconnect|SESSION

Source: smtpd-filters(7); lka_filter.c of OpenSMTPD 6.8 (protocol 0.6) and 7.8 (0.7).  Before 0.5
answers had the token first.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from oborona.errors import PeerError

_ASKED: Final = re.compile(
    rb"(?:filter|report)\|(0\.(?:[5-9]|\d\d)|[1-9]\d?\.\d\d?)\|[0-9.]+\|smtp-in\|([a-z-]+)\|([0-9a-f]{1,16})(?:\|(.*))?",
    re.DOTALL,
)
_TOKEN: Final = re.compile(rb"([0-9a-f]{1,16})(?:\|(.*))?", re.DOTALL)


class FilterLine(NamedTuple):
    """What smtpd asks or reports."""

    what: bytes  # phase or event
    session: bytes
    rest: bytes  # parameters; a | parts all but the last
    token: bytes = b""  # what is asked has one, and waits for its answer
    version: bytes = b""


def read(line: bytes) -> FilterLine:
    """Return what a line says.

    Raises:
        PeerError: it is none of this protocol.
    """
    asks = line.startswith(b"filter|")
    match = _ASKED.fullmatch(line)
    token = _TOKEN.fullmatch(match[4] or b"") if match and asks else None
    if match is None or (asks and token is None):
        raise PeerError(f"no line of OpenSMTPD's filter protocol: {line[:80]!r}")
    return FilterLine(
        match[2],
        match[3],
        (token or match)[2 if token else 4] or b"",
        token[1] if token else b"",
        match[1],
    )


def result(line: FilterLine, decision: str) -> bytes:
    """Return the answer to what is asked in a phase: one decision, with its text."""
    return b"filter-result|%b|%b|%b\n" % (
        line.session,
        line.token,
        decision.encode("ascii", "replace"),
    )


def content(line: FilterLine, message: bytes) -> bytes:
    """Return a message, CRLF at the end of each of its lines, as the answer to these."""
    start = b"filter-dataline|%b|%b|" % (line.session, line.token)
    stuffed = (
        b"." + line if line.startswith(b".") else line for line in message.split(b"\r\n")[:-1]
    )
    return b"".join(b"%b%b\n" % (start, line) for line in (*stuffed, b"."))
