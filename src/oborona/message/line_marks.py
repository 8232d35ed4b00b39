"""Lines of a text that quote, rule off or head an old message, or may: the twin of the native
core's, which tests hold it to, and what finds them where that can't be built.

Most lines are none of these, and nothing more is asked of them.
"""

from __future__ import annotations

import re
from typing import Final

# The native core has this once more (core/text_lines.c).
_MARK: Final = re.compile(
    r"[ \t]*(?:(?P<ruled>[-_=~*#])|(?P<quoted>\w{0,3}[>|])|(?P<heading>[fvdloFVDLO\x80-\U0010ffff][^\n:]{0,11}:))"
)
INDENT: Final = 3  # blanks before a mark that quotes, or a name that heads


def marked_lines(text: str, most: int) -> list[tuple[int, int, bool]]:
    """Return (number, first character, whether it quotes) of each line that may be marked.

    Args:
        text: with LF line ends.
        most: lines that are looked at.
    """
    found = []
    start = 0
    for number, line in enumerate(text.split("\n", most)[:most]):
        mark = _MARK.match(line)
        if mark is not None and (mark["ruled"] or len(line) - len(line.lstrip(" \t")) <= INDENT):
            found.append((number, start, mark["quoted"] is not None))
        start += len(line) + 1
    return found
