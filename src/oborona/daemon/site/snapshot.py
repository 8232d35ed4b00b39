"""Stores as they were at a change, kept in the log: what a machine begins with that joins, or that
was away for longer than the log goes back.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from oborona.errors import StoreError
from oborona.replication.log import ReplicationLog
from oborona.replication.replica import position_of
from oborona.sqlite_file import ERRORS, connect, explained_error

PART_OCTETS: Final = 4 << 20  # of a file in one row
KEPT: Final = 2  # snapshots of a store: the last, and one that somebody may be reading
LEVEL: Final = 1  # of zlib: a third of the octets for a tenth of the time of level 6


class SnapshotDamagedError(StoreError):
    """What the log has as a snapshot is none."""


class ReplicaSnapshot(NamedTuple):
    """A snapshot."""

    store: str
    number: int  # of the last change that is in it
    version: int  # of its format
    octets: int
    digest: bytes  # SHA-256


def take_snapshot(log: ReplicationLog, path: Path) -> ReplicaSnapshot:
    """Put a store as it is now into the log, beside its turns: nobody waits.

    Raises:
        StoreError: it can't be read, is no replica, or the log can't be reached.
    """
    with _fresh_file(path.parent) as copy:
        with copied(path, copy) as target:
            number = position_of(target).number
            (version,) = target.execute("PRAGMA user_version").fetchone()
        with copy.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        made = ReplicaSnapshot(path.name, number, version, copy.stat().st_size, digest)
        last = last_snapshot(log, path.name)
        # who was ended in the middle of several need not copy again what is there
        if last is None or last._replace(digest=bytes(last.digest)) != made:
            _write(log, made, copy)
    return made


@contextmanager
def copied(path: Path, copy: Path) -> Iterator[sqlite3.Connection]:
    """Copy a store beside those who write to it, into one file; yield a connection to the copy.

    Raises:
        StoreError: it can't be read.
    """
    try:
        with (
            closing(connect(path, write=True, absent="there is none")) as db,
            closing(sqlite3.connect(copy)) as target,
        ):
            db.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
            yield target
    except ERRORS as error:
        raise explained_error(error, path) from error


def _write(log: ReplicationLog, made: ReplicaSnapshot, copy: Path) -> None:
    with log.connected() as db, db.transaction():
        db.execute("DELETE FROM snapshot WHERE store = %s AND number = %s", made[:2])
        db.execute(
            "INSERT INTO snapshot (store, machine, number, version, octets, digest)"
            " VALUES (%s, %s, %s, %s, %s, %s)",
            (made.store, log.machine, *made[1:]),
        )
        with copy.open("rb") as file:
            for part, octets in enumerate(iter(lambda: file.read(PART_OCTETS), b"")):
                db.execute(
                    "INSERT INTO snapshot_part (store, number, part, octets) VALUES (%s, %s, %s, %s)",
                    (made.store, made.number, part, zlib.compress(octets, LEVEL)),
                )
        db.execute(
            "DELETE FROM snapshot WHERE store = %s AND number < (SELECT min(number) FROM"
            " (SELECT number FROM snapshot WHERE store = %s ORDER BY number DESC LIMIT %s) kept)",
            (made.store, made.store, KEPT),
        )


def last_snapshot(log: ReplicationLog, store: str) -> ReplicaSnapshot | None:
    """Return the newest snapshot of a store; None = there is none."""
    rows = log.question(
        "SELECT store, number, version, octets, digest FROM snapshot WHERE store = %s"
        " ORDER BY number DESC LIMIT 1",
        (store,),
    )
    return ReplicaSnapshot(*rows[0]) if rows else None


@contextmanager
def fetched(log: ReplicationLog, snapshot: ReplicaSnapshot, folder: Path) -> Iterator[Path]:
    """Yield a snapshot as a file in a folder; it is removed afterwards, if it is still there.

    Raises:
        SnapshotDamagedError: it is not what was put in.
    """
    with _fresh_file(folder) as copy:
        digest, part = hashlib.sha256(), 0
        with copy.open("wb") as file:
            while octets := _part(log, snapshot, part):
                digest.update(octets)
                file.write(octets)
                part += 1
            file.flush()
            os.fsync(file.fileno())
        if digest.digest() != snapshot.digest:
            raise SnapshotDamagedError(
                f"the site's log: its snapshot of {snapshot.store} at change {snapshot.number} is "
                "damaged, or was taken away while it was read; again"
            )
        yield copy


def _part(log: ReplicationLog, snapshot: ReplicaSnapshot, part: int) -> bytes:
    rows = log.question(
        "SELECT octets FROM snapshot_part WHERE store = %s AND number = %s AND part = %s",
        (snapshot.store, snapshot.number, part),
    )
    if not rows:
        return b""
    reader = zlib.decompressobj()
    try:
        octets = reader.decompress(rows[0][0], PART_OCTETS)
    except zlib.error as error:
        raise SnapshotDamagedError(
            f"the site's log: part {part} of its snapshot of {snapshot.store} is damaged ({error})"
        ) from error
    return octets


@contextmanager
def _fresh_file(folder: Path) -> Iterator[Path]:
    descriptor, name = tempfile.mkstemp(prefix=".snapshot-", dir=folder)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            Path(name + suffix).unlink(missing_ok=True)
