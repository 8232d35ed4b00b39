"""The counter store that the settings name, opened: the one place that chooses between this machine and a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from oborona.config import InetAddress, Settings, parse_address
from oborona.counters.cluster.sender import ClusterWriter
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import Access, Address
from oborona.counters.store import LmdbCounters
from oborona.counters.stored import open_reader
from oborona.counters.writer import CounterWriter
from oborona.errors import ConfigError

COUNTERS: Final = "counters"  # folder in the state folder
MIB: Final = 1 << 20


def open_counters(settings: Settings, state: Path, number: int) -> LmdbCounters | ClusterCounters:
    """Return the counters of one worker; after the fork, in its event loop.

    Args:
        settings: of the site.
        state: folder of the stores.
        number: of the worker.

    Raises:
        ConfigError: the settings of the cluster do not suffice.
        StoreError: the store can't be opened.
    """
    name = f"worker-{number}"
    if settings.counters.store == "cluster":
        return ClusterCounters(
            state / COUNTERS,
            name,
            access(settings),
            deadline_s=settings.cluster.deadline_s,
            stale_s=settings.cluster.stale_s,
            durability=settings.counters.durability,
        )
    return LmdbCounters(state / COUNTERS, name, durability=settings.counters.durability)


def open_writer(settings: Settings, state: Path) -> CounterWriter | ClusterWriter:
    """Return what brings the workers' spools into the store; one per machine.

    Raises:
        ConfigError: the settings of the cluster do not suffice.
        StoreBusy: another process does it.
        StoreError: the store can't be opened.
    """
    asked = settings.counters
    if asked.store == "cluster":
        return ClusterWriter(state / COUNTERS, access(settings), sync=asked.durability != "none")
    return CounterWriter(
        state / COUNTERS,
        map_bytes=asked.map_mib * MIB,
        durability=asked.durability,
        doorkeeper_bytes=asked.doorkeeper_mib * MIB,
    )


def check_store(settings: Settings, state: Path, *, writes: bool) -> None:
    """Open the store and close it again: as its writer, or to read it. A cluster need not be there.

    Raises:
        ConfigError: the settings of the cluster do not suffice.
        StoreError: the store can't be opened.
    """
    if writes:
        open_writer(settings, state).close()
    elif settings.counters.store == "cluster":
        access(settings)
    else:
        open_reader(state / COUNTERS).close()


def access(settings: Settings) -> Access:
    """Return how to reach the cluster.

    Raises:
        ConfigError: no node is named, or a file that is cannot be read.
    """
    asked = settings.cluster
    nodes = [parse_address(f"inet:{one}") for one in asked.nodes.split()]
    if not nodes:
        raise ConfigError('counters.store is "cluster", and cluster.nodes names no node')
    found = Access(
        nodes=tuple(Address(one.host, one.port) for one in nodes if isinstance(one, InetAddress)),
        user=asked.user,
        password=_password(asked.password_file),
        authority=asked.certificates,
    )
    found.tls()
    return found


def _password(file: str) -> str:
    if not file:
        return ""
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"cluster.password_file: {error}") from error
