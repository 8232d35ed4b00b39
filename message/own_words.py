"""What a sender wrote himself: a text without quotations, signature and the footer that a list or provider appends.

Answers in one thread quote the same lines, and letters of one list end in the same footer, so both look like copies of each other; what
their writers added does not. Cut are

    quoted lines       beginning with > or |, with or without initials, and the line that introduces them
    an old message     from "-----Original Message-----" on
    a signature        from a line "-- " on
    a footer           from a line of ten and more - _ = ~ * # on, if no more than `TAIL_WORDS` words follow

Where all of it would go, nothing goes: a text that is one quotation is its sender's own. Known limits: HTML says quotation by its
structure, which is not looked at; a sender who hides behind two words and a quotation has no fingerprint, only exact copies meet.
"""

from __future__ import annotations

import re
from typing import Final

TAIL_WORDS: Final = 80  # of a signature or footer; Yahoo! Groups and large companies reach 70
MAX_LINES: Final = 5000  # looked at: a long text is not told by its footer

_MAY_HOLD: Final = re.compile(r"^[ \t]{0,3}(?:\w{0,3}[>|]|-- ?$|-{2,}|[-_=~*#]{10})", re.MULTILINE)
_MARKED: Final = re.compile(r"[ \t]*(?:[-_=~*#]|\w{0,3}[>|])")  # a line that any of those below can match
_QUOTED: Final = re.compile(r"[ \t]{0,3}\w{0,3}[>|]")
_SAYS: Final = re.compile(
    r".{0,200}\b(?:wrote|writes|said|schrieb|a écrit|escribió|ha scritto|pisze|napisał\w?|пишет|писал[аи]?|написал[аи]?)\W{0,3}$",
    re.IGNORECASE,
)
_OLD: Final = re.compile(
    r"[ \t]*[-_]{2,}[ \t]*(?:original message|forwarded message|forwarded by|ursprüngliche nachricht|message d'origine|"
    r"mensaje original|messaggio originale|исходное сообщение|пересылаемое сообщение)",
    re.IGNORECASE,
)
_SIGNATURE: Final = re.compile(r"-- ?")
_RULE: Final = re.compile(r"[ \t]*[-_=~*#]{10}")


def own_words(text: str) -> str:
    """Return the lines of a text that its sender wrote; the text itself when there is nothing to cut, or nothing else.

    Args:
        text: what a reader sees, lines kept, not normalised.
    """
    if _MAY_HOLD.search(text) is None:
        return text
    own: list[str] = []
    judged = None
    lines = text.split("\n", MAX_LINES)
    tail = _tail(lines)
    for place, line in enumerate(lines):
        if _MARKED.match(line) is None:
            own.append(line)
            continue
        if _OLD.match(line):
            break
        if _SIGNATURE.fullmatch(line) or _RULE.match(line):
            if place >= tail:
                break
        elif _QUOTED.match(line):
            if own and own[-1] is not judged:  # once for all the lines quoted below it
                judged = own[-1]
                if _SAYS.fullmatch(judged):
                    own.pop()
            continue
        own.append(line)
    return "\n".join(own) if any(line.strip() for line in own) else text


def _tail(lines: list[str]) -> int:
    """Return the first line from which on no more than `TAIL_WORDS` words are left."""
    words = 0
    for place in range(len(lines) - 1, -1, -1):
        words += len(lines[place].split())
        if words > TAIL_WORDS:
            return place + 1
    return 0
