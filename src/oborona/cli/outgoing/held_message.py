"""Messages that the mail server holds, each with what the journal has of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import click
import msgspec

from oborona import state_files
from oborona.cli.context import CliContext
from oborona.cli.outgoing.queue_listing import QueuedMessage, QueueListing
from oborona.errors import StoreError
from oborona.ident import to_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.session.judged_message import HELD
from oborona.session.limit_report import PASSED
from oborona.types import RuleHit, RuleMode

CLOCKS_S: Final = 300.0  # that the mail server's may be ahead of ours
REASONS: Final = 3  # rules of a message that are named


class HeldMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message on hold."""

    queued: QueuedMessage
    entry: JournalEntry | None = None  # None: we have not judged it, or not in the journal's time

    @property
    def ours(self) -> bool:
        """Whether Oborona had it held, as the journal says."""
        return self.entry is not None and HELD in self.entry.findings

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


def held_messages(context: CliContext, listing: QueueListing) -> list[HeldMessage]:
    """Return the messages of a listing with their entries.

    Where the journal can't be read none has one, with a word on standard error.
    """
    if listing.unreadable:
        click.echo(
            f"oborona: {listing.unreadable} lines of the mail server's list were not understood",
            err=True,
        )
    try:
        return asyncio.run(_joined(context, listing.messages))
    except StoreError as error:
        click.echo(f"oborona: {error}; why these are held is not known", err=True)
        return [HeldMessage(queued=queued) for queued in listing.messages]


async def _joined(context: CliContext, messages: Sequence[QueuedMessage]) -> list[HeldMessage]:
    async with await JournalReader.open(context.state / state_files.JOURNAL) as journal:
        return [
            HeldMessage(queued=queued, entry=await _entry(journal, queued)) for queued in messages
        ]


async def _entry(journal: JournalReader, queued: QueuedMessage) -> JournalEntry | None:
    """Return the entry of a message: mail servers use queue ids again, and it was judged after it
    came.
    """
    idents = await journal.find(queue_id=queued.queue_id)
    entry = await journal.get(idents[0]) if idents else None
    return entry if entry is not None and entry.time >= queued.since - CLOCKS_S else None


def of_login(messages: Sequence[HeldMessage], login: str) -> list[HeldMessage]:
    """Return the messages of an account, capitals or not."""
    return [one for one in messages if one.login and one.login.lower() == login.lower()]


def held_object(message: HeldMessage) -> dict[str, Any]:
    """Return a message as `--json` shows it. Names and meaning of its fields stay."""
    queued, entry = message.queued, message.entry
    return {
        "queue_id": queued.queue_id,
        "since": queued.since,
        "ours": message.ours,
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
