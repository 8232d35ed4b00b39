"""Regular expressions as Perl and rspamd write them, as patterns of RE2; pure."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from oborona.policy.expression.fault import PatternError
from oborona.policy.expression.patterns import compile_pattern

_ENDS: Final = {"(": ")", "{": "}", "[": "]", "<": ">"}
_FLAGS: Final = re.compile(r"[a-zA-Z]*")
_BEGIN: Final = re.compile(r"(?:(?:m|qr)\s*(?=[^\s\w])|(?=/))")
_KEPT: Final = frozenset("ims")
_NOTHING: Final = frozenset("cgopurnOuHPXQUBDMVR")  # say how or where to look, and not for what
_HIGH: Final = re.compile(r"\\x(?:\{0*[89a-fA-F][0-9a-fA-F]\}|[89a-fA-F][0-9a-fA-F])")


class TheirPattern(NamedTuple):
    """A pattern, and what stood behind it.

    Args:
        text: for RE2, its flags within.
        body: as it is written, without ends and flags.
        anchored: it begins at the beginning of what is looked at.
        rest: what follows in the line.
    """

    text: str
    body: str
    anchored: bool
    rest: str


def pattern_of(text: str) -> TheirPattern:
    """Return the pattern that a text begins with: /re/i, m{re}x, qr're'.

    Raises:
        ValueError: RE2 has no such pattern; it says why.
    """
    text = text.lstrip()
    begin = _BEGIN.match(text)
    if begin is None or begin.end() >= len(text):
        raise ValueError("is no regular expression")
    opening = text[begin.end()]
    body, end = _body(text, begin.end() + 1, opening, _ENDS.get(opening, opening))
    flags = _FLAGS.match(text, end)
    assert flags is not None  # it may be empty
    return TheirPattern(
        checked_pattern(body, flags.group()),
        body,
        body.startswith(("^", r"\A")),
        text[flags.end() :].strip(),
    )


def _body(text: str, start: int, opening: str, closing: str) -> tuple[str, int]:
    """Return what stands between the ends of a pattern, and where it is over."""
    pieces, depth, index = list[str](), 0, start
    while index < len(text):
        letter = text[index]
        if letter == "\\" and index + 1 < len(text):
            following = text[index + 1]
            # the end of the pattern itself is escaped for Perl's reader alone
            bare = following == closing and closing in "/'\"!,;@%&~="
            pieces.append(following if bare else letter + following)
            index += 2
            continue
        if letter == closing and not depth:
            return "".join(pieces), index + 1
        if opening != closing:
            depth += (letter == opening) - (letter == closing)
        pieces.append(letter)
        index += 1
    raise ValueError("is a regular expression without an end")


def checked_pattern(body: str, flags: str = "") -> str:
    """Return a pattern of RE2 with flags of Perl.

    Raises:
        ValueError: RE2 has no such pattern; it says why.
    """
    if "x" in flags:
        raise ValueError("its flag x lets it hold spaces and comments: write it without")
    unknown = set(flags) - _KEPT - _NOTHING
    if unknown:
        raise ValueError(f"has the flag {min(unknown)}, which RE2 does not know")
    if not body:
        raise ValueError("is an empty regular expression, which finds everything")
    if _HIGH.search(body):
        raise ValueError("names octets of a charset; here a pattern has letters")
    kept = "".join(sorted(_KEPT & set(flags)))
    pattern = f"(?{kept}){body}" if kept else body
    try:
        compile_pattern(pattern)
    except PatternError as fault:
        raise ValueError(f"RE2 does not take it: {fault}") from None
    return pattern
