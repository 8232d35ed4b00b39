"""Refusals before the content: the reply to the client, the log line, and what is counted and
journaled of them.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, NamedTuple

from oborona.doors.reply import MAX_TEXT_LINE, SessionReply, VerdictDetails, refusal_reply
from oborona.journal.refusal import Refusal, Told
from oborona.policy.accounting import record_refused
from oborona.policy.envelope_stages import StageVerdict
from oborona.policy.history import REPIP_BAD
from oborona.policy.load import Policy
from oborona.reputation.dnsbl import DnsList
from oborona.session.judged_message import log_verdict
from oborona.session.refusals import refusal_of
from oborona.session.replies import reply_text
from oborona.session.services import SessionServices
from oborona.types import Action, Envelope, Stage

_PLACES: Final = {
    Stage.CONNECT: (554, "Client"),
    Stage.SENDER: (550, "Sender"),
    Stage.RECIPIENT: (550, "Recipient"),
}

log = logging.getLogger("oborona.session")


class EarlyVerdict(NamedTuple):
    """What was judged at a stage."""

    stage: Stage
    glance: StageVerdict
    envelope: Envelope  # as it was then
    policy: Policy
    now: float
    ident: int

    @property
    def refuses(self) -> bool:
        """Whether anybody is to be refused, or put off, for it."""
        action = self.glance.verdict.action
        return self.policy.verdict.refuse and action in (Action.REJECT, Action.TEMPFAIL)


class EarlyRefusal:
    """What one message, or one recipient of it, was told."""

    def __init__(
        self,
        verdict: EarlyVerdict,
        reply: SessionReply,
        ident: int,
        stage: Stage,
        envelope: Envelope,
    ) -> None:
        self.seen, self.reply, self.ident, self.said, self.envelope = (
            verdict,
            reply,
            ident,
            stage,
            envelope,
        )
        self.recipients = len(envelope.recipients)  # that were told
        self.recorded = self.recipients  # so many of them, in the journal
        self.logged = -1  # the same, in the log
        self.timer: asyncio.TimerHandle | None = None


def early_refusal_reply(
    services: SessionServices, early: EarlyVerdict, ident: int, rests: VerdictDetails
) -> SessionReply:
    """Return a refusal in the words of SMTP.

    Args:
        services: of the worker.
        early: what refuses.
        ident: its reference.
        rests: what it rests on.
    """
    verdict, policy = early.glance.verdict, early.policy
    if verdict.action is Action.TEMPFAIL:
        return refusal_reply(451, "4.7.1", reply_text(services, "Try again later", ident), rests)
    listed = next(
        (dns_list for dns_list in policy.dns_lists if dns_list.name == verdict.decided_by), None
    )
    client = verdict.decided_by == REPIP_BAD or (
        listed and all(of.stage is Stage.CONNECT for of in listed.of)
    )
    code, place = _PLACES[
        Stage.CONNECT if client else early.stage
    ]  # a sender is not to blame for his mail server
    why = f", listed by {listed.name}" if listed else ""
    page = _page(listed, early.envelope) if listed else ""
    text = reply_text(services, f"{place} refused{why}{page}", ident)
    if len(text) > MAX_TEXT_LINE or not text.isascii() or not text.isprintable() or "%" in text:
        text = reply_text(services, f"{place} refused{why}", ident)
    return refusal_reply(code, "5.7.1", text, rests)


def _page(listed: DnsList, envelope: Envelope) -> str:
    """Return where somebody may look up what a list has of him, in brackets.

    Nothing where the list names no page.
    """
    subject = envelope.client.ip if listed.of_addresses else envelope.sender.rpartition("@")[2]
    return f" ({listed.url.replace('{subject}', subject)})" if listed.url and subject else ""


def record_refusal(
    services: SessionServices, early: EarlyVerdict, envelope: Envelope, told: Told, ident: int
) -> int:
    """Have the journal record a refusal before it is told; return the reference to tell.

    Args:
        services: of the worker.
        early: what refuses.
        envelope: as far as it is known.
        told: where the client hears of it.
        ident: the reference, unless the journal has one for it.
    """
    now = services.clock()
    return services.refusals.take(_entry(services, early, envelope, told, ident, now))


def _entry(
    services: SessionServices,
    early: EarlyVerdict,
    envelope: Envelope,
    told: Told,
    ident: int,
    now: float,
) -> Refusal:
    return refusal_of(
        ident,
        now,
        early.policy,
        envelope,
        early.glance.verdict,
        stage=early.stage,
        told=told,
        door=services.door,
    )


def log_refusal(services: SessionServices, refusal: EarlyRefusal, said: str = "") -> None:
    """Write the line of a refusal into the log, unless it is written.

    Args:
        services: of the worker.
        refusal: as many recipients as it was told by now.
        said: where, if that is no stage.
    """
    if refusal.timer is not None:
        refusal.timer.cancel()
    if refusal.logged == refusal.recipients:
        return
    refusal.logged = refusal.recipients
    early = refusal.seen
    if refusal.recipients > refusal.recorded:
        told = Told(refusal.said.value)
        services.refusals.add_recipients(
            _entry(services, early, refusal.envelope, told, refusal.ident, early.now),
            refusal.recipients - refusal.recorded,
        )
        refusal.recorded = refusal.recipients
    log_verdict(
        refusal.ident,
        early.policy,
        refusal.envelope,
        early.glance.verdict,
        stage=early.stage,
        recipients=refusal.recipients,
        said=said or refusal.said,
    )


def count_refusal(services: SessionServices, early: EarlyVerdict) -> None:
    """Write down beside the counts that somebody was refused; who is only put off was not."""
    if early.glance.verdict.action is not Action.REJECT:
        return
    try:
        location = services.site.places.find(early.envelope.client.ip)
        record_refused(
            early.envelope, services.site.hasher, location, services.counters, now=early.now
        )
    except Exception:
        log.exception("fault in counting a refusal")  # which no mail hangs on
