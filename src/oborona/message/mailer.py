"""The program that wrote a message, by its own word: X-Mailer or User-Agent, without what changes
from one build of it to the next.

    Microsoft Outlook Express 6.00.2800.1106      microsoft outlook express 6
    iPhone Mail (16G77)                           iphone mail
    Mozilla/5.0 (X11; U; rv:1.4) Gecko/20030624   mozilla/5 gecko

Of a version the major number stays: forgers copy one program and keep to it, and its people move on
together. What stands in brackets is systems, languages and builds. The name alone counts, whatever
its letters look like. Fields as sent are for rules, by the fact `mailer`.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.model import Message
from oborona.message.normalise import normalise

MAX_CHARACTERS: Final = 200  # of the field: the longest of browsers' names
MIN_LETTERS: Final = 3  # of what is left: "pine" has four

_BRACKETED: Final = re.compile(r"[(\[<{][^()\[\]<>{}]*(?:[)\]>}]|\Z)")
# 6.00.2800.1106, v2.00, 3.44.4-0ubuntu2
_VERSION: Final = re.compile(r"(?<![^\W\d_])v?(\d+)(?:[._-]\w*)*")
# 7/13/2001; 20030624; 8f3a9c1e; words that say no more than that a version follows
_BUILD: Final = re.compile(
    r"\d+/\d+/\d+|\d{5,}|(?<!\w)(?=[^\W\d]*+\d)(?=\d*+[^\W\d])\w{8,}|\b(?:version|ver|build|release|rev|v)\b"
)
_LOOSE: Final = re.compile(r"[/:;,.\-\s]+(?=\s|\Z)|(?<!\S)[/:;,.\-]+")


def program(message: Message) -> str:
    """Return the program's name and major version, normalised.

    Empty when it says none of `MIN_LETTERS`.
    """
    stated = message.get("x-mailer") or message.get("user-agent")
    if not stated:
        return ""
    name = normalise(stated[:MAX_CHARACTERS])
    name = _BRACKETED.sub(" ", _BRACKETED.sub(" ", name))  # brackets in brackets
    name = _VERSION.sub(_major, _BUILD.sub("", name))
    name = " ".join(_LOOSE.sub(" ", name).split())
    return name if sum(map(str.isalpha, name)) >= MIN_LETTERS else ""


def _major(version: re.Match[str]) -> str:
    return version[1].lstrip("0") or "0"
