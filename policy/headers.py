"""The headers that we write, and the incoming headers under our names, which must be removed.

Source: RFC 8601 section 5 (removing forged Authentication-Results); the X-Mras family is ours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from email.header import Header
from enum import StrEnum
from typing import Final

from oborona.types import Action, RuleMode, Verdict

FAMILY: Final = "x-mras"
FLAG: Final = "x-spam-flag"
RESULTS_NAME: Final = "Authentication-Results"
RESULTS: Final = RESULTS_NAME.lower()
OUR_NAMES: Final = (
    FAMILY,
    FLAG,
    RESULTS,
)  # how the name of a header begins that may be `is_forged_header`
FOLD: Final = 76  # columns, RFC 5322 section 2.1.1

# characters of all rules together: some forty lines of a header, that no mail server refuses
REASON_LENGTH: Final = 4000
# characters of a value: an id behind a longer comment is nobody's honest id
LOOKED_AT: Final = 1000

_QUOTED: Final = re.compile(r'"((?>[^"\\]|\\.)*+)"', re.DOTALL)
_TOKEN: Final = re.compile(
    r'((?>[^\s()<>@,;:\\"/\[\]?=]|\\.)++)', re.DOTALL
)  # a backslash without quotes is wrong, and read by some
_NO_LETTERS: Final = {
    0xAD: None,
    0x200B: None,
    0x2060: None,
    0xFEFF: None,
    0x3002: ".",
}  # as UTS 46 maps them in a name
WORDS: Final = {
    Action.ACCEPT: "Ok",
    Action.SPAM: "Probable",
    Action.REJECT: "Spam",
    Action.TEMPFAIL: "Probable",
}


def is_forged_header(name: str, value: str, site: str) -> bool:
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
    """Return the authserv-id of an Authentication-Results value in lower case.

    None where it can't be told, and nobody should trust it.

    Source: RFC 8601 section 2.2, with comments and quoted strings of RFC 5322 section 3.2.
    """
    depth, place = 0, 0
    while place < len(value):
        letter = value[place]
        if letter == "\\" and depth:
            place += 1
        elif letter == "(":
            depth += 1
        elif letter == ")" and depth:
            depth -= 1
        elif not depth and not letter.isspace():
            match = _QUOTED.match(value, place) or _TOKEN.match(value, place)
            return _name(match[1].replace("\\", "")) if match else None
        place += 1
    return None


def _name(text: str) -> str:
    """Return a name as whoever is lenient compares it: in lower case, each letter in its usual
    width, without what nobody sees.
    """
    if not text.isascii():
        # it came as octets
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        text = unicodedata.normalize("NFKC", text).translate(_NO_LETTERS)
    return text.lower().rstrip(".")


class HeaderDetail(StrEnum):
    """How much a message says of why."""

    FULL = "full"  # rules with scores and words, those in shadow mode too
    NAMES = "names"  # of live rules
    NONE = "none"  # neither reason nor score


def reason(verdict: Verdict, detail: HeaderDetail = HeaderDetail.FULL) -> str:
    """Return why, in one line of at most some `REASON_LENGTH` characters: who decided, if it was no
    rule; then the rules, heaviest first.

    Args:
        verdict: of a message or a stage.
        detail: full: with each rule's part and words, those in shadow mode marked and last, and
            what everything in shadow mode would have made of it.  names: those of live rules alone.
            none: empty; but the name of a list that decided whatever the score, which says nothing
                of scores, and by which copies are delivered.
    """
    if detail is HeaderDetail.NONE:
        first = verdict.rules[0] if verdict.rules else None
        return first.name if first and first.name == verdict.decided_by and not first.score else ""
    full = detail is HeaderDetail.FULL
    hits = [
        hit
        for hit in verdict.rules
        if full or (hit.mode is RuleMode.LIVE and (hit.score or hit.name == verdict.decided_by))
    ]
    parts = [] if any(hit.name == verdict.decided_by for hit in hits) else [verdict.decided_by]
    if full and not hits:
        why = next(
            (
                finding.evidence
                for finding in verdict.findings
                if finding.name == verdict.decided_by
            ),
            "",
        )
        parts = [f"{verdict.decided_by}({why or 'no rule fired'})"]
    parts += _shortened(
        f"{hit.name}={hit.score:.1f}{f'({hit.say})' if hit.say else ''}{'[shadow]' if hit.mode == 'shadow' else ''}"
        if full
        else hit.name
        for hit in hits
    )
    if full and verdict.would is not None:
        parts.append(f"would:{verdict.would.action}={verdict.would.score:.1f}[shadow]")
    return " ".join(parts)


def _shortened(parts: Iterable[str]) -> list[str]:
    """Return as many as there is room for, and how many more there are."""
    every, room = list(parts), REASON_LENGTH
    for place, part in enumerate(every):
        room -= len(part) + 1
        if room < 0:
            return [*every[:place], f"({len(every) - place} more)"]
    return every


def our_headers(verdict: Verdict, ident: str, detail: HeaderDetail) -> tuple[tuple[str, str], ...]:
    """Return the headers of a message that passes, in the order they are written.

    Its trace header is `trace_header`'s.

    Args:
        verdict: accept, spam, or reject where refusing is switched off.
        ident: the signed journal id.
        detail: how much they say of why.

    Returns:
        Name and value; values are ASCII, folded with a line feed and a tab, no line longer than 998
        octets.
    """
    headers = verdict_headers(
        verdict.action,
        None if detail is HeaderDetail.NONE else verdict.score,
        verdict.line,
        reason(verdict, detail),
    )
    headers.append(id_header(ident))
    if verdict.action is not Action.ACCEPT:
        headers.append(("X-Spam-Flag", "YES"))
    return tuple(headers)


def id_header(ident: str) -> tuple[str, str]:
    """Return the header that bears the signed journal id, by which reports find the message."""
    return "X-Mras-Id", ident


def verdict_headers(
    action: Action, score: float | None, line: float, why: str
) -> list[tuple[str, str]]:
    """Return the headers that say a verdict.

    Args:
        action: as of `our_headers`.
        score: None: it is not told.
        line: that the score was held to.
        why: one line; empty: it is not told.
    """
    headers = [("X-Mras", WORDS[action])]
    if score is not None:
        headers.append(("X-Mras-Score", f"{score:.1f} / {line:g}"))
    if why:
        headers.append(("X-Mras-Reason", fold(why, len("X-Mras-Reason: "))))
    return headers


def trace_header(results: str) -> tuple[str, str]:
    """Return the header that says what authentication found.

    It goes above all others (RFC 8601 section 5).

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
        return Header(
            text, "utf-8", maxlinelen=FOLD, header_name="x" * used, continuation_ws="\t"
        ).encode(linesep="\n")
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
