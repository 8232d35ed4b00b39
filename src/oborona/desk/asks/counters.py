"""What is counted: one shingle over time, the highest of a type, the store itself."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from oborona import state_files
from oborona.counters.cluster.reader import ClusterReader
from oborona.counters.heavy_hitters import NOTE_ROOM
from oborona.counters.readonly import ReadOnlyCounters
from oborona.counters.stats import StoreStats
from oborona.counters.top import TOP_LIMIT
from oborona.counters.verify_subprocess import verify_in_subprocess
from oborona.counters.window import Timeline
from oborona.desk.call import ask
from oborona.desk.refusals import UnusableValueError
from oborona.desk.shingle import shingle_named, type_of
from oborona.desk.site import Site
from oborona.message.shingle_name import name_of, type_name
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.counters import check_is_local, open_readonly, store_stats
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


class CounterStoreQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Whether all records are read, too: what does each type take?"""

    types: bool = False


class CounterStoreState(msgspec.Struct, frozen=True, kw_only=True):
    """What the counter store holds, who writes it, what waits in the spools.

    Args:
        cluster: it is of a cluster.
        now: when it was looked at, Unix seconds.
        store: as `oborona counters stats --json` has it.
    """

    cluster: bool
    now: float
    store: dict[str, Any]


@ask("counters.stats", Right.STATUS)
def show_store(site: Site, caller: Caller, asked: CounterStoreQuestion) -> CounterStoreState:
    """Return what the counter store holds, who writes it, and what waits.

    Raises:
        ConfigError: the settings of the cluster do not suffice, or it is asked for its types.
        StoreError: there is no store, or it can't be read.
    """
    now = time.time()
    report = store_stats(site.loaded.settings, site.state, now, types=asked.types)
    return CounterStoreState(
        cluster=not isinstance(report, StoreStats), now=now, store=msgspec.to_builtins(report)
    )


class CounterCheckQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Nothing more is asked."""


class CounterCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a walk over the whole store found.

    Args:
        folder: of the store.
        records: that were read.
        cells: in them.
        problems: none = it is clean; the first hundred.
    """

    folder: str
    records: int
    cells: int
    problems: list[str]


@ask("counters.verify", Right.STATUS)
def verify_counters(site: Site, caller: Caller, asked: CounterCheckQuestion) -> CounterCheck:
    """Read the whole counter store, in a process of its own, and return what is wrong with it.

    Raises:
        ConfigError: the counters are in a cluster.
        StoreError: there is no store, or it can't be read.
    """
    check_is_local(site.loaded.settings)
    folder = site.state / state_files.COUNTERS
    report = verify_in_subprocess(folder)
    return CounterCheck(
        folder=str(folder), records=report.records, cells=report.cells, problems=report.problems
    )
