"""Counters of a process that adds and never asks: nothing of what it added is kept in memory once
it is spooled.
"""

from __future__ import annotations

from pathlib import Path

from oborona import state_files
from oborona.counters.add_spooler import AddSpooler
from oborona.counters.buffer import AddBuffer
from oborona.counters.durability import Durability


class WriteOnlyCounters(AddSpooler):
    """The adding half of a store, of this machine or of a cluster; one thread.

    Args:
        directory: the store's; need not exist yet.
        name: of its spool; letters, digits, - and _.
        durability: what of the flushed survives a power failure.
    """

    def __init__(self, directory: Path, name: str, *, durability: Durability = "second") -> None:
        super().__init__(
            directory / state_files.COUNTERS_SPOOL, name, _NoFlushQueue(), durability=durability
        )


class _NoFlushQueue:
    def push(self, sequence: int, buffer: AddBuffer) -> None:
        """Keep nothing: nobody here reads what the store does not have yet."""
