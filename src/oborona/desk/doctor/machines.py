"""What `oborona doctor` says of a site of several machines: does this one follow the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from oborona import state_files
from oborona.daemon.site.move_share import SILENT_S as TAKEN_S
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.doctor.traffic import ago
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.feedback.events.spool import FeedbackSpool
from oborona.recheck.site_moves import SiteMoveStore
from oborona.replication.link import ReplicationLink, read_link
from oborona.replication.log import LoggedMachine, known_machines

WHAT: Final = "machines"
SILENT_S: Final = 30.0  # a machine tells how far it is each 5 s


def machines(context: Site) -> Iterator[CheckReport]:
    """Ask the site's log how far each machine is; a machine alone has none."""
    link = read_link(context.state)
    if link is None:
        return
    yield from _spooled(context)
    try:
        found = known_machines(link)
    except StoreError as error:
        yield CheckReport(
            WHAT,
            CheckState.FAIL,
            f"{error}: this machine judges by what it knew, and nobody can change it",
            "is PostgreSQL up, and does it let this machine in?",
        )
        return
    wrong = [report for one in found for report in _wrong(one, link)]
    wrong += _left_moves(context, found)
    yield from wrong
    if not wrong:
        yield CheckReport(
            WHAT, CheckState.OK, f"{', '.join(one.name for one in found)}: all have the same"
        )


def _spooled(context: Site) -> Iterator[CheckReport]:
    """Say how many events wait here for the log."""
    path = context.state / state_files.EVENTS_SPOOL
    if not path.exists():
        return
    try:
        with context.as_owner(), FeedbackSpool(path, make=False) as spool:
            waiting = spool.waiting()
    except StoreError as error:
        yield CheckReport(WHAT, CheckState.FAIL, f"events may wait for the site's log: {error}")
        return
    if waiting:
        yield CheckReport(
            WHAT,
            CheckState.WARN,
            f"{waiting:,} events were written down here and wait for the site's log",
            "they go in by themselves once PostgreSQL answers",
        )


def _left_moves(context: Site, machines: Sequence[LoggedMachine]) -> Iterator[CheckReport]:
    """Say which moves of a machine that is gone nobody makes."""
    path = context.state / state_files.SITE_MOVES
    if not path.exists():
        return
    alive = {one.mark for one in machines if one.silent_s < SILENT_S + TAKEN_S}
    try:
        with context.as_owner(), SiteMoveStore(path, make=False) as moves:
            left = [
                (moves.name_of(holder), number)
                for holder, number in moves.waiting().items()
                if holder not in alive
            ]
    except StoreError as error:
        yield CheckReport(WHAT, CheckState.FAIL, f"moves of silent machines may wait: {error}")
        return
    for name, number in left:
        yield CheckReport(
            WHAT,
            CheckState.WARN,
            f"{number:,} moves of delivered mail wait for {name}, which is silent: no other machine "
            "has these copies in its mailboxes",
            f"start Oborona on {name}, or set [mailboxes] on another machine that reaches them",
        )


def _wrong(one: LoggedMachine, link: ReplicationLink) -> Iterator[CheckReport]:
    here = one.name == link.machine
    if one.silent_s > SILENT_S:
        yield CheckReport(
            WHAT,
            CheckState.FAIL if here else CheckState.WARN,
            f"{one.name}{' (this one)' if here else ''} was last heard of {ago(one.silent_s)} ago",
            "start its keeper (oborona serve)"
            if here
            else f"start Oborona there; if it will not come back: oborona site forget {one.name}",
        )
    for store in one.stores:
        if store.trouble:
            yield CheckReport(
                WHAT, CheckState.FAIL, f"{store.store} on {one.name} stands still: {store.trouble}"
            )
