"""The message names a well-known mail program, and its Message-ID is not one that this program
writes.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "forged-mailer"

LOOKED_AT: Final = 200  # characters of a Message-ID: those of honest programs are shorter

_HEX: Final = "[0-9a-f]"
_DOLLARS: Final = rf"{_HEX}{{12}}\${_HEX}{{8}}\${_HEX}{{8}}@"
_UUID: Final = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}@"
_SHAPES: Final = (
    # Outlook Express and Windows Mail; Hotmail and MSN number what came to them over HTTP
    # themselves
    (
        "microsoft outlook express",
        rf"{_DOLLARS}|{_HEX}{{32}}@|[a-z]+\d+[\w.-]*@(?:[\w.-]+\.)?(?:hotmail|msn|live|passport|phx|msnusers)\.",
    ),
    ("microsoft outlook imo", rf"[a-z]{{20,}}\.|{_DOLLARS}"),
    ("microsoft windows mail", rf"{_HEX}{{32}}@|{_DOLLARS}"),
    ("microsoft windows live mail", rf"{_HEX}{{32}}@|[\w-]+@phx\.gbl"),
    ("the bat!", r"\d{4,20}\.\d{14}@"),
    ("apple mail", _UUID),
    ("iphone mail", _UUID),
    ("ipad mail", _UUID),
    ("mozilla thunderbird", rf"{_UUID}|{_HEX}{{6,8}}\.[0-9a-f]{{6,8}}@"),
    ("qualcomm windows eudora", r"\d+\.\d+\.\d+|[a-z]\d{2,}[0-9a-z]+@"),
)
"""How X-Mailer or User-Agent begins → how the Message-ID must begin, both in lower case."""

_COMPILED: Final = tuple((name, re.compile(shape)) for name, shape in _SHAPES)


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the program and the Message-ID that does not fit.

    A program that is not in the table, and a message that has no Message-ID at all, say nothing
    here.
    """
    message = context.message
    if not message.message_id:
        return None
    mailer = (message.get("x-mailer") or message.get("user-agent") or "").strip().lower()
    if "macintosh" in mailer:  # the same names, other numbers
        return None
    for name, shape in _COMPILED:
        if mailer.startswith(name):
            number = message.message_id[:LOOKED_AT].lower()
            return None if shape.match(number) else Finding(SLUG, quoted(f"{name}: {number}", 120))
    return None
