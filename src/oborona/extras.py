"""Parts of the program that are installed apart, and how one gets them: they have the names of
pyproject.toml's extras.
"""

from __future__ import annotations

import sys
from typing import Final

PACKAGED: Final = "/usr/lib/oborona"
"""Where Debian's package has the program."""


def how_to_get(extra: str) -> str:
    """Return what to do for a part that is not there, for the way by which this program came.

    Args:
        extra: such as "ocr".
    """
    if sys.prefix == PACKAGED:
        return f"apt install ./oborona-{extra}_*.deb"
    return f"./setup {extra}, or pip install 'oborona[{extra}]'"
