"""Makes strangers' bytes safe for a log, a header or a terminal."""

from __future__ import annotations

import re
from typing import Final

_UNFIT: Final = re.compile(
    r"[^\x20-\x7e\u00a1-\u024f\u0370-\u058f]"
)  # printable Latin, Greek, Cyrillic, Armenian stay readable


def quoted(text: str, limit: int) -> str:
    """Return the text in one line of at most `limit` characters, what can't be shown as `?`, the
    rest as `…`.

    Args:
        text: anything a peer sent.
        limit: characters, at least 1.
    """
    line = _UNFIT.sub("?", " ".join(text[: 4 * limit].split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"
