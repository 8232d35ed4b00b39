"""What is counted: one shingle over time, and the highest of a type."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.counters.cluster.reader import ClusterReader
from oborona.counters.heavy_hitters import NOTE_ROOM
from oborona.counters.readonly import ReadOnlyCounters
from oborona.counters.top import TOP_LIMIT
from oborona.counters.window import Timeline
from oborona.desk.call import ask
from oborona.desk.refusals import UnusableValueError
from oborona.desk.shingle import shingle_named, type_of
from oborona.desk.site import Site
from oborona.message.shingle_name import name_of, type_name
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.counters import open_readonly
from oborona.types import CounterPrefix, Metric, Shingle, Window

METRICS: Final = tuple(metric.name.lower() for metric in Metric)
WINDOWS: Final = tuple(window.name.lower() for window in Window)


class CounterQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which shingle, TYPE:HASH, and of which service."""

    shingle: str
    prefix: CounterPrefix = CounterPrefix.IN


class CounterPast(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted under a shingle.

    Args:
        shingle: TYPE:HASH.
        now: when it was read, Unix seconds.
        totals: window → metric → count.
        metrics: what the numbers of a bucket and a day count, in order.
        buckets: 144 of ten minutes, oldest first, the current one last.
        days: 14 of UTC, oldest first, today last.
    """

    shingle: str
    now: float
    totals: dict[str, dict[str, int]]
    metrics: tuple[str, ...] = METRICS
    buckets: list[list[int]]
    days: list[list[int]]

    @property
    def line(self) -> Timeline:
        """Its time-line."""
        return Timeline(buckets=self.buckets, days=self.days)


@ask("counters.show", Right.TRACK)
def show_counter(site: Site, caller: Caller, asked: CounterQuestion) -> CounterPast:
    """Return the counts of a shingle over time.

    Raises:
        UnusableValueError: it is no TYPE:HASH.
        StoreError: the counters can't be read.
    """
    shingle = shingle_named(asked.shingle)
    with open_readonly(site.loaded.settings, site.state) as store:
        ((past,), _) = counter_pasts(store, [shingle], asked.prefix, every=True)
    return past


def counter_pasts(
    store: ReadOnlyCounters | ClusterReader,
    shingles: list[Shingle],
    prefix: CounterPrefix,
    *,
    every: bool,
) -> tuple[list[CounterPast], int]:
    """Return the counts of shingles, and how many were left out.

    Args:
        store: the counters.
        shingles: of which.
        prefix: of which service.
        every: also those that were not seen in two weeks, which are left out else.

    Raises:
        StoreError: the counters can't be read.
    """
    now = time.time()

    async def read() -> tuple[list[CounterPast], int]:
        pasts = []
        for shingle, row in zip(shingles, await store.read(shingles, now, prefix), strict=True):
            if every or row[Window.FORTNIGHT][Metric.SEEN]:
                [line] = await store.timelines([shingle], now, prefix)
                pasts.append(
                    CounterPast(
                        shingle=name_of(shingle),
                        now=now,
                        totals={
                            window: metric_counts(row[Window[window.upper()]]) for window in WINDOWS
                        },
                        buckets=line.buckets,
                        days=line.days,
                    )
                )
        return pasts, len(shingles) - len(pasts)

    return asyncio.run(read())


def metric_counts(row: list[int]) -> dict[str, int]:
    """Return counts by the name of their metric."""
    return dict(zip(METRICS, row, strict=True))


class CounterTopQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The highest counts of which type.

    Args:
        type: of shingles, its name or number.
        metric: that they are sorted by.
        window: whose counts.
        prefix: of which service.
        limit: at most so many.
    """

    type: str
    metric: str = METRICS[Metric.SEEN]
    window: str = WINDOWS[Window.DAY]
    prefix: CounterPrefix = CounterPrefix.IN
    limit: Annotated[int, Meta(ge=1, le=NOTE_ROOM)] = TOP_LIMIT


class RankedCounter(msgspec.Struct, frozen=True, kw_only=True):
    """A shingle, its count, and the same metric in all windows."""

    shingle: str
    count: int
    windows: dict[str, int]


class CounterTop(msgspec.Struct, frozen=True, kw_only=True):
    """The shingles of a type with the highest counts."""

    type: str
    prefix: CounterPrefix
    metric: str
    window: str
    top: list[RankedCounter]


@ask("counters.top", Right.TRACK)
def rank_counters(site: Site, caller: Caller, asked: CounterTopQuestion) -> CounterTop:
    """Return the shingles of a type with the highest counts.

    Raises:
        UnusableValueError: there is no such type, metric or window.
        StoreError: the counters can't be read.
    """
    kind = type_of(asked.type)
    metric = Metric(_number(METRICS, asked.metric, "metric"))
    window = Window(_number(WINDOWS, asked.window, "window"))
    now = time.time()

    async def read() -> list[RankedCounter]:
        with open_readonly(site.loaded.settings, site.state) as store:
            ranks = await store.top(kind, metric, window, now, asked.prefix, asked.limit)
            rows = await store.read([shingle for shingle, _ in ranks], now, asked.prefix)
        return [
            RankedCounter(
                shingle=name_of(shingle),
                count=count,
                windows={name: row[Window[name.upper()]][metric] for name in WINDOWS},
            )
            for (shingle, count), row in zip(ranks, rows, strict=True)
        ]

    return CounterTop(
        type=type_name(kind),
        prefix=asked.prefix,
        metric=METRICS[metric],
        window=WINDOWS[window],
        top=asyncio.run(read()),
    )


def _number(names: tuple[str, ...], text: str, field: str) -> int:
    if text not in names:
        raise UnusableValueError(f"no {field} {text[:40]!a}; there are {', '.join(names)}", field)
    return names.index(text)
