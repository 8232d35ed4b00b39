"""What limits on outgoing mail would have done to the journal's messages."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from oborona import state_files
from oborona.accounts.directory import AccountDirectory
from oborona.accounts.limits.replay import LimitReplay
from oborona.accounts.store.accounts import AccountStore
from oborona.counters.window import DAY_S, DAYS
from oborona.ident import to_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.message.shingles import NOWHERE
from oborona.policy.limit_table import LimitAction
from oborona.policy.load import Policy
from oborona.policy.outgoing_table import OutgoingOutcome
from oborona.session.judged_message import HELD
from oborona.session.limit_report import PASSED
from oborona.stores.followed_store import READ_WHOLE
from oborona.types import Client, Envelope, Location

_NOT_TAKEN: Final = (f", {LimitAction.REFUSE}", f", {LimitAction.TEMPFAIL}")
_NOT_HELD: Final = (f", {LimitAction.HOLD}",)


class LimitTrialRun(NamedTuple):
    """What came of it, and whether all messages were read."""

    replay: LimitReplay
    complete: bool


async def replayed_limits(
    policy: Policy,
    state: Path,
    start: float,
    begun: Callable[[int], Callable[[], None]],
    within_s: float | None = None,
) -> LimitTrialRun:
    """Try the limits of a policy on the journal's outgoing messages.

    Args:
        policy: whose limits.
        state: folder of the stores.
        start: Unix seconds of the first message; two weeks before it are read, too.
        begun: is told how many messages there are, and returns what is called with each.
        within_s: it ends then; None = when all messages are read.

    Raises:
        StoreError: the journal can't be read.
    """
    ends = float("inf") if within_s is None else time.monotonic() + within_s
    replay = LimitReplay(policy, start, _accounts(state / state_files.ACCOUNTS, start))
    async with await JournalReader.open(state / state_files.JOURNAL) as journal:
        before = start - DAYS * DAY_S
        one_more = begun(await journal.count_since(before))
        async for entry in journal.since(before):
            one_more()
            if time.monotonic() > ends:
                return LimitTrialRun(replay, complete=False)
            if isinstance(entry, int):  # damaged in the journal
                continue
            await replay.take(
                envelope := _envelope(entry),
                entry.size,
                entry.verdict,
                entry.time,
                to_text(entry.id),
                taken=_taken(entry, envelope, policy),
                location=_location(entry),
            )
    return LimitTrialRun(replay, complete=True)


def _accounts(path: Path, now: float) -> AccountDirectory:
    """Return the accounts of the site as they are now; none where there is no file of them."""
    directory = AccountDirectory()
    if path.exists():
        with AccountStore(path, make=False) as store:
            directory.learn(store.followed(READ_WHOLE, now).accounts, anew=True)
    return directory


def _envelope(entry: JournalEntry) -> Envelope:
    """Return what the journal has of an envelope."""
    return Envelope(
        client=Client(ip=entry.client_ip, unknown=not entry.client_ip),
        helo=entry.helo,
        sender=entry.sender,
        recipients=entry.recipients,
        login=entry.login,
        own=bool(entry.facts.get("outgoing")),
    )


def _location(entry: JournalEntry) -> Location:
    """Return where the client was, as it was known when the message came."""
    country = entry.facts.get("client.country")
    return Location(country=country) if isinstance(country, str) else NOWHERE


def _taken(entry: JournalEntry, envelope: Envelope, policy: Policy) -> bool:
    """Tell whether an outgoing message was taken, by its verdict and the limits of that time."""
    if not policy.outgoing.leaves(envelope):
        return False
    if HELD in entry.findings:
        return True
    outcome = policy.outgoing.outcome(entry.verdict, refuse=policy.verdict.refuse)
    # what was to be held and was not, its mail server refused
    not_taken = (*_NOT_TAKEN, *_NOT_HELD) if policy.verdict.refuse else _NOT_TAKEN
    stopped = any(
        finding.name == PASSED and finding.evidence.endswith(not_taken)
        for finding in entry.findings
    )
    return outcome is OutgoingOutcome.ACCEPT and not stopped
