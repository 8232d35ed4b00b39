"""What `oborona doctor` looks at of the counters: the store, on this machine or in a cluster, and
what waits for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Final

from oborona import state_files
from oborona.counters.cluster.layout import SLOTS
from oborona.counters.cluster.stats import ClusterStats
from oborona.counters.stats import UNKNOWN, StoreStats
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.octets import size
from oborona.desk.site import Site
from oborona.errors import ConfigError, StoreError
from oborona.lock import holder
from oborona.policy.memory_age import ALL_MAIL, OLD_DAYS, days_of, is_young
from oborona.stores.counters import open_readonly, store_stats

LAG_S: Final = 10.0  # a writer at work is a second behind


def counters(context: Site) -> Iterator[CheckReport]:
    """Look at the store, at what waits for it, and at who works on it."""
    folder = context.state / state_files.COUNTERS
    settings = context.loaded.settings
    if settings.counters.store != "cluster" and not folder.is_dir():
        yield CheckReport("counters", CheckState.WARN, f"{folder} is not there yet")
        return
    try:
        state = store_stats(settings, context.state, time.time())
    except (ConfigError, StoreError) as error:
        yield CheckReport("counters", CheckState.FAIL, str(error))
    else:
        if isinstance(state, ClusterStats):
            yield from _nodes(state)
        else:
            yield CheckReport(
                "counters", CheckState.OK, f"{folder} can be read: {state.records:,} records"
            )
        yield _backlog(state)
        yield from _memory(context)
    for name in (state_files.WORKERS_LOCK, f"{state_files.COUNTERS}/{state_files.COUNTERS_LOCK}"):
        try:
            lock_holder = holder(context.state / name)
        except StoreError as error:
            yield CheckReport("process", CheckState.WARN, f"unknown: {error}")
        else:
            if lock_holder is not None:
                yield CheckReport("process", CheckState.OK, str(lock_holder))


def _memory(context: Site) -> Iterator[CheckReport]:
    """Say whether memory is old enough for RepIP to refuse anybody."""
    try:
        with open_readonly(context.loaded.settings, context.state) as store:
            (line,) = asyncio.run(store.timelines([ALL_MAIL], time.time()))
    except StoreError as error:
        yield CheckReport("memory", CheckState.WARN, f"unknown: {error}")
        return
    days = days_of(line)
    words = (
        f"RepIP refuses nobody until it is {OLD_DAYS} (docs/senders/clients.md)"
        if is_young(line)
        else "RepIP refuses, where the policy says so"
    )
    yield CheckReport("memory", CheckState.OK, f"reaches back {days} days: {words}")


def _nodes(state: ClusterStats) -> Iterator[CheckReport]:
    for node in state.nodes:
        words = f"{node.address}, {node.role}: {node.trouble or f'answers, {node.slots:,} slots'}"
        away = CheckState.FAIL if node.role == "primary" else CheckState.WARN
        yield CheckReport("node", away if node.trouble else CheckState.OK, words)
    homeless = SLOTS - sum(node.slots for node in state.nodes if node.role == "primary")
    if homeless:
        words = f"no node has {homeless:,} of {SLOTS:,} slots: what is counted there waits here"
        yield CheckReport("cluster", CheckState.FAIL, words)


def _backlog(state: StoreStats | ClusterStats) -> CheckReport:
    outbox = state.outbox.unsent_bytes if isinstance(state, ClusterStats) else 0
    places = f"{size(outbox)} in the outbox, " if outbox else ""
    waits = f"{places}{size(state.waiting_bytes)} in spools, the oldest {state.lag_s:.1f} s old"
    if state.lag_s <= LAG_S:
        return CheckReport("backlog", CheckState.OK, waits)
    if state.writer is None:
        return CheckReport(
            "backlog", CheckState.WARN, f"{waits}: nobody writes the counters, start the daemon"
        )
    if state.writer == UNKNOWN:
        return CheckReport(
            "backlog", CheckState.WARN, f"{waits}; who writes the counters is {UNKNOWN}"
        )
    return CheckReport(
        "backlog", CheckState.FAIL, f"{waits}: {state.writer} does not keep up; its log says why"
    )
