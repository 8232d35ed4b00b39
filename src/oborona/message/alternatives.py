"""Which version of a multipart/alternative is shown, and whether the others say the same.

Clients prefer HTML, so it is the HTML, if it has any word; else the last version with words (RFC
2046 s5.1.4).
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.findings import Findings
from oborona.message.text_extraction import VisibleText

# versions shorter than this are not compared: "your client does not show HTML"
COMPARED_WORDS: Final = 12
COMMON_SHARE: Final = 0.2  # of the shorter version's distinct words

_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def displayed_version(versions: list[list[VisibleText]], findings: Findings) -> list[VisibleText]:
    """Return the version that a client shows.

    Args:
        versions: of a text, in their order, each of one or more pieces.
        findings: gets alternative-differs.

    """
    readable = [version for version in versions if any(text.text for text in version)]
    if len(readable) < 2:
        return [text for version in versions for text in version]
    html = [version for version in readable if any(text.page and text.text for text in version)]
    chosen = html[-1] if html else readable[-1]
    words = _distinct(chosen)
    for version in readable:
        if version is chosen:
            continue
        others = _distinct(version)
        shorter = min(len(others), len(words))
        if shorter >= COMPARED_WORDS and len(others & words) < shorter * COMMON_SHARE:
            findings.add(
                "alternative-differs", f"{len(others & words)} of {shorter} words in common"
            )
    return chosen


def _distinct(version: list[VisibleText]) -> set[str]:
    """Return the distinct words of a version.

    Of writing without spaces, which may be folded anywhere, its characters.
    """
    distinct: set[str] = set()
    for text in version:
        words = text.text.lower().split()
        distinct.update(words)
        if not text.text.isascii() and _UNSPACED.search(text.text):
            distinct = {word for word in distinct if _UNSPACED.search(word) is None}
            distinct.update(_UNSPACED.findall(text.text))
    return distinct
