"""A machine begins a site or joins one; nothing else uses its stores meanwhile.

    begin   the stores of this machine are the site's from now on: each is put into the log, and
            compared there row by row
    join    the site's stores take the place of this machine's, which are set aside

Each is done again where it was ended in the middle, and goes on (`unfinished_step`). It leaves by
`departure`.

The stores are keyed with the site's secret: it must be the same on all machines, and is copied by
hand.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files, store_birth
from oborona.atomic_file import write_atomically
from oborona.daemon.site.restored_store import restore_store
from oborona.daemon.site.snapshot import take_snapshot
from oborona.daemon.site.store_check import check_stores
from oborona.daemon.site.unfinished_step import (
    UnfinishedStep,
    note_finished,
    read_unfinished,
    write_unfinished,
)
from oborona.errors import StoreError, StoreForeign
from oborona.replication.link import COMMON, ReplicationLink, link_path, read_link
from oborona.replication.log import (
    LogForeignError,
    ReplicationLog,
    StoreHead,
    postgresql_library,
)
from oborona.replication.replica import ReplicaPosition, place, position_of
from oborona.replication.replica_mark import drop_mark, unplace
from oborona.sqlite_file import ERRORS, connect, explained_error
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
    unfinished = _unfinished(state, "begin", address, machine)
    known = _checked(state, machine, again=unfinished is not None)
    hosts = address_hosts(address)
    policy = _policy_version(state)
    log = ReplicationLog(address, machine)
    try:
        log.prepare()
        link = ReplicationLink(
            address=address,
            site=_mark(),
            machine=machine,
            mark=_mark(),
            hosts=hosts,
            stores=COMMON,
        )
        if unfinished is not None:
            link = unfinished.link
        there = [name for name in COMMON if (state / name).exists()]
        if unfinished is None or not _is_begun(log, link):
            write_unfinished(state, UnfinishedStep(act="begin", link=link))
            unplace(state / state_files.SITE_MODELS)
            gather(state, machine, anew=True)
            there = [name for name in COMMON if (state / name).exists()]
            _put_stores(log, state, link, there)
            log.add_machine(link.mark, version)
            log.begin_site(link.site, known)
        # what the policy folder holds, and no version has, was edited here
        note_applied(state, policy)
        _write_link(state, link)
        note_finished(state)
    finally:
        log.close()
    return there


def _put_stores(
    log: ReplicationLog, state: Path, link: ReplicationLink, there: Sequence[str]
) -> None:
    """Put a machine's stores into the log of a site that begins, and look that they are there, row
    by row.

    What is there already, as it is here, from a begin that was ended in the middle, is left there.
    """
    versions = {
        name: _placed(state / name, link.site) if name in there else 0 for name in link.stores
    }
    heads = log.heads()
    if any(heads[name] != StoreHead(0, versions[name]) for name in heads):
        log.clear()  # of another begin, or of an older Oborona
    for name, version in versions.items():
        log.add_store(name, version)
    for name in there:
        take_snapshot(log, state / name)
    for checked in check_stores(log, state, link):
        if checked.difference:
            raise MembershipError(
                f"{checked.store}: what is in PostgreSQL now is not what is here "
                f"({checked.difference}): no site was begun; the stores here are as they were"
            )


def _is_begun(log: ReplicationLog, link: ReplicationLink) -> bool:
    """Whether a begin that was ended in the middle has all that the log needs.

    Raises:
        LogForeignError: the log is another site's.
    """
    found = log.site()
    if found is not None and found[0] != link.site:
        raise LogForeignError("a site is begun in that database; `oborona site join` joins it")
    return found is not None


def _unfinished(state: Path, act: str, address: str, machine: str) -> UnfinishedStep | None:
    """Return what is left of the same command, which was ended in the middle."""
    step = read_unfinished(state)
    if step is None or (step.act, step.link.address, step.link.machine) != (act, address, machine):
        return None
    return step


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
        log.add_store(state_files.SITE_MOVES, 0)
        unfinished = _unfinished(state, "join", address, machine)
        if unfinished is not None and unfinished.link.site != mark:
            unfinished = None
        link = ReplicationLink(
            address=address,
            site=mark,
            machine=machine,
            mark=_known_mark(state) or (unfinished.link.mark if unfinished else _mark()),
            hosts=hosts,
            stores=tuple(name for name in COMMON if name in log.heads()),
        )
        done = () if unfinished is None else unfinished.done
        write_unfinished(state, UnfinishedStep(act="join", link=link, done=done))
        log.add_machine(link.mark, version)
        aside = list[Path]()
        for name in link.stores:
            if name not in done:
                aside += restore_store(log, state / name, mark)
                done = (*done, name)
                write_unfinished(state, UnfinishedStep(act="join", link=link, done=done))
        # the site's policy takes the place of whatever the folder holds
        (state / state_files.POLICY_APPLIED).unlink(missing_ok=True)
        _write_link(state, link)
        # of a site that was begun before they were common: whoever joins first again brings them
        if state_files.SITE_MODELS in link.stores:
            gather(state, machine, anew=False)
        note_finished(state)
    finally:
        log.close()
    with suppress(SiteModelsRefusedError):  # the keeper says so
        aside += level_here(state)
    return aside


def _policy_version(state: Path) -> PolicyVersion | None:
    path = state / state_files.POLICY_VERSIONS
    if not path.exists():
        return None
    with closing(VersionStore(path)) as store:
        return store.latest()


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
            if position_of(db) != (site, 0):  # else its octets stay what the log may have already
                db.execute("BEGIN IMMEDIATE")
                place(db, ReplicaPosition(site, 0))
                drop_mark(db)
                db.execute("COMMIT")
            (version,) = db.execute("PRAGMA user_version").fetchone()
    except ERRORS as error:
        raise explained_error(error, path) from error
    return int(version)


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
