"""What `oborona doctor` says of one thing that it looked at."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """How a thing is."""

    FINE = "fine"
    LOOK = "look"  # works, or can't be told from here
    WRONG = "wrong"


class Report(NamedTuple):
    """One thing that was looked at."""

    what: str
    state: State
    words: str
