"""What an account is told whose mail is not taken: 550 while it is banned, 451 while it is limited.

It is looked for at MAIL FROM, and told there or at RCPT TO, as `[verdict] clients_at` has it; at
the end of the message where a protocol tells all at once, or the ban came meanwhile.
Its reason is a person's or the inspector's, told as it is; no rule, list or threshold has a say.
A program of the mail server's own machine is not put off: Postfix would hand its mail in again at
once, over and over, and Exim bounce it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from oborona.accounts.account import AccountBlock, AccountState
from oborona.doors.reply import MAX_TEXT_LINE, refusal_reply
from oborona.journal.refusal import Told
from oborona.policy.envelope_stages import StageVerdict
from oborona.policy.load import Policy
from oborona.policy.local_clients import is_program
from oborona.session.early_refusal import EarlyRefusal, EarlyVerdict, record_refusal
from oborona.session.replies import reply_text, verdict_details
from oborona.session.services import SessionServices
from oborona.types import Action, Envelope, RuleHit, Stage, Verdict

ACCOUNT_BANNED: Final = "account-banned"
"""Decides, where an account is banned."""
ACCOUNT_LIMITED: Final = "account-limited"
"""Decides, where an account is limited."""


def is_blocked(services: SessionServices, envelope: Envelope) -> bool:
    """Tell whether the account that sends a message is to be refused or put off now."""
    return _block_of(services, envelope, services.clock()) is not None


def account_refusal(
    services: SessionServices, envelope: Envelope, policy: Policy, said: Stage
) -> EarlyRefusal | None:
    """Return what the sender of a message is told whose account is blocked; None: it is not.

    Args:
        services: of the worker.
        envelope: as far as it is known.
        policy: of the message.
        said: where it is told.
    """
    now = services.clock()
    block = _block_of(services, envelope, now)
    if block is None:
        return None
    banned = block.state is AccountState.BANNED
    name = ACCOUNT_BANNED if banned else ACCOUNT_LIMITED
    verdict = Verdict(
        action=Action.REJECT if banned else Action.TEMPFAIL,
        score=0.0,
        line=policy.verdict.reject_score,
        decided_by=name,
        rules=(RuleHit(name=name, score=0.0, say=block.why),),
    )
    number = services.numbers.next(now)
    early = EarlyVerdict(Stage.SENDER, StageVerdict(verdict=verdict), envelope, policy, now, number)
    ident = record_refusal(services, early, envelope, Told(said.value), number)
    rests = verdict_details(services, verdict, ident, policy, stage=Stage.SENDER)
    code, status = (550, "5.7.1") if banned else (451, "4.7.1")
    reply = refusal_reply(code, status, _text(services, block, ident), rests)
    return EarlyRefusal(early, reply, ident, said, envelope)


def _block_of(services: SessionServices, envelope: Envelope, now: float) -> AccountBlock | None:
    block = services.accounts.of(envelope.login, now)
    if block is None or (block.state is AccountState.LIMITED and is_program(envelope)):
        return None
    return block


def _text(services: SessionServices, block: AccountBlock, ident: int) -> str:
    """Return the words; without the reason, where SMTP can't tell it."""
    what = "Sending is blocked" if block.state is AccountState.BANNED else "Sending is limited"
    until = f" until {_moment(block.until)}" if block.until else ""
    text = reply_text(services, f"{what}{until}{block.why and f': {block.why}'}", ident)
    if len(text) > MAX_TEXT_LINE or not text.isascii() or not text.isprintable() or "%" in text:
        return reply_text(services, f"{what}{until}", ident)
    return text


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
