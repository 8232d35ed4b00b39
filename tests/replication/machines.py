"""Machines of one site: state folders that follow one log in a real PostgreSQL."""

from __future__ import annotations

import inspect
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType

from oborona import secret, state_files
from oborona.daemon.site.common_kinds import COMMON_KINDS
from oborona.daemon.site.follower import ReplicaFollower
from oborona.daemon.site.membership import begin_site, join_site
from oborona.replication.link import read_link
from oborona.replication.log import ReplicationLog
from oborona.sqlite_file import SqliteFileKind
from oborona.stores.persons.store import PersonStore

SECRET = b"s" * 32


def new_state(folder: Path, octets: bytes = SECRET) -> Path:
    """Make a state folder with a secret, as a first start leaves it."""
    folder.mkdir(parents=True)
    (folder / state_files.SECRET).write_bytes(octets)
    secret.make(folder)
    return folder


def site_of(root: Path, address: str, number: int) -> list[Path]:
    """Make a site of some machines, mx1 and so on; return their state folders."""
    machines = [new_state(root / f"mx{place}") for place in range(1, number + 1)]
    begin_site(machines[0], address, "mx1", "1")
    for state in machines[1:]:
        join_site(state, address, state.name, "1")
    return machines


def two_machines(root: Path, address: str) -> tuple[Path, Path]:
    """Make a site of two machines; return their state folders."""
    first, second = site_of(root, address, 2)
    return first, second


def site_beside(first: Path, address: str) -> Path:
    """Make a folder the first machine of a site; return the state folder of the second."""
    (first / state_files.SECRET).write_bytes(SECRET)
    secret.make(first)
    second = new_state(first / "second")
    begin_site(first, address, "mx1", "1")
    join_site(second, address, "mx2", "1")
    return second


def follow_once(state: Path) -> None:
    """Have a machine do what the log has."""
    link = read_link(state)
    assert link is not None
    follower = ReplicaFollower(state, link, COMMON_KINDS, "1")
    with closing(ReplicationLog(link.address, link.machine)) as log:
        follower.look(log)
    follower.close()
    assert not any(one.trouble.now for one in follower.stores.values())


def suite_with(suite: ModuleType, fixture: str) -> dict[str, Callable[..., object]]:
    """Return the tests of a module that have a fixture, by their names."""
    return {
        name: test
        for name, test in vars(suite).items()
        if name.startswith("test_") and fixture in inspect.signature(test).parameters
    }


def dump(state: Path, name: str = state_files.PERSONS) -> list[str]:
    """Return all that a file holds, but its birth, which is the machine's."""
    with closing(sqlite3.connect(state / name)) as db:
        return [line for line in db.iterdump() if '"begun"' not in line]


def persons(state: Path) -> PersonStore:
    """Open the persons of a machine."""
    return PersonStore(state / state_files.PERSONS)


@contextmanager
def following(
    state: Path, kinds: Mapping[str, SqliteFileKind] = COMMON_KINDS
) -> Iterator[ReplicaFollower]:
    """Follow the log for a machine within."""
    link = read_link(state)
    assert link is not None
    follower = ReplicaFollower(state, link, kinds, "1")
    stop = threading.Event()
    thread = threading.Thread(target=follower.run, args=(stop,))
    thread.start()
    try:
        yield follower
    finally:
        stop.set()
        thread.join()


def wait_equal(first: Path, second: Path) -> None:
    """Wait until two machines that follow the log hold the same."""
    deadline = time.monotonic() + 20
    while dump(first) != dump(second) and time.monotonic() < deadline:
        time.sleep(0.02)
