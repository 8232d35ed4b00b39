"""The difference between a text as written and as read: respelled words, and lines that are not
the sender's own.

Only for showing: normalisation and fingerprints do their work without knowing what they changed. A
word is told here when more than case, accents and the fold of one script's letters to their
look-alikes lies between what was written and what was read; so plain Russian or Greek is not, and a
Latin o inside a Russian word is.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final
from unicodedata import category, name, normalize

import msgspec

from oborona.message.normalise import few_marks, normalise
from oborona.message.obfuscation import join_spaced_letters, letters_for_signs

# Scripts whose letters stand for one another; Japanese mixes four in one word, and no letter of
# them is another's.
_ALIKE: Final = frozenset(
    {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET"}
)
_MARKS: Final = frozenset({"Mn", "Me", "Cf"})  # combining marks; zero width, soft hyphen, direction
_SPACED: Final = re.compile(r"[^\w]+|_+")


class Respelling(msgspec.Struct, frozen=True):
    """A word as it was written, and as it was read."""

    written: str
    read: str


def respellings(text: str) -> tuple[Respelling, ...]:
    """Return the distinct words of a text that were read otherwise than written.

    Words spaced out last.

    Args:
        text: what a reader sees, not normalised.
    """
    spellings: dict[str, str] = {}
    for word in dict.fromkeys(text.split()):
        normal = normalise(word)
        octets = normal.encode("utf-8", "surrogatepass")
        read = letters_for_signs(octets).decode("utf-8", "surrogatepass")
        if read != word and (read != normal or not _plain(word, normal)):
            spellings[word] = read
    spellings.update(_spaced_out(normalise(text)))
    return tuple(Respelling(written, read) for written, read in spellings.items())


def removed_lines(text: str, own: str) -> tuple[str, ...]:
    """Return the lines of a text that are not, or not as a whole, the sender's own: quotations,
    signatures, footers, boilerplate.

    Args:
        text: what a reader sees, lines kept.
        own: what of it the sender wrote himself.
    """
    own_lines = Counter(own.split("\n"))
    left_out = []
    for line in text.split("\n"):
        if own_lines[line]:
            own_lines[line] -= 1
        else:
            left_out.append(line)
    return tuple(left_out)


def _plain(word: str, normal: str) -> bool:
    """Return whether a word is read as anybody would write it."""
    if word.isascii():
        return True
    letters = [letter for letter in word if letter.isalpha()]
    if not letters:
        return True
    scripts = {name(letter, "").partition(" ")[0] for letter in letters}
    if len(scripts & _ALIKE) > 1 or any(normalize("NFKC", letter) != letter for letter in letters):
        return False
    if any(category(character) in _MARKS for character in normalize("NFC", few_marks(word))):
        return False
    if scripts != {"LATIN"}:
        return True
    bare = (
        character
        for character in normalize("NFKD", few_marks(word).casefold())
        if category(character) not in _MARKS
    )
    return _SPACED.sub("", "".join(bare)) == _SPACED.sub("", normal)


def _spaced_out(normal: str) -> dict[str, str]:
    """Return the words of a normalised text that were written a letter at a time, with what they
    were read as.
    """
    letters = _SPACED.sub(" ", normal).split()
    words = join_spaced_letters(f" {' '.join(letters)} ".encode("utf-8", "surrogatepass")).split()
    spellings: dict[str, str] = {}
    place = 0
    for word in words:
        first = place
        length = 0
        while length < len(word):
            length += len(letters[place])
            place += 1
        if place - first > 1:
            spellings[" ".join(letters[first:place])] = word
    return spellings
