"""The counter store itself: what it holds, who writes it, and whether it is whole."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from oborona import state_files
from oborona.counters.stats import StoreStats
from oborona.counters.verify_subprocess import verify_in_subprocess
from oborona.desk.call import ask
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.counters import check_is_local, store_stats


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
