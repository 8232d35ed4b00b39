"""People's words noted in the store of persons."""

from __future__ import annotations

import time


def until(expires: float) -> str:
    """Return an end for people; empty for none."""
    return time.strftime("%Y-%m-%d", time.localtime(expires)) if expires else ""
