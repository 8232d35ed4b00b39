"""Which limits a message passes, and what becomes of it: pure.

    counted + what this message adds > most    the message passes the limit
    several live limits passed                 the gravest `then` is done: refuse, hold, tempfail
    in shadow, or `alert`                      it is said, and nothing is done

At MAIL FROM a message adds one message, one recipient and one octet at least: a limit that is used
up by then is passed whatever follows.  Of new recipients it may have none.  Spam, new addresses and
first contacts are no message's own doing before it is judged: what was counted decides alone.

A program of the mail server's own machine is never put off: Postfix tries `sendmail`'s mail again
at once, and again.  Its message is held instead.  Where the mail server has no place for what is
held, that is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from oborona.accounts.limits.usual import UNKNOWN_PAST, AccountPast
from oborona.policy.limit_table import LimitAction, LimitCount
from oborona.policy.limits import Limit, LimitFacts


class MessageAmounts(msgspec.Struct, frozen=True, kw_only=True):
    """What a message adds to the counts, or what is told of an account."""

    messages: int = 1
    recipients: int = 1
    octets: int = 1
    new_recipients: int = 0
    bounces: int = 0
    unknown_users: int = 0
    failed_logins: int = 0

    def of(self, count: LimitCount) -> int:
        """Return what it adds to one count; 0 for what is no message's own doing."""
        match count:
            case LimitCount.MESSAGES:
                return self.messages
            case LimitCount.RECIPIENTS:
                return self.recipients
            case LimitCount.OCTETS:
                return self.octets
            case LimitCount.NEW_RECIPIENTS:
                return self.new_recipients
            case LimitCount.BOUNCES:
                return self.bounces
            case LimitCount.UNKNOWN_USERS:
                return self.unknown_users
            case LimitCount.FAILED_LOGINS:
                return self.failed_logins
        return 0


FEWEST: Final = MessageAmounts()
"""What any message adds."""


class LimitReading(msgspec.Struct, frozen=True):
    """A limit, with what the counters know of whom it is for."""

    limit: Limit
    counted: int  # in its window
    past: AccountPast = UNKNOWN_PAST
    sent: int = 0  # recipients in its window, where the limit asks for them
    sent_most: int = 0  # on the largest day, where it asks for that


class PassedLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that a message passes."""

    limit: Limit
    value: int  # what was counted, with this message
    most: float  # what is allowed
    past: AccountPast


class LimitRuling(msgspec.Struct, frozen=True, kw_only=True):
    """What limits make of a message."""

    passed: tuple[PassedLimit, ...] = ()  # in the order of the policy
    action: LimitAction | None = None  # None: nothing is done, it goes on
    by: PassedLimit | None = None  # whose action it is
    faults: tuple[str, ...] = ()  # for the log: formulas that gave no number
    new_recipients: int = 0  # of the message, where a limit counts them


NOTHING_PASSED: Final = LimitRuling()


def rule_on_limits(
    readings: Sequence[LimitReading],
    adds: MessageAmounts,
    facts: LimitFacts,
    *,
    program: bool = False,
    holds: bool = True,
) -> LimitRuling:
    """Return what limits make of a message.

    Args:
        readings: the limits that are for it, in the order of the policy.
        adds: by it.
        facts: for formulas, without the past.
        program: it comes from a program of the mail server's own machine.
        holds: the mail server has a place for what is held.

    Returns:
        The ruling; a limit whose formula gives no number, or fails, is passed by nobody.
    """
    passed: list[PassedLimit] = []
    faults: list[str] = []
    known = msgspec.structs.replace(facts)
    for reading in readings:
        limit, past = reading.limit, reading.past
        known.usual, known.age_days = past.usual or 0.0, past.age_days
        known.sent, known.sent_most = reading.sent, reading.sent_most
        try:
            most = limit.most(known)
            value = reading.counted + adds.of(limit.count)
            if most is None:
                faults.append(f"{limit.name}: limit: none")
            elif value > most and not limit.excused(known):
                passed.append(PassedLimit(limit=limit, value=value, most=most, past=past))
        except Exception as error:  # noqa: BLE001 - an admin's formula: one that fails stops nobody
            faults.append(f"{limit.name}: {type(error).__name__}: {error}")
    if not passed:
        return LimitRuling(faults=tuple(faults)) if faults else NOTHING_PASSED
    by = _gravest(passed)
    return LimitRuling(
        passed=tuple(passed),
        action=None if by is None else _possible(by.limit.then, program=program, holds=holds),
        by=by,
        faults=tuple(faults),
    )


def _gravest(passed: Iterable[PassedLimit]) -> PassedLimit | None:
    """Return the live limit whose action is done, the first of equal ones; None where none is."""
    acting = [
        one for one in passed if not one.limit.shadow and one.limit.then is not LimitAction.ALERT
    ]
    return max(acting, key=lambda one: one.limit.then.order, default=None)


def _possible(action: LimitAction, *, program: bool, holds: bool) -> LimitAction:
    if program and action is LimitAction.TEMPFAIL:
        action = LimitAction.HOLD
    return LimitAction.REFUSE if action is LimitAction.HOLD and not holds else action
