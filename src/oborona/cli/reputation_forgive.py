"""`oborona reputation forgive`: a verdict was wrong, and what it counted is taken back."""

from __future__ import annotations

import asyncio
import time

import click

from oborona import state_files
from oborona.cli.asked import Asked, pass_asked
from oborona.cli.output import echo
from oborona.cli.person import person
from oborona.cli.reputation_change import dry_run, reason_needed
from oborona.cli.reputation_stored import read, spool, written
from oborona.counters.window import DAY_S, DAYS
from oborona.feedback.effects import Effects, forgiven_mark
from oborona.feedback.store import Store
from oborona.ident import from_text, to_text
from oborona.journal.entry import Entry, Late
from oborona.journal.queries import Reader
from oborona.policy.personal import PERSONAL
from oborona.policy.ports import CounterCorrector
from oborona.policy.settling import counts, unsettle
from oborona.stores.pins.rows import Change, What
from oborona.types import Action, Verdict


@click.command()
@click.argument("ident", metavar="ID")
@reason_needed
@dry_run
@pass_asked
def forgive(asked: Asked, ident: str, reason: str, dry_run: bool) -> None:
    """Take back that the message ID counted as spam: for its address, its sender, its links and
    everything else in it.

    ID stands in X-Mras-Id, in refusals and in the log. It happens once for each message; that the
    message came stays counted. What people said of it is theirs to take back (`oborona learn`).
    Exit status 1 where there is nothing to take back.
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
    told = f"{name} of {entry.client_ip or 'nobody known'}, {pieces} hashes"
    if dry_run:
        echo(f"{told}: would be taken back")
        return
    change = Change(at=now, by=person(), what=What.FORGIVE, reason=reason, name=name)
    with written(asked) as store, spool(asked) as counters:
        first = store.take_back(number, change)
        if first:
            _take_back(counters, entry, late)
            counters.flush(now)
    echo(f"{told}: {'taken back' if first else 'somebody else has just taken it back'}")


def _why_not(asked: Asked, entry: Entry, now: float) -> str:
    """Return why there is nothing to take back; empty where there is."""
    found = _counted(entry)
    if found is None:
        return (
            "was decided by a list of its recipients, and the journal does not have what the "
            "site counted"
        )
    action, decided_by = found
    verdict = Verdict(action=action, score=entry.score, line=entry.line, decided_by=decided_by)
    if action not in (Action.SPAM, Action.REJECT):
        return f"was not counted as spam, but as {action}"
    if not entry.shingles:
        return "has no hashes in the journal, or no longer"
    if not counts(verdict):
        return "was not counted"
    if now - entry.time >= DAYS * DAY_S:
        return "is older than two weeks, and forgotten"
    if _pardoned(asked, entry.id):
        return "was taken back before: an accepted not-spam report did it"
    with read(asked) as store:
        return "was taken back before" if store is not None and store.taken_back(entry.id) else ""


def _pardoned(asked: Asked, number: int) -> bool:
    """Tell whether a person's pardon took back what a verdict counted."""
    if not (asked.state / state_files.FEEDBACK).exists():
        return False
    with Store(asked.state / state_files.FEEDBACK, make=False) as words:
        return any(wanted for wanted, _ in Effects(words).states(forgiven_mark(number)).values())


async def _journaled(asked: Asked, number: int) -> tuple[Entry, Late | None]:
    async with await Reader.open(asked.state / state_files.JOURNAL) as journal:
        entry, late = await journal.get(number), await journal.late(number)
    if entry is None:
        raise click.BadParameter(f"the journal has no message {to_text(number)}, or no longer")
    return entry, late


def _counted(entry: Entry) -> tuple[Action, str] | None:
    """Return the action that was counted, and what decided it: the site's.

    None where that is not known.
    """
    if entry.kept is not None and entry.kept.site is not None:
        return entry.kept.site
    return None if entry.decided_by == PERSONAL else (entry.verdict, entry.decided_by)


def _take_back(counters: CounterCorrector, entry: Entry, late: Late | None) -> None:
    found = _counted(entry)
    if found is not None:
        unsettle(entry.shingles, found[0], counters, at=entry.time)
        if late is not None:  # was counted with the verdict of the first time
            unsettle(late.shingles, found[0], counters, at=late.time)
