"""White space in the source of a page where elements break lines and words, so that its text has
it too: the twin of the native core's, which tests hold it to, and what puts it there where that
can't be built, or leaves it to Python.
"""

from __future__ import annotations

import re
from typing import Final

# The native core has these once more (core/html_source.c).
# By their first letters: most tags are none of these, and are known by one look at one letter.
_BLOCK: Final = re.compile(
    r"<(?=/?(?:[pP](?i:re)?|[dD](?i:iv|[ltd])|[bB](?i:r|lockquote)|[tT](?i:r|able|itle)|[lL][iI]|[uU][lL]|[oO](?i:l|ption)|"
    r"[hH](?i:[1-6r]|eader)|[cC](?i:enter|aption)|[fF](?i:orm|ooter|ieldset|ig(?:ure|caption))|[sS](?i:ection)|"
    r"[aA](?i:rticle|ddress|side)|[mM](?i:ain)|[nN](?i:av))[\s/>])"
)
_CELL: Final = re.compile(r"<(?=t[dh][\s>])", re.IGNORECASE)
_SOURCE_SPACE: Final = bytes.maketrans(b"\n\r\t\f", b"    ")


def broken_source(source: str) -> str:
    """Return a source with a line end before each block element, a space before each cell of a
    table, its own line ends as spaces, which they are on a screen, and without NUL, which marks.
    """
    plain = source.encode("utf-8", "replace").translate(_SOURCE_SPACE, b"\0").decode("utf-8")
    return _CELL.sub(" <", _BLOCK.sub("\n<", plain))
