"""Host names whose letters are not what they seem: xn--pypal-4ve.com reads paypal.com, with a
Cyrillic a.

A label is one when it mixes scripts that no language mixes (UTS 39 s5.2, "highly restrictive"), or
when all its letters are of another script but look like ASCII ones and the suffix is ASCII: what
browsers show as xn-- for the same reason.

Known limits: a script is the first word of a character's Unicode name; Latin letters with marks
(páypal) are one script and pass.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

from oborona.message.normalise import normalise

_TOGETHER: Final = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)


@lru_cache(maxsize=1024)
def looks_like(host: str) -> str:
    """Return the ASCII name that a host is made to look like, empty when it is what it seems.

    Args:
        host: in lower case, in A-labels (xn--) or not.
    """
    if host.isascii() and "xn--" not in host:
        return ""
    labels = [shown_label(label) for label in host.split(".")]
    foreign_suffix = not labels[-1].isascii()
    if not any(_mixed(label) or (not foreign_suffix and _painted(label)) for label in labels):
        return ""
    return normalise(".".join(labels))


def shown_label(label: str) -> str:
    """Return a label as a reader sees it; as it is when it cannot be decoded (RFC 3492)."""
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


def _scripts(label: str) -> set[str]:
    return {
        unicodedata.name(character, "UNKNOWN").partition(" ")[0]
        for character in label
        if character.isalpha()
    }


def _mixed(label: str) -> bool:
    scripts = _scripts(label)
    return len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER)


def _painted(label: str) -> bool:
    """Return whether all letters are of one other script, and all look like ASCII."""
    return (
        not label.isascii() and _scripts(label).isdisjoint({"LATIN"}) and normalise(label).isascii()
    )
