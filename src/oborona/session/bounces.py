"""Bounces: mail of our own people that comes back, counted for who sent it.

    null sender, multipart/report → recipients that failed → X-Mras-Id in what is returned, signed
    by us → the journal's entry → its login → counted, each recipient of a message once → limits

A bounce is worth something because what it returns left us: only who got a message has its signed
id, so that nobody can make bounces of mail that he never had.  Recipients whom the message never
had count as one; who forwards mail may write to others.

Source: RFC 3462 (what is returned), RFC 3464 (what is said of each recipient).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

import msgspec

from oborona.accounts.limits.decision import MessageAmounts
from oborona.accounts.limits.report import report_passed
from oborona.accounts.limits.reported_counts import bounce_pairs
from oborona.doors.raw_message import RawMessage
from oborona.errors import StoreError
from oborona.feedback.events.message_reference import read_reference
from oborona.ident import to_text
from oborona.journal.entry import JournalEntry
from oborona.message.delivery_status import FailedRecipient, failed_recipients
from oborona.message.report_mail import report_mail
from oborona.metrics import Counter
from oborona.policy.load import Policy
from oborona.session.limit_report import hand_over_excesses
from oborona.session.outgoing_limits import rule_on_bounces
from oborona.session.services import SessionServices
from oborona.telemetry.log import event
from oborona.types import (
    Amounts,
    Client,
    CountedPieces,
    CounterPrefix,
    Envelope,
    Metric,
    Stage,
    UniquePair,
    Window,
)

MOST_BYTES: Final = 1 << 20  # of a bounce that are looked into: what it returns may be large
_REPORT: Final = b"multipart/report"

BOUNCES: Final = Counter(
    "oborona_bounces",
    "Recipients whom mail of our own accounts did not reach, by what their servers say.",
    ("kind",),
)

log = logging.getLogger("oborona.session")


def may_be_bounce(message: RawMessage, envelope: Envelope) -> bool:
    """Tell whether a message is to be looked into: what a mail server tells a sender."""
    if envelope.sender or envelope.login:
        return False
    return any(
        name.lower() == b"content-type" and _REPORT in value.lower()
        for name, value in message.headers
    )


async def take_bounce(
    services: SessionServices, message: RawMessage, policy: Policy, ident: int, now: float
) -> None:
    """Count what a message says that came back; never raises.

    Args:
        services: of the worker.
        message: that may be a bounce.
        policy: of the message.
        ident: of its entry in the journal.
        now: Unix seconds.
    """
    try:
        await _take(services, message, policy, ident, now)
    except StoreError as error:  # that of the journal, or the counters
        event(log, logging.WARNING, "bounce not counted", id=to_text(ident), why=str(error))
    except Exception:
        log.exception("fault in a bounce id=%s", to_text(ident))  # which no mail hangs on


async def _take(
    services: SessionServices, message: RawMessage, policy: Policy, ident: int, now: float
) -> None:
    report = report_mail(message.raw[:MOST_BYTES])
    if report.delivery is None or not report.messages:
        return
    failed = failed_recipients(report.delivery)
    number = read_reference(report.messages[0].raw, services.signing_key).ident
    if not failed or number is None:
        return
    entry = await services.entry(number)
    if entry is None or not entry.login:
        return
    failed = _of_message(failed, entry)
    login, hasher = entry.login.lower(), services.site.hasher
    pairs = bounce_pairs(login, number, failed, hasher, unknown=False)
    unknown = bounce_pairs(login, number, failed, hasher, unknown=True)
    fresh = await _fresh(services, (*pairs, *unknown), now)
    new_unknown = sum(fresh[len(pairs) :])
    new = sum(fresh[: len(pairs)])
    if not new:
        return
    sent = Envelope(
        client=Client(ip=entry.client_ip),
        sender=entry.sender,
        recipients=entry.recipients,
        login=entry.login,
        own=True,
    )
    adds = MessageAmounts(bounces=new, unknown_users=new_unknown)
    ruling = await rule_on_bounces(services, policy, sent, adds, now)
    services.counters.add(
        CountedPieces(shingles=(), pairs=(*pairs, *unknown)),
        Amounts(seen=1),
        now,
        CounterPrefix.OUT,
    )
    BOUNCES.inc("unknown user", by=new_unknown)
    BOUNCES.inc("other", by=new - new_unknown)
    event(
        log,
        logging.INFO,
        "bounce",
        id=to_text(ident),
        of=to_text(number),
        login=entry.login,
        recipients=new,
        unknown=new_unknown,
        recipient=failed[0].address,
        status=failed[0].status,
    )
    if ruling.passed:
        hand_over_excesses(services, ruling, sent, number, now)
        ruling = msgspec.structs.replace(ruling, action=None)  # the message has left
        report_passed(ruling, sent, number, Stage.RECHECK)


def _of_message(
    failed: Sequence[FailedRecipient], entry: JournalEntry
) -> tuple[FailedRecipient, ...]:
    """Return the recipients of a message that failed; those that it never had, as one."""
    had = {recipient.lower() for recipient in entry.recipients}
    found = [one for one in failed if one.address in had]
    others = [one for one in failed if one.address not in had]
    if others and len(found) < len(had):
        known = [one for one in others if one.unknown]
        found.append(msgspec.structs.replace((known or others)[0], address=""))
    return tuple(found)


async def _fresh(services: SessionServices, pairs: Sequence[UniquePair], now: float) -> list[bool]:
    """Return which pairs were not counted yet.

    Raises:
        StoreError: they can't be asked.
    """
    if not pairs:
        return []
    keys = tuple(pair.both for pair in pairs)
    rows = await services.site.counters.read(keys, now, CounterPrefix.OUT)
    return [not row[Window.FORTNIGHT][Metric.SEEN] for row in rows]
