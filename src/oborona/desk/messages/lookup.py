"""A message or refusal of the journal, by id, reference or queue id, and all that explains it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec

from oborona import state_files
from oborona.desk.messages import journal_entry
from oborona.desk.messages.explanation import VerdictExplanation
from oborona.desk.messages.feedback import feedback_on
from oborona.desk.messages.moves import moves_of
from oborona.desk.site import Site
from oborona.ident import to_text
from oborona.journal.entry import CopyDelivery, JournalEntry, LateFindings
from oborona.journal.queries import DAMAGED, JournalReader
from oborona.journal.refusal import RecordedRefusal
from oborona.people.caller import Scope
from oborona.recheck.facts_at_delivery import facts_then
from oborona.recheck.rejudgement import envelope_of
from oborona.types import Client, Envelope


class FoundEntry(NamedTuple):
    """What the journal has of a message."""

    entry: JournalEntry
    late: LateFindings | None
    asks: dict[str, str] | None  # what each rule asked then, by name; None = not known
    copies: list[CopyDelivery]  # where they went


async def look_up(
    site: Site, ident: int | None, queue_id: str = "", scope: Scope | None = None
) -> FoundEntry | RecordedRefusal | None:
    """Return what the journal has; None where it has nothing within a scope.

    Args:
        site: whose journal.
        ident: id or reference; None = none was named.
        queue_id: what else it may be; the newest message that has it. Some read as an id.
        scope: whose mail may be seen; None = everybody's.

    Raises:
        StoreError: the journal can't be read, or its row is damaged.
    """
    scope = scope or Scope()
    async with await JournalReader.open(site.state / state_files.JOURNAL) as journal:
        async for entry in _entries(journal, ident, queue_id):
            if scope.whole or any(map(scope.covers, entry.recipients)):
                asks = (await journal.policies()).get(entry.policy_version)
                late, copies = await _what_followed(site, journal, entry)
                return FoundEntry(entry, late, asks, copies)
        refusal = None if ident is None else await journal.refusal(ident)
    if refusal is None or scope.whole or any(map(scope.covers, refusal.refusal.recipients)):
        return refusal
    return None


async def _what_followed(
    site: Site, journal: JournalReader, entry: JournalEntry
) -> tuple[LateFindings | None, list[CopyDelivery]]:
    """Return what was found late, and where copies went; what of it is damaged is a notice."""
    late, copies = None, list[CopyDelivery]()
    try:
        late = await journal.late(entry.id)
        copies = await journal.went(entry.id)
    except DAMAGED as error:
        site.notice(f"{journal.path}: what followed {to_text(entry.id)} is damaged: {error}")
    return late, copies


async def _entries(
    journal: JournalReader, ident: int | None, queue_id: str
) -> AsyncIterator[JournalEntry]:
    entry = None if ident is None else await journal.get(ident)
    if entry is not None:
        yield entry
    elif queue_id:
        for number in await journal.find(queue_id=queue_id):
            entry = await journal.get(number)
            if entry is not None:
                yield entry


async def explain_journaled(site: Site, message: FoundEntry) -> VerdictExplanation:
    """Return why a message was judged as it was, what would be said of it now, and what people and
    the second look did about it.
    """
    with site.site() as parts:
        explanation = await journal_entry.explain_entry(
            message.entry, message.late, message.asks, site.policy(), parts, site.notice
        )
    return msgspec.structs.replace(
        explanation,
        feedback=feedback_on(site, message.entry.id),
        moves=moves_of(site, message.entry.id),
    )


def envelope_then(entry: JournalEntry) -> Envelope:
    """Return the envelope that a message came with, as far as it is kept."""
    facts = facts_then(entry)
    if facts is not None:
        return envelope_of(entry, facts)
    return Envelope(
        client=Client(ip=entry.client_ip),
        helo=entry.helo,
        sender=entry.sender,
        recipients=entry.recipients,
        login=entry.login,
    )
