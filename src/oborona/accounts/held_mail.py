"""When people are told of outgoing mail that is held and that nobody has looked at.

Nobody tells the sender of such a message, so somebody has to look.  The keeper, which tells people,
may not look into the mail server's queue; who may writes down what is held (`HeldMail`), and does
so when the keeper asks.  A site that holds nothing is asked for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

HOUR_S: Final = 3600.0
DAY_S: Final = 86_400.0  # people are told once in it
FRESH_S: Final = 600.0  # what was written down so lately is told as it is
ANSWER_S: Final = 600.0  # from the question on; a mail server that is down is asked again meanwhile
NAMED: Final = 10  # accounts that are told, those with most mail first
LENGTH: Final = 200  # characters of an account


class HeldMail(msgspec.Struct, frozen=True, kw_only=True):
    """What Oborona had held at one moment."""

    at: float  # Unix seconds
    number: int = 0  # of messages
    oldest: float = 0.0  # Unix seconds, when it came; 0 = there is none
    accounts: tuple[tuple[str, int], ...] = ()  # by number of messages, the most first


class HeldMailStep(StrEnum):
    """What the keeper is to do."""

    WAIT = "wait"
    ASK = "ask"  # whoever may look into the queue
    TELL = "tell"  # people what is held
    TELL_UNSEEN = "tell unseen"  # people that something is held, and nobody can say what


class HeldMailTimes(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the past, in Unix seconds; 0 = never."""

    held: float = 0.0  # when a message was answered with a hold, the last time
    told: float = 0.0  # when people were told
    asked: float = 0.0  # when whoever may look was asked, by this process


def held_mail_of(messages: Sequence[tuple[float, str]], now: float) -> HeldMail:
    """Return what is written down of messages that are held.

    Args:
        messages: when each came, Unix seconds, and the login that sent it, or nothing. One that
            holds what can't be printed is not named.
        now: Unix seconds.
    """
    by_account = dict[str, int]()
    for _, login in messages:
        if login.isprintable() and login:
            account = login[:LENGTH]
            by_account[account] = by_account.get(account, 0) + 1
    most = sorted(by_account.items(), key=lambda pair: (-pair[1], pair[0]))
    return HeldMail(
        at=now,
        number=len(messages),
        oldest=min((since for since, _ in messages), default=0.0),
        accounts=tuple(most[:NAMED]),
    )


def next_step(
    now: float, hours: float, mail: HeldMail | None, times: HeldMailTimes
) -> HeldMailStep:
    """Return what is to be done.

    Args:
        now: Unix seconds.
        hours: that held mail may wait before people are told.
        mail: what was written down last; None = nothing yet.
        times: what is known of the past; what lies in the future was written by another clock.
    """
    told = times.told if times.told <= now else 0.0
    seen = mail.at if mail is not None and mail.at <= now else 0.0
    if now < told + DAY_S:
        return HeldMailStep.WAIT
    if now < _oldest(mail if seen else None, seen, times.held) + hours * HOUR_S:
        return HeldMailStep.WAIT
    if mail is not None and seen and now - seen <= FRESH_S:
        return HeldMailStep.TELL
    unanswered_s = now - times.asked
    if seen >= times.asked or not 0 <= unanswered_s <= DAY_S:
        return HeldMailStep.ASK
    is_news = times.held > told or (mail is not None and mail.number > 0)
    if unanswered_s > ANSWER_S and is_news:
        return HeldMailStep.TELL_UNSEEN
    return HeldMailStep.WAIT


def _oldest(mail: HeldMail | None, seen: float, held: float) -> float:
    """Return when the oldest message that may be held came at the earliest; infinite: none is."""
    if mail is not None and mail.number:
        return mail.oldest
    return seen if held > seen else float("inf")
