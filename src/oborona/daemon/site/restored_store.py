"""A store of the site in the place of a machine's, which is set aside."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from oborona import store_birth
from oborona.atomic_file import sync_folder
from oborona.daemon.site.common_kinds import COMMON_KINDS
from oborona.daemon.site.snapshot import ReplicaSnapshot, fetched, last_snapshot
from oborona.replication.log import ReplicationLog
from oborona.replication.replica import ReplicaPosition, place
from oborona.sqlite_file import ERRORS, PARTS, connect, explained_error, part_of


def restore_store(log: ReplicationLog, path: Path, site: str) -> list[Path]:
    """Put the site's store, as its last snapshot is, in the place of a machine's.

    Return where that is now.

    Raises:
        StoreError: the snapshot can't be had, or the file not be written.
    """
    snapshot = last_snapshot(log, path.name)
    if snapshot is None:
        return _set_aside(path)
    with fetched(log, snapshot, path.parent) as copy:
        _check_copy(copy, snapshot, site)
        os.chmod(copy, COMMON_KINDS[path.name].mode)  # noqa: PTH101 - as of who begins it
        aside = _set_aside(path)
        copy.replace(path)
        sync_folder(path.parent)
    with closing(connect(path, write=True)) as db:
        birth = store_birth.stored_birth(db)
    if birth is not None:
        store_birth.note_birth(path.parent, path.name, birth, fresh=False)
    return aside


def _check_copy(copy: Path, snapshot: ReplicaSnapshot, site: str) -> None:
    try:
        with closing(sqlite3.connect(copy)) as db:
            db.execute("BEGIN IMMEDIATE")
            place(db, ReplicaPosition(site, snapshot.number))
            db.execute("COMMIT")
    except ERRORS as error:
        raise explained_error(error, copy) from error


def _set_aside(path: Path) -> list[Path]:
    if not path.exists():
        return []
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    target = path.with_name(f"{path.name}.before-join-{stamp}")
    for suffix in PARTS:
        if part_of(path, suffix).exists():
            part_of(path, suffix).replace(part_of(target, suffix))
    return [target]
