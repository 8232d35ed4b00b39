"""A machine leaves its site; nothing else uses its stores meanwhile.

They are brought to where the log is, compared with it row by row, and are this machine's alone.
What was ended in the middle goes on when it is done again (`unfinished_step`).
"""

from __future__ import annotations

import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from oborona import __version__, state_files
from oborona.atomic_file import sync_folder
from oborona.daemon.site.common_kinds import COMMON_KINDS
from oborona.daemon.site.event_drain import EventDrain
from oborona.daemon.site.follower import ReplicaFollower
from oborona.daemon.site.membership import MembershipError
from oborona.daemon.site.move_share import give_up_moves
from oborona.daemon.site.store_check import CheckedStore, check_stores
from oborona.daemon.site.unfinished_step import (
    UnfinishedStep,
    note_finished,
    read_unfinished,
    write_unfinished,
)
from oborona.recheck.site_moves import SiteMoveStore
from oborona.replication.link import COMMON, ReplicationLink, link_path, read_link
from oborona.replication.log import LogUnreachableError, ReplicationLog
from oborona.replication.replica import position_of
from oborona.replication.replica_mark import unplace
from oborona.sqlite_file import ERRORS, connect, explained_error

_AS_IT_IS: Final = "; `oborona site leave --unchecked` leaves with what is here"


class LeftSite(NamedTuple):
    """What a machine was that has left."""

    machine: str  # its name there; empty = its link was gone
    checked: list[CheckedStore] | None  # None: nobody compared its stores with the log


def leave_site(state: Path, *, unchecked: bool = False) -> LeftSite:
    """Make a machine's stores its own; say what it was there.

    Where the log can be reached they are brought to where it is, and compared with it row by row;
    the site forgets the machine.

    Args:
        state: the state folder, used by nobody.
        unchecked: leave as they are, whatever the log has.

    Raises:
        MembershipError: it is of no site, or a store is not what the log has.
        StoreError: a store can't be written, or the site can't be told, which is all that is
            missing then.
    """
    link, unfinished = read_link(state), read_unfinished(state)
    if unfinished is not None and unfinished.act != "leave":
        unfinished = None
    common = [state / name for name in COMMON if (state / name).exists()]
    if link is None and unfinished is None and not any(map(_is_replica, common)):
        raise MembershipError("this machine is alone: it is of no site")
    checked: list[CheckedStore] | None = None
    if link is not None:
        if unfinished is None and not unchecked:
            checked = _level(state, link)
        write_unfinished(state, UnfinishedStep(act="leave", link=link))
        with suppress(LogUnreachableError):  # its moves are its own all the same
            give_up_moves(state, link, time.time())
    for path in common:
        unplace(path)
    if link is not None:
        link_path(state).unlink()
        (state / state_files.POLICY_APPLIED).unlink(missing_ok=True)
        sync_folder(state)
    _forget_moves(state / state_files.SITE_MOVES)
    with closing(EventDrain(state)) as drain:  # what waits is this machine's alone now
        while drain.step():
            pass
    link = link or (None if unfinished is None else unfinished.link)
    if link is None:
        return LeftSite("", checked)
    log = ReplicationLog(link.address, link.machine)
    try:
        log.forget_machine(link.machine, link.mark)
    finally:
        note_finished(state)
        log.close()
    return LeftSite(link.machine, checked)


def _level(state: Path, link: ReplicationLink) -> list[CheckedStore] | None:
    """Bring a machine's stores to where the log is, and compare them with it; None where it can't
    be reached.

    Raises:
        MembershipError: one is not what the log has.
        StoreError: one goes no further.
    """
    log = ReplicationLog(link.address, link.machine)
    try:
        log.check(link.site)
        kinds = {name: COMMON_KINDS[name] for name in log.heads() if name in link.stores}
        follower = ReplicaFollower(state, link, kinds, __version__)
        with closing(follower):
            follower.look(log)
        for name, store in follower.stores.items():
            if store.trouble.now:
                raise MembershipError(f"{name}: {store.trouble.now}{_AS_IT_IS}")
        checked = list(check_stores(log, state, link))
    except LogUnreachableError:
        return None
    finally:
        log.close()
    for one in checked:
        if one.difference:
            raise MembershipError(
                f"{one.store}: is not what the site's log has ({one.difference}): `oborona site "
                f"join` fetches that{_AS_IT_IS}"
            )
    return checked


def _forget_moves(path: Path) -> None:
    """Forget the moves of other machines, of which this one is none any more."""
    if path.exists():
        with SiteMoveStore(path) as moves:
            moves.purge(float("inf"))


def _is_replica(path: Path) -> bool:
    try:
        with closing(connect(path, write=False)) as db:
            return bool(position_of(db).site)
    except ERRORS as error:
        raise explained_error(error, path) from error
