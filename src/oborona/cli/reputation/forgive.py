"""`oborona reputation forgive`: a verdict was wrong, and what it counted is taken back."""

from __future__ import annotations

import asyncio
import time

import click

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.invoking_user import invoking_user
from oborona.cli.output import echo
from oborona.cli.reputation.overrides import dry_run, reason_needed
from oborona.cli.reputation.pin_store import pins_for_reading, pins_for_writing, spool
from oborona.counters.window import DAY_S, DAYS
from oborona.feedback.effect_outbox import EffectOutbox, forgiven_mark
from oborona.feedback.label_store import LabelStore
from oborona.ident import from_text, to_text
from oborona.journal.entry import JournalEntry, LateFindings
from oborona.journal.queries import JournalReader
from oborona.policy.accounting import is_counted, undo_verdict
from oborona.policy.personal_list_match import PERSONAL
from oborona.policy.ports import CounterCorrector
from oborona.recheck.facts_today import direction_of
from oborona.stores.pins.rows import PinAction, PinChange
from oborona.types import Action, Verdict


@click.command()
@click.argument("ident", metavar="ID")
@reason_needed
@dry_run
@pass_cli_context
def forgive(context: CliContext, ident: str, reason: str, dry_run: bool) -> None:
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
    entry, late = asyncio.run(_journal_entry(context, number))
    name = to_text(number)
    why = _why_not(context, entry, now)
    if why:
        click.echo(f"{name}: {why}", err=True)
        click.get_current_context().exit(1)
    pieces = len(entry.shingles) + (len(late.shingles) if late is not None else 0)
    description = f"{name} of {entry.client_ip or 'nobody known'}, {pieces} hashes"
    if dry_run:
        echo(f"{description}: would be taken back")
        return
    change = PinChange(at=now, by=invoking_user(), what=PinAction.FORGIVE, reason=reason, name=name)
    with pins_for_writing(context) as store, spool(context) as counters:
        first = store.take_back(number, change)
        if first:
            _take_back(counters, entry, late)
            counters.flush(now)
    echo(f"{description}: {'taken back' if first else 'somebody else has just taken it back'}")


def _why_not(context: CliContext, entry: JournalEntry, now: float) -> str:
    """Return why there is nothing to take back; empty where there is."""
    decision = _counted_pieces(entry)
    if decision is None:
        return (
            "was decided by a list of its recipients, and the journal does not have what the "
            "site counted"
        )
    action, decided_by = decision
    verdict = Verdict(action=action, score=entry.score, line=entry.line, decided_by=decided_by)
    if action not in (Action.SPAM, Action.REJECT):
        return f"was not counted as spam, but as {action}"
    if not entry.shingles:
        return "has no hashes in the journal, or no longer"
    if not is_counted(verdict):
        return "was not counted"
    if now - entry.time >= DAYS * DAY_S:
        return "is older than two weeks, and forgotten"
    if _pardoned(context, entry.id):
        return "was taken back before: an accepted not-spam report did it"
    with pins_for_reading(context) as store:
        return "was taken back before" if store is not None and store.taken_back(entry.id) else ""


def _pardoned(context: CliContext, number: int) -> bool:
    """Tell whether a person's pardon took back what a verdict counted."""
    if not (context.state / state_files.FEEDBACK).exists():
        return False
    with LabelStore(context.state / state_files.FEEDBACK, make=False) as words:
        return any(
            is_wanted for is_wanted, _ in EffectOutbox(words).states(forgiven_mark(number)).values()
        )


async def _journal_entry(
    context: CliContext, number: int
) -> tuple[JournalEntry, LateFindings | None]:
    async with await JournalReader.open(context.state / state_files.JOURNAL) as journal:
        entry, late = await journal.get(number), await journal.late(number)
    if entry is None:
        raise click.BadParameter(f"the journal has no message {to_text(number)}, or no longer")
    return entry, late


def _counted_pieces(entry: JournalEntry) -> tuple[Action, str] | None:
    """Return the action that was counted, and what decided it: the site's.

    None where that is not known.
    """
    if entry.kept is not None and entry.kept.site is not None:
        return entry.kept.site
    return None if entry.decided_by == PERSONAL else (entry.verdict, entry.decided_by)


def _take_back(counters: CounterCorrector, entry: JournalEntry, late: LateFindings | None) -> None:
    decision = _counted_pieces(entry)
    if decision is not None:
        prefix = direction_of(entry)
        undo_verdict(entry.shingles, decision[0], counters, at=entry.time, prefix=prefix)
        if late is not None:  # was counted with the verdict of the first time
            undo_verdict(late.shingles, decision[0], counters, at=late.time, prefix=prefix)
