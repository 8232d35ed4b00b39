"""What of an event log needs a look: tables that nobody checks, a source that gives none any more,
or far from as many rows as it used to, thresholds that leapt, what was set aside.

It reads the book of event logs alone, and needs none of their packages.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final

import msgspec

from oborona.eventlog.batch.store import LogStore, SourceTable
from oborona.eventlog.batch.threshold_book import ThresholdBook, ThresholdLeap
from oborona.eventlog.row_volume import VOLUME_S, RowVolume, odd_volume
from oborona.eventlog.slots import slot_name

DAY_S: Final = 86_400.0
SEEN_S: Final = 2 * DAY_S  # a log that has given nothing for so long is not waited for
USUAL: Final = 3  # times the usual time between tables
MOST: Final = 1000  # tables that wait; more are as many


class LogLateness(msgspec.Struct, frozen=True, kw_only=True):
    """What of one log is late or odd, or was set aside."""

    log: str
    waiting: tuple[SourceTable, ...] = ()  # delivered and not checked for too long, oldest first
    silent_since: float | None = None  # Unix seconds, of the last table; None: it gives tables
    volume: RowVolume | None = None  # of the last hour, where it is far from usual
    leaps: tuple[ThresholdLeap, ...] = ()  # of thresholds, made of the last two days
    aside: tuple[tuple[str, str], ...] = ()  # tables and files of the last day, each with why

    @property
    def is_late(self) -> bool:
        """Whether anything of it is."""
        silent = self.silent_since is not None
        return bool(self.waiting or silent or self.volume or self.leaps or self.aside)


def late_logs(
    store: LogStore, now: float, *, late_s: float, silent_s: float
) -> tuple[LogLateness, ...]:
    """Return the logs of which something is late.

    Args:
        store: what is known of all logs.
        now: Unix seconds.
        late_s: that a delivered table may wait for its check.
        silent_s: that a source may give no table, or three times as long as usual in the last day,
            whichever is more; 0: it may be silent.
    """
    found = (_lateness(store, log, now, late_s, silent_s) for log in store.logs())
    return tuple(one for one in found if one.is_late)


def waiting_tables(
    store: LogStore, log: str, now: float, late_s: float, most: int = MOST
) -> tuple[SourceTable, ...]:
    """Return the tables of a log that wait too long for their check, in the order of their names.

    Args:
        store: what is known of it.
        log: its name.
        now: Unix seconds.
        late_s: that a delivered table may wait.
        most: tables that are looked at.
    """
    due = store.sources(log, names=store.due(log, most))
    return tuple(one for one in due if now - one.delivered > late_s)


def _lateness(store: LogStore, log: str, now: float, late_s: float, silent_s: float) -> LogLateness:
    tables = store.sources(log, since=now - max(SEEN_S, VOLUME_S))
    times = sorted(one.delivered for one in tables if one.delivered >= now - SEEN_S)
    silent = bool(silent_s and times) and now - times[-1] > max(silent_s, _usual_s(times, now))
    return LogLateness(
        log=log,
        waiting=waiting_tables(store, log, now, late_s),
        silent_since=times[-1] if silent else None,
        volume=None if silent else odd_volume(tables, now),
        leaps=tuple(ThresholdBook(store, log).leaps(slot_name(int(now - SEEN_S))[:10])),
        aside=tuple(store.set_aside(log, now - DAY_S)),
    )


def _usual_s(times: Sequence[float], now: float) -> float:
    """Return how long a source may be silent by what it did in the last day; 0: too little."""
    gaps = [later - before for before, later in pairwise(times) if later >= now - DAY_S]
    return USUAL * median(gaps) if gaps else 0.0
