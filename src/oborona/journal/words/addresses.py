"""What search files know of addresses beside runs of three letters: words for what stands around
an @, and for whole domains; pure.

Runs of three letters of many addresses in one block are mixed: most blocks have all runs of an
address that none of them has.  A word of a *window*, some letters on both sides of an @, is in few.
A text with an @ that stands anywhere in a message has its windows there, and a domain its word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from zlib import crc32

_BEFORE: Final = (6, 3)  # letters of a window before the @
_BEHIND: Final = 5
_LETTER: Final = r"[^\x00-\x20\"<>\[\](),;:\\@]"
# a run of letters is entered at its beginning alone, and never twice
_AROUND: Final = re.compile(
    rf"(?<!{_LETTER})({_LETTER}{{{_BEFORE[-1]},}}+@)(?=({_LETTER}{{{_BEHIND}}}))"
)
_AFTER: Final = re.compile(r"@([^\s@<>\"]+)")  # as domains are compared: `search_condition`
_NAMES: Final = re.compile(r"[\w.-]+")
_DOMAIN: Final = re.compile(r"[\w-]+(?:\.[\w-]+){1,4}")
_LABELS: Final = 5  # of a domain, from its end: more are asked for by their runs of letters


def address_words(text: str) -> set[str]:
    """Return the words of what may be all addresses.

    Args:
        text: folded.
    """
    windows = {
        before[-left - 1 :] + after
        for before, after in _AROUND.findall(text)
        for left in _BEFORE
        if left < len(before)
    }
    windows.update(_domains(text))
    return set(map(_word, windows))


def wide_words(text: str) -> set[str]:
    """Return words of windows of the most letters alone, of a text whose addresses are all others,
    such as a Message-ID.

    Args:
        text: folded.
    """
    most = _BEFORE[0]
    return {
        _word(before[-most - 1 :] + after)
        for before, after in _AROUND.findall(text)
        if most < len(before)
    }


def asked_words(text: str, *, wide: bool = False) -> list[str]:
    """Return words that a text has which a part of it is asked for; none where there is no @, or
    too little around it.

    Args:
        text: what is asked for, folded.
        wide: it may stand where `wide_words` alone are known.
    """
    found = list[str]()
    for before, after in _AROUND.findall(text):
        left = next(number for number in _BEFORE if number < len(before))
        if left == _BEFORE[0] or not wide:
            found.append(_word(before[-left - 1 :] + after))
    return found


def asked_domain(text: str) -> list[str]:
    """Return the word of a text that has an address in a domain, or in one below it; none where it
    has too few labels, or too many.

    Args:
        text: the domain, folded.
    """
    return [_word(f"@{text}")] if _DOMAIN.fullmatch(text) else []


def _domains(text: str) -> Iterator[str]:
    """Yield each domain of two labels and more that an @ stands before, and those above it, after
    an @.
    """
    for run in set(_AFTER.findall(text)):
        for names in _NAMES.finditer(run):
            labels = names[0].split(".")
            first = max(0 if names.start() == 0 else 1, len(labels) - _LABELS)
            for place in range(first, len(labels) - 1):
                yield "@" + ".".join(labels[place:])


def _word(text: str) -> str:
    """Return a word of letters and digits that few texts share."""
    return f"{crc32(text.encode('utf-8', 'surrogatepass')):x}"
