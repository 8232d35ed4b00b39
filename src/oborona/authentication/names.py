"""Domain names as mail carries them (in HELO, MAIL FROM, From, d=), and what peers wrote made fit
to be shown.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from oborona.domains import MAX_HOST, a_labels

MAX_WHY: Final = 250  # characters of a reason

_NAME: Final = re.compile(r"(?:[a-z0-9_-]{1,63}\.)+(?=[a-z0-9-]*[a-z])[a-z0-9-]{1,63}")


def fqdn(text: str) -> str:
    """Return a domain name in lower case and A-labels, without a final dot.

    Empty if the text is none.

    A name has two labels at least, of letters, digits, `-` and `_`, and the last is no number:
    neither `localhost` nor an address nor an address literal is one (RFC 7208 s4.3, RFC 5321
    s4.1.2). U-labels become A-labels.

    Args:
        text: as the peer wrote it, of any length.
    """
    return _fqdn(text) if len(text) <= MAX_HOST + 1 else ""


@lru_cache(maxsize=4096)
def _fqdn(text: str) -> str:
    name = text.removesuffix(".")
    if not name.isascii():
        try:
            name = a_labels(name)
        except ValueError:
            return ""
    name = name.lower()
    return name if len(name) <= MAX_HOST and _NAME.fullmatch(name) else ""


def printable(text: str) -> str:
    """Return a reason fit for a log line and an SMTP reply: printable ASCII, not long."""
    return "".join(character if " " <= character <= "~" else "?" for character in text[:MAX_WHY])
