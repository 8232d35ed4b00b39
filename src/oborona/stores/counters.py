"""The counter store that the settings name, opened: the one place that chooses between this machine
and a cluster.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.config import InetAddress, Settings, parse_address
from oborona.counters import stats
from oborona.counters.cluster import stats as cluster_stats
from oborona.counters.cluster.reader import ClusterReader
from oborona.counters.cluster.sender import ClusterWriter
from oborona.counters.cluster.stats import ClusterStats
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess, NodeAddress
from oborona.counters.readonly import ReadOnlyCounters, open_reader
from oborona.counters.stats import StoreStats
from oborona.counters.store import LmdbCounters
from oborona.counters.write_only import WriteOnlyCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.errors import ConfigError

MIB: Final = 1 << 20


def open_counters(settings: Settings, state: Path, name: str) -> LmdbCounters | ClusterCounters:
    """Return the counters of one process that adds; after the fork, in its event loop.

    Args:
        settings: of the site.
        state: folder of the stores.
        name: of its spool.

    Raises:
        ConfigError: the settings of the cluster do not suffice.
        StoreError: the store can't be opened.
    """
    if settings.counters.store == "cluster":
        return ClusterCounters(
            state / state_files.COUNTERS,
            name,
            cluster_access(settings),
            deadline_s=settings.cluster.deadline_s,
            stale_s=settings.cluster.stale_s,
            durability=settings.counters.durability,
        )
    return LmdbCounters(state / state_files.COUNTERS, name, durability=settings.counters.durability)


def open_spooled(settings: Settings, state: Path, name: str) -> WriteOnlyCounters:
    """Return the counters of a process that adds and never asks, as `open_counters` names them.

    The writer brings them where all are kept.
    """
    return WriteOnlyCounters(
        state / state_files.COUNTERS, name, durability=settings.counters.durability
    )


def open_writer(settings: Settings, state: Path) -> LmdbCounterWriter | ClusterWriter:
    """Return what brings the workers' spools into the store; one per machine.

    Raises:
        ConfigError: the settings of the cluster do not suffice.
        StoreBusy: another process does it.
        StoreError: the store can't be opened.
    """
    section = settings.counters
    if section.store == "cluster":
        return ClusterWriter(
            state / state_files.COUNTERS,
            cluster_access(settings),
            sync=section.durability != "none",
            doorkeeper=bool(section.doorkeeper_mib),
        )
    return LmdbCounterWriter(
        state / state_files.COUNTERS,
        map_bytes=section.map_mib * MIB,
        durability=section.durability,
        doorkeeper_bytes=section.doorkeeper_mib * MIB,
        state=state,
    )


def open_readonly(settings: Settings, state: Path) -> ReadOnlyCounters | ClusterReader:
    """Return what reads the store for a tool, beside a running daemon.

    To be closed, or used as a context.

    Raises:
        ConfigError: the settings of the cluster do not suffice.
        StoreError: there is no store, or it can't be read. A cluster need not be there before it is
            read.
    """
    if settings.counters.store == "cluster":
        return ClusterReader(state / state_files.COUNTERS, cluster_access(settings))
    return open_reader(state / state_files.COUNTERS)


def store_stats(
    settings: Settings, state: Path, now: float, *, types: bool = False
) -> StoreStats | ClusterStats:
    """Return what an admin wants to know of the store at Unix time `now`.

    `types`: also what each type takes.

    Raises:
        ConfigError: the settings of the cluster do not suffice, or it is asked for its types.
        StoreError: there is no store, or it can't be read.
    """
    if settings.counters.store != "cluster":
        return stats.look(state / state_files.COUNTERS, now, types=types)
    if types:
        check_is_local(settings)
    return cluster_stats.look(state / state_files.COUNTERS, cluster_access(settings), now)


def check_is_local(settings: Settings) -> None:
    """Refuse what can be done with the store of one machine alone.

    Raises:
        ConfigError: the counters are in a cluster.
    """
    if settings.counters.store == "cluster":
        raise ConfigError(
            'counters.store is "cluster", and this is for the store of one machine alone'
        )


def check_store(settings: Settings, state: Path, *, writes: bool) -> None:
    """Open the store and close it again: as its writer, or to read it. A cluster need not be there.

    Raises:
        ConfigError: the settings of the cluster do not suffice.
        StoreError: the store can't be opened.
    """
    if writes:
        open_writer(settings, state).close()
    else:
        open_readonly(settings, state).close()


def cluster_access(settings: Settings) -> ClusterAccess:
    """Return how to reach the cluster.

    Raises:
        ConfigError: no node is named, or a file that is cannot be read.
    """
    section = settings.cluster
    nodes = [parse_address(f"inet:{node}") for node in section.nodes.split()]
    if not nodes:
        raise ConfigError('counters.store is "cluster", and cluster.nodes names no node')
    access = ClusterAccess(
        nodes=tuple(
            NodeAddress(node.host, node.port) for node in nodes if isinstance(node, InetAddress)
        ),
        user=section.user,
        password=_password(section.password_file),
        authority=section.certificates,
    )
    access.tls()
    return access


def _password(file: str) -> str:
    if not file:
        return ""
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"cluster.password_file: {error}") from error
