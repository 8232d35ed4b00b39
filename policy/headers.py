"""The headers that we write, and those that came in under our names and must go.

Source: RFC 8601 section 5 (removing forged Authentication-Results); the X-Mras family is ours.
"""

from __future__ import annotations

import re
from email.header import Header
from typing import Final

from oborona.types import Action, Verdict

FAMILY: Final = "x-mras"
FLAG: Final = "x-spam-flag"
RESULTS_NAME: Final = "Authentication-Results"
RESULTS: Final = RESULTS_NAME.lower()
OUR_NAMES: Final = (FAMILY, FLAG, RESULTS)  # how the name of a header begins that may be `foreign`
FOLD: Final = 76  # columns, RFC 5322 section 2.1.1

REASON_LENGTH: Final = (
    4000  # characters of all rules together: some forty lines of a header, that no mail server refuses
)
LOOKED_AT: Final = 1000  # characters of a value: an id behind a longer comment is nobody's honest id

_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_TOKEN: Final = re.compile(r'([^\s()<>@,;:\\"/\[\]?=]++)')
WORDS: Final = {
    Action.ACCEPT: "Ok",
    Action.SPAM: "Probable",
    Action.REJECT: "Spam",
    Action.TEMPFAIL: "Probable",
}


def foreign(name: str, value: str, site: str) -> bool:
    """Tell whether a header that came in bears a name or an identity that is ours alone.

    Args:
        name: lower case.
        value: as sent; folding and comments do not matter.
        site: our authserv-id.
    """
    if name.startswith(FAMILY):
        return name == FAMILY or name[len(FAMILY)] == "-"
    if name == FLAG:
        return True
    if name != RESULTS:
        return False
    ident = _authserv_id(value[:LOOKED_AT])
    return ident is None or ident == site.lower().rstrip(".")


def _authserv_id(value: str) -> str | None:
    """Return the authserv-id of an Authentication-Results value in lower case; None where it can't be told, and nobody should trust it.

    Source: RFC 8601 section 2.2, with comments and quoted strings of RFC 5322 section 3.2.
    """
    depth, place = 0, 0
    while place < len(value):
        letter = value[place]
        if letter == "\\":
            place += 1
        elif letter == "(":
            depth += 1
        elif letter == ")" and depth:
            depth -= 1
        elif not depth and not letter.isspace():
            found = _QUOTED.match(value, place) or _TOKEN.match(value, place)
            return found[1].replace("\\", "").lower().rstrip(".") if found else None
        place += 1
    return None


def reason(verdict: Verdict) -> str:
    """Return why, in one line of at most some `REASON_LENGTH` characters: who decided, if it was no rule; each rule's part, heaviest first,
    those in shadow mode marked and last; what everything in shadow mode would have made of it.
    """
    parts = [] if any(hit.name == verdict.decided_by for hit in verdict.rules) else [verdict.decided_by]
    if not verdict.rules:
        parts = [f"{verdict.decided_by}(no rule fired)"]
    room = REASON_LENGTH
    for place, hit in enumerate(verdict.rules):
        part = f"{hit.name}={hit.score:.1f}{f'({hit.say})' if hit.say else ''}{'[shadow]' if hit.mode == 'shadow' else ''}"
        room -= len(part) + 1
        if room < 0:
            parts.append(f"({len(verdict.rules) - place} more)")
            break
        parts.append(part)
    if verdict.would is not None:
        parts.append(f"would:{verdict.would.action}={verdict.would.score:.1f}[shadow]")
    return " ".join(parts)


def ours(verdict: Verdict, ident: str) -> tuple[tuple[str, str], ...]:
    """Return the headers of a message that passes, in the order they are written; its trace header is `trace`'s.

    Args:
        verdict: accept, spam, or reject where refusing is switched off.
        ident: the signed journal id.

    Returns:
        Name and value; values are ASCII, folded with a line feed and a tab, no line longer than 998 octets.
    """
    headers = [
        ("X-Mras", WORDS[verdict.action]),
        ("X-Mras-Score", f"{verdict.score:.1f} / {verdict.line:g}"),
        ("X-Mras-Reason", fold(reason(verdict), len("X-Mras-Reason: "))),
        ("X-Mras-Id", ident),
    ]
    if verdict.action is not Action.ACCEPT:
        headers.append(("X-Spam-Flag", "YES"))
    return tuple(headers)


def trace(results: str) -> tuple[str, str]:
    """Return the header that says what authentication found; it goes above all others (RFC 8601 section 5).

    Args:
        results: its value, one line of ASCII.
    """
    return RESULTS_NAME, fold(results, len(RESULTS_NAME) + 2)


def fold(text: str, used: int) -> str:
    """Return a header value in lines that end at spaces; what is not ASCII is written by RFC 2047.

    Args:
        text: one line without control characters.
        used: columns that the header's name takes of the first line.
    """
    if not text.isascii():
        return Header(text, "utf-8", maxlinelen=FOLD, header_name="x" * used, continuation_ws="\t").encode(
            linesep="\n"
        )
    lines, room = [""], FOLD - used
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append(word)
            room = FOLD - 1
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
        while (
            len(lines[-1]) > 900
        ):  # a word without spaces is cut before the 998 octets of RFC 5322 section 2.1.1
            lines[-1:] = [lines[-1][:900], lines[-1][900:]]
    return "\n\t".join(lines)
