"""A text without what changes from copy to copy: links, addresses, numbers, and the reader's own
name.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.core import template_words
from oborona.message.model import Mailbox
from oborona.message.obfuscation import join_spaced_letters, letters_for_signs

_PUNCTUATION: Final = b"!\"#$%&'()*+,-./:;<=>?[\\]^_`{|}~"
# where one octet of so many is a digit, looking at each word is faster than finding those that vary
MANY_VARY: Final = 16
_VARIES: Final = ord("0")  # stands for any digit, for @, and for what makes a link
_MARKED_VARYING: Final = bytes.maketrans(b"123456789@", b"0" * 10)
_TO_SPACES: Final = bytes.maketrans(_PUNCTUATION, b" " * len(_PUNCTUATION))
_NAME: Final = re.compile(r"[^\W\d_]{3,}")
_ANSWERED: Final = re.compile(r"^(?:(?:re|fwd?|aw|wg|sv|vs|ha|ответ|пересл)(?:\[\d+\])?\s*:\s*)+")


def words(text: str, reader: frozenset[str] = frozenset()) -> list[str]:
    """Return the words of a normalised text without links, addresses, numbers and punctuation,
    disguises taken off.

    Args:
        text: `normalise`d.
        reader: normalised words of the reader's name and address, left out too.

    """
    if template_words is not None:
        found = template_words(text, reader)
        if found is not None:  # nearly always: all but spaced letters outside ASCII
            return found
    return words_by_python(text, reader)


def words_by_python(text: str, reader: frozenset[str]) -> list[str]:
    """Do what `words` does without the native core."""
    # Calls over the whole text where they can be, as this runs on every message.
    octets = letters_for_signs(text.encode("utf-8", "surrogatepass"))
    octets = octets.replace(b"://", b"0").replace(b"www.", b"0")
    unvaried = _unvaried(b" %b " % octets.translate(_MARKED_VARYING))
    tokens = join_spaced_letters(unvaried.translate(_TO_SPACES)).split()
    if not reader or reader.isdisjoint(tokens):
        return tokens
    return [word for word in tokens if word not in reader]


def _unvaried(octets: bytes) -> bytes:
    """Return words, with spaces before, between and after, without those that hold `_VARIES`."""
    if octets.count(_VARIES) * MANY_VARY > len(octets):
        return b" ".join([b"", *[word for word in octets.split() if _VARIES not in word], b""])
    pieces = []
    end = 0
    place = octets.find(_VARIES)
    while place >= 0:
        pieces.append(octets[end : octets.rfind(b" ", end, place)])
        end = octets.find(b" ", place)
        place = octets.find(_VARIES, end)
    pieces.append(octets[end:])
    return b"".join(pieces)


def reader_words(recipients: tuple[Mailbox, ...], normal: list[str]) -> frozenset[str]:
    """Return the words that name the reader, for a message with one recipient.

    Of several, none is greeted.

    Args:
        recipients: of To and Cc.
        normal: normalised name and local part of each.

    """
    if len(recipients) != 1:
        return frozenset()
    return frozenset(word for text in normal for word in _NAME.findall(text))


def strip_reply_prefix(subject: str) -> str:
    """Return a normalised subject without Re: and Fwd: and their kin."""
    return _ANSWERED.sub("", subject)
