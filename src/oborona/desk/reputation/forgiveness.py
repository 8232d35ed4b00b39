"""A verdict was wrong: what of it can be taken back from the counters."""

from __future__ import annotations

from oborona import state_files
from oborona.counters.window import DAY_S, DAYS
from oborona.desk.refusals import UnknownNameError
from oborona.desk.reputation.pin_store import pins_for_reading
from oborona.desk.site import Site
from oborona.feedback.effect_outbox import EffectOutbox, forgiven_mark
from oborona.feedback.label_store import LabelStore
from oborona.ident import to_text
from oborona.journal.entry import JournalEntry, LateFindings
from oborona.journal.queries import JournalReader
from oborona.policy.accounting import is_counted, undo_verdict
from oborona.policy.personal_list_match import PERSONAL
from oborona.policy.ports import CounterCorrector
from oborona.recheck.facts_today import direction_of
from oborona.types import Action, Verdict


def why_not(site: Site, entry: JournalEntry, now: float) -> str:
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
    if _pardoned(site, entry.id):
        return "was taken back before: an accepted not-spam report did it"
    with pins_for_reading(site) as store:
        return "was taken back before" if store is not None and store.taken_back(entry.id) else ""


def _pardoned(site: Site, number: int) -> bool:
    """Tell whether a person's pardon took back what a verdict counted."""
    if not (site.state / state_files.FEEDBACK).exists():
        return False
    with LabelStore(site.state / state_files.FEEDBACK, make=False) as words:
        return any(
            is_wanted for is_wanted, _ in EffectOutbox(words).states(forgiven_mark(number)).values()
        )


async def journaled_message(site: Site, number: int) -> tuple[JournalEntry, LateFindings | None]:
    """Return a message of the journal, with what was found later.

    Raises:
        UnknownNameError: it is not there, or no longer.
        StoreError: the journal can't be read.
    """
    async with await JournalReader.open(site.state / state_files.JOURNAL) as journal:
        entry, late = await journal.get(number), await journal.late(number)
    if entry is None:
        raise UnknownNameError(f"the journal has no message {to_text(number)}, or no longer")
    return entry, late


def _counted_pieces(entry: JournalEntry) -> tuple[Action, str] | None:
    """Return the action that was counted, and what decided it: the site's.

    None where that is not known.
    """
    if entry.kept is not None and entry.kept.site is not None:
        return entry.kept.site
    return None if entry.decided_by == PERSONAL else (entry.verdict, entry.decided_by)


def take_back(counters: CounterCorrector, entry: JournalEntry, late: LateFindings | None) -> None:
    """Take back what the verdict on a message counted."""
    decision = _counted_pieces(entry)
    if decision is not None:
        prefix = direction_of(entry)
        undo_verdict(entry.shingles, decision[0], counters, at=entry.time, prefix=prefix)
        if late is not None:  # was counted with the verdict of the first time
            undo_verdict(late.shingles, decision[0], counters, at=late.time, prefix=prefix)
