"""What `oborona doctor` looks at of the counters: the store, on this machine or in a cluster, and
what waits for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Final

from oborona import state_files
from oborona.cli.asked import Asked
from oborona.cli.counters_stats import size
from oborona.cli.report import Report, State
from oborona.counters.cluster.layout import SLOTS
from oborona.counters.cluster.stats import ClusterStats
from oborona.counters.stats import UNKNOWN, Stats
from oborona.errors import ConfigError, StoreError
from oborona.lock import holder
from oborona.policy.memory import ALL_MAIL, OLD_DAYS, days_of, is_young
from oborona.stores.counters import look, open_stored

LAG_S: Final = 10.0  # a writer at work is a second behind


def counters(asked: Asked) -> Iterator[Report]:
    """Look at the store, at what waits for it, and at who works on it."""
    folder = asked.state / state_files.COUNTERS
    settings = asked.loaded.settings
    if settings.counters.store != "cluster" and not folder.is_dir():
        yield Report("counters", State.WARN, f"{folder} is not there yet")
        return
    try:
        found = look(settings, asked.state, time.time())
    except (ConfigError, StoreError) as error:
        yield Report("counters", State.FAIL, str(error))
    else:
        if isinstance(found, ClusterStats):
            yield from _nodes(found)
        else:
            yield Report("counters", State.OK, f"{folder} can be read: {found.records:,} records")
        yield _backlog(found)
        yield from _memory(asked)
    for name in (state_files.WORKERS_LOCK, f"{state_files.COUNTERS}/{state_files.COUNTERS_LOCK}"):
        try:
            held = holder(asked.state / name)
        except StoreError as error:
            yield Report("process", State.WARN, f"unknown: {error}")
        else:
            if held is not None:
                yield Report("process", State.OK, str(held))


def _memory(asked: Asked) -> Iterator[Report]:
    """Say whether memory is old enough for RepIP to refuse anybody."""
    try:
        with open_stored(asked.loaded.settings, asked.state) as store:
            (line,) = asyncio.run(store.timelines([ALL_MAIL], time.time()))
    except StoreError as error:
        yield Report("memory", State.WARN, f"unknown: {error}")
        return
    days = days_of(line)
    words = (
        f"RepIP refuses nobody until it is {OLD_DAYS} (docs/senders/clients.md)"
        if is_young(line)
        else "RepIP refuses, where the policy says so"
    )
    yield Report("memory", State.OK, f"reaches back {days} days: {words}")


def _nodes(found: ClusterStats) -> Iterator[Report]:
    for node in found.nodes:
        words = f"{node.address}, {node.role}: {node.trouble or f'answers, {node.slots:,} slots'}"
        away = State.FAIL if node.role == "primary" else State.WARN
        yield Report("node", away if node.trouble else State.OK, words)
    homeless = SLOTS - sum(node.slots for node in found.nodes if node.role == "primary")
    if homeless:
        words = f"no node has {homeless:,} of {SLOTS:,} slots: what is counted there waits here"
        yield Report("cluster", State.FAIL, words)


def _backlog(found: Stats | ClusterStats) -> Report:
    outbox = found.outbox.unsent_bytes if isinstance(found, ClusterStats) else 0
    places = f"{size(outbox)} in the outbox, " if outbox else ""
    waits = f"{places}{size(found.waiting_bytes)} in spools, the oldest {found.lag_s:.1f} s old"
    if found.lag_s <= LAG_S:
        return Report("backlog", State.OK, waits)
    if found.writer is None:
        return Report(
            "backlog", State.WARN, f"{waits}: nobody writes the counters, start the daemon"
        )
    if found.writer == UNKNOWN:
        return Report("backlog", State.WARN, f"{waits}; who writes the counters is {UNKNOWN}")
    return Report(
        "backlog", State.FAIL, f"{waits}: {found.writer} does not keep up; its log says why"
    )
