"""What survives when the power fails.

The death of a process loses nothing that was flushed in any of them.

second  spools are synced a second apart, the store's transactions when they end: all but the last
        second survives
commit  also each flush is synced before it returns: what was flushed survives
none    nothing is synced: the kernel writes when it likes, and the store may be found damaged, set
        aside and begun
anew; for counters that may be lost, on slow disks
"""

from __future__ import annotations

from typing import Final, Literal

Durability = Literal["second", "commit", "none"]

SPOOL_SYNC_S: Final[dict[Durability, float | None]] = {"second": 0.8, "commit": 0.0, "none": None}
"""Seconds between two syncs of a spool; 0: at each flush; None: never.

A sync that starts after 0.8 s is over in one.
"""
