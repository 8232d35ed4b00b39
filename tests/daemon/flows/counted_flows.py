"""What a daemon that follows flows has taken and counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing

from oborona import secret, state_files
from oborona.accounts.flows.store import FileState, FlowStore
from oborona.counters.readonly import open_reader
from oborona.errors import StoreError
from oborona.message.hashing import Hasher, ShingleType
from oborona.types import CounterPrefix, Metric, Window
from tests.peers.oborona import Oborona

WAIT_S = 60.0


def wait(what: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + WAIT_S
    while not what():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def taken(daemon: Oborona) -> list[str]:
    """Return the names of what was taken, the latest first."""
    try:
        with FlowStore(daemon.state / state_files.FLOWS, make=False) as store:
            return [file.name for file in store.files() if file.state is FileState.TAKEN]
    except StoreError:
        return []


def counted(daemon: Oborona) -> dict[str, int]:
    """Return what the counters have of 192.0.2.5 within the day, by prefix."""
    hasher = Hasher(secret.load(daemon.state).shingles)
    (source,) = hasher.each(ShingleType.CLIENT_IP, [b"192.0.2.5"])
    with closing(open_reader(daemon.state / state_files.COUNTERS)) as counters:
        return {
            prefix.value: asyncio.run(counters.read([source], time.time(), prefix))[0][Window.DAY][
                Metric.SEEN
            ]
            for prefix in CounterPrefix
            if prefix.value.startswith("flow-")
        }


def destinations(daemon: Oborona) -> int:
    """Return to how many addresses 192.0.2.5 sent within the day, by the counters."""
    hasher = Hasher(secret.load(daemon.state).shingles)
    (pair,) = hasher.pairs(
        ShingleType.FLOW_DESTINATION, ShingleType.FLOW_DESTINATIONS, [b"192.0.2.5"], [b"any"]
    )
    with closing(open_reader(daemon.state / state_files.COUNTERS)) as counters:
        read = counters.read([pair.distinct], time.time(), CounterPrefix.FLOW_STREAMS)
        return asyncio.run(read)[0][Window.DAY][Metric.SEEN]
