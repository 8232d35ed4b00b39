"""`oborona reputation forgive`: a verdict was wrong, and what it counted is taken back."""

from __future__ import annotations

import asyncio
import time

import click

from oborona.cli.asked import Asked, pass_asked
from oborona.cli.output import echo
from oborona.cli.owner import as_owner_of
from oborona.cli.person import person
from oborona.cli.reputation_change import dry_run, reason_needed
from oborona.cli.reputation_stored import read, written
from oborona.counters.window import DAY_S, DAYS
from oborona.errors import StoreError
from oborona.milter.pinned.rows import Change, What
from oborona.milter.stores import COUNTERS, open_counters
from oborona.milter.worker import JOURNAL
from oborona.policy.settling import counts, unsettle
from oborona.recheck.entry import Entry, Late
from oborona.recheck.ident import from_text, to_text
from oborona.recheck.reading import Reader
from oborona.types import Action, Verdict


@click.command()
@click.argument("ident", metavar="ID")
@reason_needed
@dry_run
@pass_asked
def forgive(asked: Asked, ident: str, reason: str, dry_run: bool) -> None:
    """Take back that the message ID counted as spam: for its address, its sender, its links and every other piece of it.

    ID stands in X-Mras-Id, in refusals and in the log. It happens once for each message; that the message came stays counted. What people said of it is
    theirs to take back (`oborona learn`). Exit status 1 where there is nothing to take back.
    """
    now = time.time()
    number = from_text(ident.strip().partition(".")[0])
    if number is None:
        raise click.BadParameter(f"{ident!r} is no id of a message, such as 06PW8V5A3K7QX")
    entry, late = asyncio.run(_journaled(asked, number))
    name = to_text(number)
    why = _why_not(asked, entry, now)
    if why:
        click.echo(f"{name}: {why}", err=True)
        click.get_current_context().exit(1)
    pieces = len(entry.shingles) + (len(late.shingles) if late is not None else 0)
    told = f"{name} of {entry.client_ip or 'nobody known'}, {pieces} pieces"
    if dry_run:
        echo(f"{told}: would be taken back")
        return
    folder = asked.state / COUNTERS
    if not folder.is_dir():
        raise StoreError(f"no spools in {folder}: has the writer run?")
    change = Change(at=now, by=person(), what=What.FORGIVE, reason=reason, name=name)
    with written(asked) as store, store.taking_back(number, change) as first:
        if first:
            _take_back(asked, entry, late, now)
    echo(f"{told}: {'taken back' if first else 'somebody else has just taken it back'}")


def _why_not(asked: Asked, entry: Entry, now: float) -> str:
    """Return why there is nothing to take back; empty where there is."""
    verdict = Verdict(action=entry.verdict, score=entry.score, line=entry.line, decided_by=entry.decided_by)
    if entry.verdict not in (Action.SPAM, Action.REJECT):
        return f"was no spam, but {entry.verdict}"
    if not (counts(verdict) and entry.shingles):
        return "was not counted"
    if now - entry.time >= DAYS * DAY_S:
        return "is older than two weeks, and forgotten"
    with read(asked) as store:
        return "was taken back before" if store is not None and store.taken_back(entry.id) else ""


async def _journaled(asked: Asked, number: int) -> tuple[Entry, Late | None]:
    async with await Reader.open(asked.state / JOURNAL) as journal:
        entry, late = await journal.get(number), await journal.late(number)
    if entry is None:
        raise click.BadParameter(f"the journal has no message {to_text(number)}, or no longer")
    return entry, late


def _take_back(asked: Asked, entry: Entry, late: Late | None, now: float) -> None:
    with as_owner_of(asked.state / COUNTERS):
        counters = open_counters(asked.loaded.settings, asked.state, "cli")
        try:
            unsettle(entry.shingles, entry.verdict, counters, at=entry.time)
            if late is not None:  # was counted with the verdict of the first time
                unsettle(late.shingles, entry.verdict, counters, at=late.time)
            counters.flush(now)
        finally:
            counters.close()
