"""Text of strangers, without what moves a cursor, turns the direction of writing, or can't be seen:
the same characters for the terminal and for pages.
"""

from __future__ import annotations

from collections.abc import Callable


def plain_text(text: str, mark: Callable[[str], str], kept: str = "") -> str:
    """Return a text in which a mark stands for each character that does not print.

    These are controls, line ends, bidirectional marks, invisible and unassigned characters, and
    lone surrogates.

    Args:
        text: of whoever wrote it.
        mark: what is shown for such a character.
        kept: characters that stay all the same, such as a line's end.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in kept else mark(letter) for letter in text
    )
