"""What is said of a passed limit to the client, in few words, to the journal, and to who follows
excesses.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

import msgspec

from oborona.accounts.limits.decision import LimitRuling, PassedLimit
from oborona.accounts.limits.report import excess_of
from oborona.doors.reply import ReplyAction, SessionReply, VerdictDetails, refusal_reply
from oborona.policy.limit_table import LimitAction, LimitCount, LimitSubject
from oborona.policy.limits import Limit
from oborona.policy.load import Policy
from oborona.session.replies import reply_text
from oborona.session.services import SessionServices
from oborona.types import Action, Envelope, Finding, RuleHit, Verdict

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
    LimitCount.BOUNCES: "Too much mail that comes back",
    LimitCount.UNKNOWN_USERS: "Too much mail to addresses that do not exist",
    LimitCount.COMPLAINTS: "Too many complaints about mail",
    LimitCount.FAILED_LOGINS: "Too many failed logins",
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


def limit_verdict(passed: PassedLimit, action: LimitAction | None, policy: Policy) -> Verdict:
    """Return a limit that refuses at MAIL FROM as a verdict, for the journal."""
    limit = passed.limit
    put_off = action is LimitAction.TEMPFAIL
    say = f"{passed.value:,} of {passed.most:,.0f}"
    return Verdict(
        action=Action.TEMPFAIL if put_off else Action.REJECT,
        score=0.0,
        line=policy.verdict.reject_score,
        decided_by=limit.name,
        rules=(RuleHit(name=limit.name, score=0.0, say=say),),
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


def hand_over_excesses(
    services: SessionServices,
    ruling: LimitRuling,
    envelope: Envelope,
    ident: int | None,
    now: float,
) -> None:
    """Tell who follows accounts of the limits that a login passed, before it is answered; never
    raises.

    Args:
        services: of the worker.
        ruling: on the message.
        envelope: of the message.
        ident: its reference; None: no message shows it.
        now: Unix seconds, when it came.
    """
    if not envelope.login:
        return
    for passed in ruling.passed:
        try:
            services.excess.take(excess_of(passed, envelope, ident, now))
        except Exception:
            log.exception("fault in telling of an excess")  # which no mail hangs on
