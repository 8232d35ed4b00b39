"""A machine begins a site, joins one, or leaves it; nothing else uses its stores meanwhile.

    begin   the stores of this machine are the site's from now on: each is put into the log
    join    the site's stores take the place of this machine's, which are set aside
    leave   the stores stay as they are, and are this machine's alone

The stores are keyed with the site's secret: it must be the same on all machines, and is copied by
hand.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files, store_birth
from oborona.atomic_file import sync_folder, write_atomically
from oborona.daemon.site.common_kinds import COMMON_KINDS
from oborona.daemon.site.event_drain import EventDrain
from oborona.daemon.site.snapshot import ReplicaSnapshot, fetched, last_snapshot, take_snapshot
from oborona.errors import StoreError, StoreForeign
from oborona.replication.link import COMMON, ReplicationLink, link_path, read_link
from oborona.replication.log import LogForeignError, ReplicationLog, postgresql_library
from oborona.replication.replica import ReplicaPosition, place, position_of
from oborona.replication.replica_mark import drop_mark
from oborona.sqlite_file import ERRORS, PARTS, connect, explained_error, part_of
from oborona.stores.policy_versions.site_versions import note_applied
from oborona.stores.policy_versions.store import PolicyVersion, VersionStore
from oborona.stores.site_models.level import SiteModelsRefusedError, gather, level_here

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,62}")
_MODE: Final = 0o640


class MembershipError(StoreError):
    """A machine can't begin, join or leave."""


def begin_site(state: Path, address: str, machine: str, version: str) -> list[str]:
    """Make a machine's stores those of a new site; return which there were.

    Args:
        state: the state folder, used by nobody.
        address: of a database in PostgreSQL that is for this alone, as libpq reads it.
        machine: name of this machine in the site.
        version: of this Oborona.

    Raises:
        MembershipError: it follows a site already, has no secret, or its name can't be one.
        LogForeignError: the database holds a site already.
        StoreError: the log or a store can't be used.
    """
    known, hosts = _checked(state, machine), address_hosts(address)
    policy = _policy_version(state)
    log = ReplicationLog(address, machine)
    try:
        log.prepare()
        log.clear()
        link = ReplicationLink(
            address=address,
            site=_mark(),
            machine=machine,
            mark=_mark(),
            hosts=hosts,
            stores=COMMON,
        )
        gather(state, machine, anew=True)
        there = [name for name in COMMON if (state / name).exists()]
        for name in COMMON:
            log.add_store(name, _placed(state / name, link.site) if name in there else 0)
        for name in there:
            take_snapshot(log, state / name)
        log.add_machine(link.mark, version)
        log.begin_site(link.site, known)
        # what the policy folder holds, and no version has, was edited here
        note_applied(state, policy)
        _write_link(state, link)
    finally:
        log.close()
    return there


def join_site(state: Path, address: str, machine: str, version: str) -> list[Path]:
    """Let the site's stores take the place of a machine's; return what was set aside.

    Args: as of `begin_site`.

    Raises:
        StoreForeign: the site has another secret.
        MembershipError: its name is taken by another machine, or can't be one.
        StoreError: as of `begin_site`.
    """
    known, hosts = _checked(state, machine, again=True), address_hosts(address)
    log = ReplicationLog(address, machine)
    try:
        found = log.site()
        if found is None:
            raise LogForeignError(
                "there is no site in that database; `oborona site begin` begins one"
            )
        mark, secret = found
        if secret != known:
            raise StoreForeign(
                f"the site has another secret than {state}: copy the file `secret` of a machine of "
                "the site here, before Oborona first starts"
            )
        log.prepare()
        if state_files.FEEDBACK in log.heads():  # else each machine learns for itself
            log.add_store(state_files.SITE_MODELS, 0)
        link = ReplicationLink(
            address=address,
            site=mark,
            machine=machine,
            mark=_known_mark(state) or _mark(),
            hosts=hosts,
            stores=tuple(name for name in COMMON if name in log.heads()),
        )
        log.add_machine(link.mark, version)
        aside = [moved for name in link.stores for moved in restore_store(log, state / name, mark)]
        # the site's policy takes the place of whatever the folder holds
        (state / state_files.POLICY_APPLIED).unlink(missing_ok=True)
        _write_link(state, link)
        # of a site that was begun before they were common: whoever joins first again brings them
        if state_files.SITE_MODELS in link.stores:
            gather(state, machine, anew=False)
    finally:
        log.close()
    with suppress(SiteModelsRefusedError):  # the keeper says so
        aside += level_here(state)
    return aside


