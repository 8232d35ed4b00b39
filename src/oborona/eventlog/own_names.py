"""The names of the logs of our own, for who must not load what tables need."""

from __future__ import annotations

from typing import Final

OWN_NAMES: Final = frozenset({"feedback", "messages", "moves", "deeds", "incidents"})
"""Each has a table every five minutes; the others' tables come when theirs do."""
