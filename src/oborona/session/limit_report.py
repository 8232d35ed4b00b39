"""What is said of a passed limit: to the client in few words, to the log with its figures, to the
metrics, and to whoever follows excesses.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

import msgspec

from oborona.accounts.excess import Excess
from oborona.accounts.limits.decision import LimitRuling, PassedLimit
from oborona.doors.reply import ReplyAction, SessionReply, VerdictDetails, refusal_reply
from oborona.ident import to_text
from oborona.metrics import Counter
from oborona.policy.limit_table import LimitAction, LimitCount, LimitSubject
from oborona.policy.limits import Limit
from oborona.session.replies import reply_text
from oborona.session.services import SessionServices
from oborona.telemetry.log import event
from oborona.types import Action, Envelope, Finding, Stage

LIMITS: Final = Counter(
    "oborona_limits", "Outgoing messages beyond a limit.", ("limit", "then", "mode")
)
PASSED: Final = "limit-passed"  # as a finding

_WORDS: Final[Mapping[LimitCount, str]] = {
    LimitCount.MESSAGES: "Too many messages",
    LimitCount.RECIPIENTS: "Too many recipients",
    LimitCount.OCTETS: "Too much mail",
    LimitCount.NEW_RECIPIENTS: "Too many new recipients",
    LimitCount.FIRST_CONTACTS: "Too many messages to new recipients",
    LimitCount.ADDRESSES: "Too many client addresses",
    LimitCount.COUNTRIES: "Too many countries",
    LimitCount.SPAM: "Too many messages that look like spam",
    LimitCount.COMPLAINTS: "Too many complaints about mail",
    LimitCount.TRAPS: "Too much mail",  # no answer may tell which addresses are traps
}
_WHOSE: Final[Mapping[LimitSubject, str]] = {
    LimitSubject.ACCOUNT: "of this account",
    LimitSubject.DOMAIN: "of this domain",
    LimitSubject.CUSTOMER: "of this customer",
    LimitSubject.ADDRESS: "of your address",
    LimitSubject.NETWORK: "of your network",
    LimitSubject.ALL: "of all accounts here",
}

log = logging.getLogger("oborona.session")


def limit_reply(
    services: SessionServices,
    passed: PassedLimit,
    action: LimitAction | None,
    ident: int,
    reply: SessionReply,
) -> SessionReply:
    """Return the answer to a message, or to MAIL FROM, that passes a limit.

    Args:
        services: of the worker.
        passed: the limit that acts.
        action: what is done.
        ident: the reference.
        reply: without the limit; a held message keeps its edits.
    """
    limit = passed.limit
    words = limit.say or f"{_WORDS[limit.count]} {_WHOSE[limit.each]}"
    if action is LimitAction.TEMPFAIL:
        text = reply_text(services, f"{words}, try again later", ident)
        return refusal_reply(451, "4.7.1", text, _refused(reply, Action.TEMPFAIL, limit))
    text = reply_text(services, words, ident)
    if action is LimitAction.REFUSE:
        return refusal_reply(550, "5.7.1", text, _refused(reply, Action.REJECT, limit))
    return msgspec.structs.replace(
        refusal_reply(550, "5.7.1", text, reply.judged),
        answer=ReplyAction.HOLD,
        edits=reply.edits,
        removed=reply.removed,
    )


def _refused(reply: SessionReply, action: Action, limit: Limit) -> VerdictDetails | None:
    """Return what a refusal rests on, for protocols that refuse by verdict."""
    if reply.judged is None:
        return None
    verdict = msgspec.structs.replace(reply.judged.verdict, action=action, decided_by=limit.name)
    return msgspec.structs.replace(reply.judged, verdict=verdict)


def limit_findings(ruling: LimitRuling) -> tuple[Finding, ...]:
    """Return what the journal keeps of passed limits."""
    return tuple(
        Finding(
            PASSED,
            f"{passed.limit.name}: {passed.value:,} of {passed.most:,.0f}, {passed.limit.then}"
            + (" (shadow)" if passed.limit.shadow else ""),
        )
        for passed in ruling.passed
    )


def report_passed(ruling: LimitRuling, envelope: Envelope, ident: int, stage: Stage) -> None:
    """Log and count the limits that a message passed; never raises.

    Args:
        ruling: on the message.
        envelope: of the message.
        ident: its reference.
        stage: sender or content.
    """
    for passed in ruling.passed:
        limit = passed.limit
        LIMITS.inc(limit.name, limit.then, limit.mode)
        event(
            log,
            logging.INFO if limit.shadow else logging.WARNING,
            "limit",
            id=to_text(ident),
            stage=stage,
            limit=limit.name,
            login=envelope.login,
            client=envelope.client.ip,
            sender=envelope.sender,
            each=limit.each,
            count=limit.count,
            window=limit.window,
            value=passed.value,
            most=round(passed.most, 1),
            usual=passed.past.usual,
            then=limit.then,
            mode=limit.mode,
            done=ruling.action or "nothing",
        )


def hand_over_excesses(
    services: SessionServices, ruling: LimitRuling, envelope: Envelope, ident: int, now: float
) -> None:
    """Tell who follows accounts of the limits that a login passed, before it is answered; never
    raises.

    Args:
        services: of the worker.
        ruling: on the message.
        envelope: of the message.
        ident: its reference.
        now: Unix seconds, when it came.
    """
    if not envelope.login:
        return
    for passed in ruling.passed:
        try:
            services.excess.take(_excess(passed, envelope, ident, now))
        except Exception:
            log.exception("fault in telling of an excess")  # which no mail hangs on


def _excess(passed: PassedLimit, envelope: Envelope, ident: int, now: float) -> Excess:
    limit = passed.limit
    return Excess(
        account=_as_unicode(envelope.login.lower()),
        limit=limit.name,
        metric=limit.count,
        window=limit.window,
        value=passed.value,
        most=passed.most,
        at=now,
        address=envelope.client.ip,
        usual=passed.past.usual,
        then=limit.then,
        shadow=limit.shadow,
        idents=(ident,),
        evidence={
            "each": limit.each,
            "sender": _as_unicode(envelope.sender),
            "recipients": len(envelope.recipients),
        },
    )


def _as_unicode(text: str) -> str:
    """Return a text without lone surrogates, which JSON does not take."""
    return text.encode("utf-8", "replace").decode()