def leave_site(state: Path) -> str:
    """Make a machine's stores its own, as they are; return its name there, empty where its link is
    gone.

    The site forgets it, where it can be told.

    Raises:
        MembershipError: it is of no site.
        StoreError: a store can't be written, or the site can't be told, which is all that is
            missing then.
    """
    link = read_link(state)
    common = [state / name for name in COMMON if (state / name).exists()]
    if link is None and not any(map(_is_replica, common)):
        raise MembershipError("this machine is alone: it is of no site")
    for path in common:
        try:
            with closing(connect(path, write=True)) as db:
                db.execute("DROP TABLE IF EXISTS replica")
                drop_mark(db)
        except ERRORS as error:
            raise explained_error(error, path) from error
    if link is None:
        return ""
    link_path(state).unlink()
    (state / state_files.POLICY_APPLIED).unlink(missing_ok=True)
    sync_folder(state)
    with closing(EventDrain(state)) as drain:  # what waits is this machine's alone now
        while drain.step():
            pass
    log = ReplicationLog(link.address, link.machine)
    try:
        log.forget_machine(link.machine, link.mark)
    finally:
        log.close()
    return link.machine


def _policy_version(state: Path) -> PolicyVersion | None:
    path = state / state_files.POLICY_VERSIONS
    if not path.exists():
        return None
    with closing(VersionStore(path)) as store:
        return store.latest()


def _is_replica(path: Path) -> bool:
    try:
        with closing(connect(path, write=False)) as db:
            return bool(position_of(db).site)
    except ERRORS as error:
        raise explained_error(error, path) from error


def _checked(state: Path, machine: str, *, again: bool = False) -> str:
    """Return the check value of a state's secret, all being well."""
    if not _NAME.fullmatch(machine):
        raise MembershipError(
            f"{machine!r}: a machine's name has letters, digits, dots and hyphens"
        )
    if link_path(state).exists() and not again:
        raise MembershipError(f"{link_path(state)}: this machine follows a site already")
    known = store_birth.secret_check_value(state)
    if not known:
        raise MembershipError(
            f"{state} holds no state yet: start Oborona once, or `oborona doctor`"
        )
    return known


def _placed(path: Path, site: str) -> int:
    """Make a file a replica at no change; return the version of its format."""
    try:
        with closing(connect(path, write=True)) as db:
            db.execute("BEGIN IMMEDIATE")
            place(db, ReplicaPosition(site, 0))
            drop_mark(db)
            db.execute("COMMIT")
            (version,) = db.execute("PRAGMA user_version").fetchone()
    except ERRORS as error:
        raise explained_error(error, path) from error
    return int(version)


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


def _write_link(state: Path, link: ReplicationLink) -> None:
    write_atomically(link_path(state), msgspec.json.encode(link) + b"\n")
    link_path(state).chmod(_MODE)


def address_hosts(address: str) -> tuple[str, ...]:
    """Return the hosts that an address of PostgreSQL leads to, socket folders apart.

    Raises:
        MembershipError: it can't be one, or it holds a password: command lines and the audit log
            are read by others.
    """
    psycopg = postgresql_library()
    try:
        parts = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError as error:
        raise MembershipError(
            f"no address of a database: {' '.join(str(error).split())}"
        ) from error
    if parts.get("password"):
        raise MembershipError(
            "the address holds a password: write it into a file that user oborona alone can read "
            "(HOST:PORT:DATABASE:USER:PASSWORD), and passfile=FILE into the address"
        )
    named = f"{parts.get('host') or ''},{parts.get('hostaddr') or ''}".split(",")
    return tuple(host for host in named if host and not host.startswith(("/", "@")))


def _known_mark(state: Path) -> str:
    """Return the mark that a state folder had in a site; empty where it had none."""
    try:
        link = read_link(state)
    except StoreError:
        return ""
    return "" if link is None else link.mark


def _mark() -> str:
    return secrets.token_hex(8)
