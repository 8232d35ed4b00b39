"""Mail to spam traps in a session: the event that is recorded, and what is done with the message.

    scan → verdict → the event, on the disk → the answer that a person would have got → and then:
    dropped, filed or refused

Nobody can tell a trap by its answers: RCPT TO is answered as for any address, the end of the
message by what else is known of it.  Only a site that has its traps `reject` says so itself.  What
is written down is there before the answer, since afterwards the message is gone; where it can't be
written a message to traps alone is put off (451) and comes again, and people's mail goes on.

Nothing is learned from mail of our own people, who may mistype an address, nor from mail without a
sender: bounces come to a trap because somebody forged it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from oborona.doors.reply import ReplyAction, SessionReply
from oborona.errors import StoreError
from oborona.feedback.events.event_writer import EventWriter
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.feedback.events.quota import Quota
from oborona.metrics import Counter
from oborona.policy.load import Policy
from oborona.policy.local_clients import is_own
from oborona.policy.scan import Scan
from oborona.policy.traps import TrapAction
from oborona.telemetry.log import event as say
from oborona.types import Action, Envelope, RuleHit

TRAP: Final = "TRAP"  # decides, as a name
KEEP_S: Final = 3.0  # that a message to a trap waits for the disk
TAKEN: Final = frozenset({ReplyAction.CONTINUE, ReplyAction.ACCEPT})
TRAPS: Final = Counter(
    "oborona_traps",
    (
        "Messages that came to traps, by whether they were written down; known: they came "
        "again; failed: they could not be."
    ),
    ("outcome",),
)

log = logging.getLogger("oborona.session")


def with_traps(envelope: Envelope, policy: Policy) -> Envelope:
    """Return an envelope that says which of its recipients are traps.

    Mail of our own people goes where they sent it.
    """
    if not len(policy.trapped) or is_own(envelope):
        return envelope
    traps = policy.trapped.among(envelope.recipients)
    return msgspec.structs.replace(envelope, traps=traps) if traps else envelope


def is_only_for_traps(envelope: Envelope) -> bool:
    """Tell whether a message went to traps, and to nobody else."""
    return bool(envelope.traps) and len(envelope.traps) == len(envelope.recipients)


def mailbox_recipients(envelope: Envelope, action: TrapAction) -> tuple[str, ...]:
    """Return the recipients in whose mailboxes a message comes to lie."""
    if not envelope.traps or action is TrapAction.FILE:
        return envelope.recipients
    return tuple(recipient for recipient in envelope.recipients if recipient not in envelope.traps)


def with_trap_action(result: Scan, trap_action: TrapAction) -> Scan:
    """Return what becomes of a message to traps alone: filed or refused for that, or what its
    verdict says and then dropped.

    What is counted stays the verdict of everything else: that it came to a trap is counted by
    itself.
    """
    if trap_action is TrapAction.DROP or not is_only_for_traps(result.envelope):
        return result
    action = Action.SPAM if trap_action is TrapAction.FILE else Action.REJECT
    verdict, lines = result.verdict, result.policy.verdict
    if verdict.action in (action, Action.REJECT, Action.TEMPFAIL):
        return result
    hit = RuleHit(name=TRAP, score=0.0, say="nobody uses this address")
    line = lines.spam_score if action is Action.SPAM else lines.reject_score
    ours = msgspec.structs.replace(
        verdict, action=action, line=line, decided_by=TRAP, rules=(hit, *verdict.rules)
    )
    return msgspec.structs.replace(result, verdict=ours, site_verdict=result.counted)


def without_trap_copies(
    reply: SessionReply, envelope: Envelope, action: TrapAction
) -> SessionReply:
    """Return the reply that also says who gets no copy.

    One that refuses the message stays as it is.
    """
    if not envelope.traps or action is TrapAction.FILE or reply.answer not in TAKEN:
        return reply
    if is_only_for_traps(envelope):
        return SessionReply(answer=ReplyAction.DISCARD, judged=reply.judged)
    return msgspec.structs.replace(reply, removed=envelope.traps)


def trap_event(
    raw: bytes, envelope: Envelope, ident: int, message_id: str, now: float
) -> FeedbackEvent | None:
    """Return what is written down of a message to traps.

    None where nothing is to be learned from it.

    Args:
        raw: the message, or its head.
        envelope: with at least one trap.
        ident: of its entry in the journal.
        message_id: its own.
        now: Unix seconds.

    A message that is put off and comes again has the same key.
    """
    if not envelope.sender:
        return None
    digest = hashlib.blake2b(digest_size=16, person=b"oborona traps")
    for text in (envelope.sender.encode(), *sorted(trap.encode() for trap in envelope.traps), raw):
        digest.update(len(text).to_bytes(8, "little") + text)
    return FeedbackEvent(
        what=EventKind.TRAP,
        way=EventChannel.TRAP,
        time=now,
        ident=ident,
        message_id=message_id,
        raw=raw,
        mailbox=envelope.traps[0],
        source=envelope.client.ip,
        key=digest.digest(),
    )


class TrapEventLog:
    """A worker's way to the log of events; opened by the first message that comes to a trap.

    Args:
        path: of the log.
        clock: Unix seconds.
    """

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._rations = Quota()
        self._taking: EventWriter | None = None
        self._trouble = False

    async def keep(self, event: FeedbackEvent) -> bool:
        """Write an event down; return whether it survives the power going.  Never raises.

        Trouble is logged once, and once when it is over.
        """
        try:
            if self._taking is None:
                self._taking = await EventWriter(self._path, clock=self._clock).__aenter__()
            async with asyncio.timeout(KEEP_S):
                receipt = await self._taking.take(self._rations.cut(event, time.monotonic()))
        except (StoreError, TimeoutError) as error:
            if not self._trouble:
                say(log, logging.ERROR, "mail to traps is not written down", error=error)
            self._trouble = True
            TRAPS.inc("failed")
            return False
        if self._trouble:
            say(log, logging.WARNING, "mail to traps is written down again")
            self._trouble = False
        TRAPS.inc("new" if receipt.new else "known")
        return True

    async def close(self) -> None:
        """Let the log go."""
        if self._taking is not None:
            await self._taking.close()


def is_report(recipients: Iterable[str], reports: frozenset[str]) -> bool:
    """Tell whether a message goes to addresses of reports, and to nobody else."""
    named = [recipient.lower() for recipient in recipients]
    return bool(reports) and bool(named) and all(recipient in reports for recipient in named)
