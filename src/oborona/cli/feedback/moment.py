"""Times of events as `oborona feedback` shows them."""

from __future__ import annotations

import time


def shown_time(at: float) -> str:
    """Return a time for people, by the clock of this machine."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
