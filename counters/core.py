"""What of counters the native core does where it was built, and its twins in Python otherwise: the
same results (docs/adr/0063-a-native-core.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from oborona.counters.record import PREFIXES, counter_keys
from oborona.counters.record_windows import window_totals
from oborona.counters.row_order import reached_counts
from oborona.types import CounterPrefix, Shingle

if not TYPE_CHECKING:
    with suppress(ImportError):  # where it could not be built, its twins do the same
        from oborona._core import counter_keys, reached_counts, window_totals

__all__ = ["keys_of", "reached_counts", "window_totals"]


def keys_of(shingles: Sequence[Shingle], prefix: CounterPrefix) -> list[bytes]:
    """Return the keys of shingles, in their order."""
    return counter_keys(PREFIXES[prefix], shingles)
