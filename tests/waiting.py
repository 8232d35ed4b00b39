"""Waits of tests for what comes of itself."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_so(what: str, happens: Callable[[], bool], within_s: float) -> None:
    """Wait until something is so.

    Args:
        what: is waited for, in words.
        happens: whether it is.
        within_s: seconds, which bound a hang.
    """
    until = time.monotonic() + within_s
    while not happens():
        assert time.monotonic() < until, f"not within {within_s:g} s: {what}"
        time.sleep(0.1)
