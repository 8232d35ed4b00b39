"""The journal entry of a message that is being delivered, and the facts of it that a reader's own
list entries are matched against.

An entry speaks for a message when its id is signed by us, when it is no older than the journal
keeps, when both have one Message-ID, and when it is about this delivery: the recipient is one of
its recipients, or the mail server's own Received names the queue id under which it was judged (an
alias gives the recipient another name).  So an id that was taken out of one message proves nothing
in another.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final, Protocol

import msgspec

from oborona.doors.delivery.header_marks import HeaderMarks
from oborona.ident import time_of_id
from oborona.journal.entry import JournalEntry
from oborona.journal.texts import TEXT_LENGTH
from oborona.message.model import EntityKind
from oborona.message.parse import parse
from oborona.policy.load import Policy
from oborona.policy.personal_list_match import DeliveredFacts, delivered_facts
from oborona.recheck.engine.copies import by_site
from oborona.recheck.facts_at_delivery import facts_then, readable
from oborona.types import Action, ProvedIdentity, Verdict

FIRST_LOOK_S: Final = 0.02  # until the second look; each later one waits twice as long
FUTURE_S: Final = 60.0  # that the clocks of who judged and who delivers may be apart

_FIRST: Final = re.compile(r"[^ =(]*")  # of a reason: who decided


class EntryLookup(Protocol):
    """The journal."""

    async def get(self, number: int) -> JournalEntry | None:
        """Return one entry; None when there is none (yet, or any more).

        Raises:
            StoreError: the file cannot be read.
        """
        ...


class JournalTiming(msgspec.Struct, frozen=True, kw_only=True):
    """How the journal keeps what it is asked for."""

    retention_s: float
    wait_s: float  # for an entry that is being written


async def find_entry(
    entries: EntryLookup, number: int, expected: JournalTiming, now: float
) -> JournalEntry | None:
    """Return the entry of an id, once it is written.

    None when it does not come within its time, or is too old.

    Args:
        entries: the journal.
        number: of an id that we signed.
        expected: of the journal.
        now: Unix seconds.

    Raises:
        StoreError: the journal cannot be read.
    """
    if now - time_of_id(number) > expected.retention_s:
        return None
    # what was judged long ago is written by now; an id from the future is of a clock that was
    # ahead, and signed by us all the same
    left_s = max(0.0, min(expected.wait_s, time_of_id(number) + expected.wait_s + FUTURE_S - now))
    pause_s = FIRST_LOOK_S
    while (entry := await entries.get(number)) is None and left_s > 0:
        await asyncio.sleep(min(pause_s, left_s))
        left_s -= pause_s
        pause_s *= 2
    return entry


class ClaimedIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What a message that is delivered shows of itself, as the journal would have it.

    Proved by nothing.
    """

    message_id: str = ""
    claimed: str = ""  # address in From
    list_id: str = ""
    sender: str = ""  # of its envelope


def claimed_identity(header: bytes, sender: str) -> ClaimedIdentity:
    """Return what a header block shows.

    Args:
        header: of the message.
        sender: of its envelope.
    """
    message = parse(header)
    lists = (entity.value for entity in message.entities if entity.kind is EntityKind.LIST)
    return ClaimedIdentity(
        message_id=message.message_id[:TEXT_LENGTH],
        claimed=message.from_.address if message.from_ else "",
        list_id=next(lists, ""),
        sender=sender,
    )


def entry_matches(
    entry: JournalEntry, shown: ClaimedIdentity, marks: HeaderMarks, recipient: str
) -> bool:
    """Tell whether an entry is about the message that is delivered to somebody.

    Args:
        entry: that the message's signed id names.
        shown: by the message.
        marks: its own and the mail server's headers.
        recipient: address.
    """
    queued = bool(entry.queue_id) and entry.queue_id == marks.queue_id
    if not entry.message_id:  # what the mail server gave it later we have never seen
        return queued
    if entry.message_id != shown.message_id:
        return False
    return queued or recipient.lower() in (
        recipient_then.lower() for recipient_then in entry.recipients
    )


def delivered_by_entry(
    entry: JournalEntry, shown: ClaimedIdentity, policy: Policy
) -> DeliveredFacts:
    """Return what an entry knows; without its facts nothing is proved.

    Args:
        entry: of the message.
        shown: by the message.
        policy: in force, whose lines and lists count.
    """
    ours = by_site(entry)
    verdict = Verdict(
        action=ours.verdict, score=entry.score, line=entry.line, decided_by=ours.decided_by
    )
    rule_facts = facts_then(entry)
    if rule_facts is None:
        return _facts_of_verdict(verdict, shown, policy)
    facts, _ = readable(rule_facts)
    return delivered_facts(
        facts,
        ProvedIdentity(
            author=facts.author, author_domain=facts.author_domain, sender=facts.sender_proved
        ),
        entry.shingles,
        verdict,
        spam_score=policy.verdict.spam_score,
        reject_score=policy.verdict.reject_score,
        lists=_lists(policy),
    )


def delivered_by_marks(
    marks: HeaderMarks, shown: ClaimedIdentity, policy: Policy
) -> DeliveredFacts:
    """Return what headers of ours say, a score and what it came to.

    Who is denied is denied by what the message shows.

    Args:
        marks: of the message.
        shown: by the message.
        policy: in force, whose lines and lists count.
    """
    assert marks.action is not None
    decided_by = _FIRST.match(marks.reason)
    assert decided_by is not None
    verdict = Verdict(
        action=marks.action,
        score=_least(marks.action, policy) if marks.score is None else marks.score,
        line=marks.line,
        decided_by=decided_by[0],
    )
    return _facts_of_verdict(verdict, shown, policy)


def _facts_of_verdict(verdict: Verdict, shown: ClaimedIdentity, policy: Policy) -> DeliveredFacts:
    return DeliveredFacts(
        action=verdict.action,
        score=verdict.score,
        spam_score=policy.verdict.spam_score,
        reject_score=policy.verdict.reject_score,
        decided_by=verdict.decided_by,
        enforced=verdict.decided_by in _lists(policy),
        malware=True,  # for all we know
        claimed=shown.claimed,
        claimed_sender=shown.sender,
        list_id=shown.list_id,
        own=True,  # the same: a complaint of a forged name does not stand against a colleague
    )


def _least(action: Action, policy: Policy) -> float:
    """Return the score that a verdict tells of where it is not told itself."""
    lines = {Action.SPAM: policy.verdict.spam_score, Action.REJECT: policy.verdict.reject_score}
    return lines.get(action, 0.0)


def _lists(policy: Policy) -> frozenset[str]:
    return frozenset(local_list.name for local_list in policy.local_lists.lists)
