"""Messages in the mail server's queue, each with what the journal has of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from oborona import state_files
from oborona.accounts.store.queue_holds import queue_holds
from oborona.desk.outgoing.queue_listing import QueuedMessage, QueueListing
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.ident import to_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.session.judged_message import HELD
from oborona.session.limit_report import PASSED
from oborona.types import RuleHit, RuleMode

CLOCKS_S: Final = 300.0  # that the mail server's may be ahead of ours
REASONS: Final = 3  # rules of a message that are named


class QueueEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A message in the queue, and what we know of it."""

    queued: QueuedMessage
    entry: JournalEntry | None = None  # None: we have not judged it, or not in the journal's time
    banned: bool = False  # held because its account is banned

    @property
    def ours(self) -> bool:
        """Whether Oborona had it held, for what it is or for whose it is."""
        return self.banned or (self.entry is not None and HELD in self.entry.findings)

    @property
    def login(self) -> str:
        """The account that sent it; empty = none, or nobody knows."""
        return "" if self.entry is None else self.entry.login

    @property
    def reasons(self) -> tuple[RuleHit, ...]:
        """The live rules that weigh most."""
        rules = () if self.entry is None else self.entry.rules
        live = [hit for hit in rules if hit.mode is RuleMode.LIVE]
        return tuple(sorted(live, key=lambda hit: -abs(hit.score))[:REASONS])

    @property
    def limits(self) -> tuple[str, ...]:
        """The limits that it passed, in words."""
        findings = () if self.entry is None else self.entry.findings
        return tuple(finding.evidence for finding in findings if finding.name == PASSED)


def queue_entries(context: Site, listing: QueueListing) -> list[QueueEntry]:
    """Return the messages of a listing with their entries.

    Where the journal can't be read none has one, with a notice.
    """
    if listing.unreadable:
        context.notice(f"{listing.unreadable} lines of the mail server's list were not understood")
    holds = _holds(context)
    found = [
        QueueEntry(queued=queued, banned=(queued.queue_id, queued.since) in holds)
        for queued in listing.messages
    ]
    try:
        return asyncio.run(_joined(context, found))
    except StoreError as error:
        context.notice(f"{error}; nothing is known of what lies in the queue")
        return found


def _holds(context: Site) -> set[tuple[str, float]]:
    """Return which messages are held because their accounts are banned: id, and when each came."""
    try:
        with context.as_owner():
            return {(hold.queue_id, hold.since) for hold in queue_holds(context.state)}
    except StoreError as error:
        context.notice(f"{error}; which are held by bans is not known")
        return set()


async def _joined(context: Site, messages: Sequence[QueueEntry]) -> list[QueueEntry]:
    async with await JournalReader.open(context.state / state_files.JOURNAL) as journal:
        return [
            msgspec.structs.replace(one, entry=await _entry(journal, one.queued))
            for one in messages
        ]


async def _entry(journal: JournalReader, queued: QueuedMessage) -> JournalEntry | None:
    idents = await journal.find(queue_id=queued.queue_id)
    entry = await journal.get(idents[0]) if idents else None
    return entry if entry is not None and _is_of(queued, entry.time) else None


def queue_logins(context: Site, messages: Sequence[QueuedMessage]) -> dict[str, str]:
    """Return the logins that sent messages, in lower case, by queue id; those of nobody we know are
    left out.

    Raises:
        StoreError: the journal can't be read.
    """
    return asyncio.run(_logins(context, messages))


async def _logins(context: Site, messages: Sequence[QueuedMessage]) -> dict[str, str]:
    async with await JournalReader.open(context.state / state_files.JOURNAL) as journal:
        known = await journal.logins([message.queue_id for message in messages])
    found = dict[str, str]()
    for message in messages:
        judged, login = known.get(message.queue_id, (0.0, ""))
        if login and _is_of(message, judged):
            found[message.queue_id] = login.lower()
    return found


def _is_of(message: QueuedMessage, judged: float) -> bool:
    """Tell whether what was judged at a Unix time is a message: mail servers use queue ids again,
    and it was judged after it came.
    """
    return judged >= message.since - CLOCKS_S


def of_login(messages: Sequence[QueueEntry], login: str) -> list[QueueEntry]:
    """Return the messages of an account, capitals or not."""
    return [one for one in messages if one.login and one.login.lower() == login.lower()]


def entry_object(message: QueueEntry) -> dict[str, Any]:
    """Return a message as `--json` shows it. Names and meaning of its fields stay."""
    queued, entry = message.queued, message.entry
    return {
        "queue_id": queued.queue_id,
        "since": queued.since,
        "ours": message.ours,
        "banned": message.banned,
        "id": None if entry is None else to_text(entry.id),
        "login": message.login,
        "score": None if entry is None else entry.score,
        "line": None if entry is None else entry.line,
        "reasons": [
            {"name": hit.name, "score": hit.score, "say": hit.say} for hit in message.reasons
        ],
        "limits": message.limits,
        "sender": queued.sender,
        "recipients": queued.recipients,
    }
