"""A text with its white space folded, and the words of it that may lead anywhere: the twins of the
native core's, which tests hold it to, and what works where that can't be built.
"""

from __future__ import annotations

from typing import Final

_CONTROLS: Final = bytes([*range(9), *range(14, 28), 127])
_LOWER: Final = bytes(
    32 if octet in b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f" else octet for octet in range(128)
).lower() + bytes(range(128, 256))


def fold_ascii(text: str) -> str:
    """Return a text with its letters of ASCII in lower case, without controls, and with one space
    for white space of ASCII; none at either end.
    """
    octets = text.encode("utf-8", "surrogatepass").translate(_LOWER, _CONTROLS)
    return b" ".join(octets.split()).decode("utf-8", "surrogatepass")


def fold_lines(text: str) -> str:
    """Return a text with one space for white space, none at either end of a line, and no empty
    line.
    """
    lines = [" ".join(line.split()) for line in text.split("\n")]
    return "\n".join(filter(None, lines))


def linked_words(text: str) -> tuple[int, list[str]]:
    """Return how many words a text has, and those that can be a link or an address: with a dot
    inside, or with "://"; those without any dot last.
    """
    words = text.split()
    dotted = [word for word in words if "." in word]
    found = [word for word in dotted if "." in word[1:-1] or "://" in word]
    if "://" in text:
        found += [word for word in words if "://" in word and "." not in word]
    return len(words), found
