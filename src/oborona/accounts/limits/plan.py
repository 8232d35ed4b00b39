"""What the limits of a policy need of the counters: whose mail is counted, and where each number
lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from oborona.message.hashing import Hasher, ShingleType
from oborona.policy.limit_table import LimitAction, LimitCount, LimitSubject, LimitWindow
from oborona.policy.limits import Limit
from oborona.types import CounterPrefix, Envelope, Metric, Shingle, Window

WINDOWS: Final[Mapping[LimitWindow, Window]] = {
    LimitWindow.RECENT: Window.RECENT,
    LimitWindow.HOUR: Window.HOUR,
    LimitWindow.DAY: Window.DAY,
    LimitWindow.FORTNIGHT: Window.FORTNIGHT,
}


class NumberPlace(NamedTuple):
    """Where the counters have a number, for whomever."""

    prefix: CounterPrefix
    metric: Metric


PLACES: Final[Mapping[LimitCount, NumberPlace]] = {
    LimitCount.MESSAGES: NumberPlace(CounterPrefix.SENT, Metric.SEEN),
    LimitCount.RECIPIENTS: NumberPlace(CounterPrefix.RECIPIENTS, Metric.SEEN),
    LimitCount.OCTETS: NumberPlace(CounterPrefix.OCTETS, Metric.SEEN),
    LimitCount.FIRST_CONTACTS: NumberPlace(CounterPrefix.FIRST, Metric.SEEN),
    LimitCount.ADDRESSES: NumberPlace(CounterPrefix.OUT, Metric.SEEN),
    LimitCount.SPAM: NumberPlace(CounterPrefix.OUT, Metric.SPAM),
    LimitCount.COMPLAINTS: NumberPlace(CounterPrefix.OUT, Metric.COMPLAINTS),
    LimitCount.TRAPS: NumberPlace(CounterPrefix.OUT, Metric.TRAPS),
}
REFUSING: Final = frozenset({LimitAction.TEMPFAIL, LimitAction.REFUSE})
"""What can be told at MAIL FROM."""


class LimitPlan:
    """What the limits of one policy need.

    Args:
        limits: of the policy.

    Attributes:
        limits: all, for the end of a message.
        early: those that may refuse at MAIL FROM.
        subjects: whose mail is counted: the account's always, so that there is a past by the time
            somebody writes a limit.
    """

    def __init__(self, limits: Sequence[Limit]) -> None:
        self.limits = tuple(limits)
        self.early = tuple(limit for limit in limits if not limit.shadow and limit.then in REFUSING)
        self.subjects = tuple(
            subject
            for subject in LimitSubject
            if subject is LimitSubject.ACCOUNT or any(limit.each is subject for limit in limits)
        )


def limit_shingle(
    limit: Limit, shingles: Mapping[LimitSubject, Shingle], envelope: Envelope, hasher: Hasher
) -> Shingle | None:
    """Return what is to be read for a limit; None for a message that has no such subject.

    Args:
        limit: to be read for.
        shingles: of the message's subjects.
        envelope: of the message.
        hasher: holds the site's secret.
    """
    if limit.each not in shingles:
        return None
    if limit.count is LimitCount.ADDRESSES:
        return hasher.shingle(ShingleType.ACCOUNT_IPS, envelope.login.lower())
    return shingles[limit.each]
