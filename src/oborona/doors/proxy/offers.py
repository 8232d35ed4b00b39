"""What the proxy offers its clients: what the next hop can do, as far as we can pass it on, and
what we do ourselves; no socket.

Source: RFC 5321 section 4.1.1.1; RFC 1870 (SIZE), 2920 (PIPELINING), 6152 (8BITMIME), 6531
(SMTPUTF8), 3461 (DSN), 4954 (AUTH), 2034 (ENHANCEDSTATUSCODES).  CHUNKING and BINARYMIME are not
offered: a message is passed on by DATA.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from oborona.doors.proxy.login import MECHANISMS
from oborona.doors.smtp.paths import SmtpPath
from oborona.doors.smtp.replies import SmtpReply

_AS_THEY_ARE: Final = ("8BITMIME", "SMTPUTF8", "DSN", "ENHANCEDSTATUSCODES")
_NEEDS: Final = {  # what a parameter of MAIL or RCPT is an extension of
    b"MAIL": {
        "SIZE": "SIZE",
        "BODY": "8BITMIME",
        "SMTPUTF8": "SMTPUTF8",
        "RET": "DSN",
        "ENVID": "DSN",
        "AUTH": "AUTH",
    },
    b"RCPT": {"NOTIFY": "DSN", "ORCPT": "DSN"},
}
_BODIES: Final = (b"7BIT", b"8BITMIME")

Offers = Mapping[str, bytes]
"""Of the next hop: by the name of the extension, what stands behind it."""


def size_limit(theirs: Offers, ours: int) -> int:
    """Return the bytes that a message may have, for us and for the next hop."""
    parameters = theirs.get("SIZE", b"").split()
    limit = (
        int(parameters[0])
        if parameters and parameters[0].isdigit() and len(parameters[0]) <= 20
        else 0
    )
    return min(limit, ours) if limit else ours


def hello_answer(
    answer: SmtpReply, theirs: Offers, own: list[bytes], *, limit: int, auth: bool
) -> bytes:
    """Return the answer to EHLO or LHLO.

    Args:
        answer: of the next hop; its first line is kept.
        theirs: what it offers.
        own: what we offer besides.
        limit: bytes of a message, for us.
        auth: whether to let clients log in.
    """
    words = [answer.lines[0][4:], b"PIPELINING", b"SIZE %d" % size_limit(theirs, limit)]
    words += [name.encode("ascii") for name in _AS_THEY_ARE if name in theirs]
    mechanisms = [
        mechanism
        for mechanism in theirs.get("AUTH", b"").upper().split()
        if mechanism in MECHANISMS
    ]
    if auth and mechanisms:
        words.append(b"AUTH " + b" ".join(mechanisms))
    words += own
    return b"".join(
        b"250%s%s\r\n" % (b"-" if number < len(words) else b" ", word)
        for number, word in enumerate(words, start=1)
    )


def next_hop_command(verb: bytes, keyword: bytes, named: SmtpPath, theirs: Offers) -> bytes | None:
    """Return MAIL or RCPT as the next hop is told, None where it has a parameter that was not
    offered.

    Args:
        verb: MAIL or RCPT.
        keyword: b"FROM:" or b"TO:".
        named: by the client.
        theirs: what the next hop offers.
    """
    words = [b"%s %s<%s>" % (verb, keyword, named.address)]
    for name, value in named.parameters.items():
        needs = _NEEDS[verb].get(name)
        if needs is None or (needs not in theirs and needs != "SIZE"):
            return None
        if name == "BODY" and value.upper() not in _BODIES:
            return None
        if needs in theirs:
            words.append(
                b"%s=%s" % (name.encode("ascii"), value) if value else name.encode("ascii")
            )
    return b" ".join(words)
