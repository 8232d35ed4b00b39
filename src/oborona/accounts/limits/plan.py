"""What the limits of a policy need of the counters: whose mail is counted, and where each number
lies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from oborona.accounts.limits.reported_counts import (
    bounces_key,
    failed_logins_key,
    unknown_users_key,
)
from oborona.accounts.limits.subjects import subject_shingle
from oborona.accounts.sending_account import KnownAccounts
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
    LimitCount.NEW_RECIPIENTS: NumberPlace(CounterPrefix.NEW_RECIPIENTS, Metric.SEEN),
    LimitCount.FIRST_CONTACTS: NumberPlace(CounterPrefix.FIRST, Metric.SEEN),
    LimitCount.ADDRESSES: NumberPlace(CounterPrefix.OUT, Metric.SEEN),
    LimitCount.COUNTRIES: NumberPlace(CounterPrefix.OUT, Metric.SEEN),
    LimitCount.SPAM: NumberPlace(CounterPrefix.OUT, Metric.SPAM),
    LimitCount.BOUNCES: NumberPlace(CounterPrefix.OUT, Metric.SEEN),
    LimitCount.UNKNOWN_USERS: NumberPlace(CounterPrefix.OUT, Metric.SEEN),
    LimitCount.FAILED_LOGINS: NumberPlace(CounterPrefix.OUT, Metric.SEEN),
    LimitCount.COMPLAINTS: NumberPlace(CounterPrefix.OUT, Metric.COMPLAINTS),
    LimitCount.TRAPS: NumberPlace(CounterPrefix.OUT, Metric.TRAPS),
}
_PLACES: Final = [*PLACES.values()]
SENT: Final = _PLACES.index(PLACES[LimitCount.RECIPIENTS])
"""The place, among all, of what `sent` and `sent_most` are of."""
DISTINCT: Final[Mapping[LimitCount, ShingleType]] = {
    LimitCount.ADDRESSES: ShingleType.ACCOUNT_IPS,
    LimitCount.COUNTRIES: ShingleType.ACCOUNT_COUNTRIES,
}
"""What counts different ones of an account, each once a day, and a scan reads."""
HEARD: Final[Mapping[LimitCount, Callable[[str, Hasher], Shingle]]] = {
    LimitCount.BOUNCES: bounces_key,
    LimitCount.UNKNOWN_USERS: unknown_users_key,
    LimitCount.FAILED_LOGINS: failed_logins_key,
}
"""The same, by login, of what other servers tell us later: no scan reads it."""
RETURNED: Final = frozenset({LimitCount.BOUNCES, LimitCount.UNKNOWN_USERS})
"""What a bounce tells."""
SAID: Final = frozenset({LimitCount.COMPLAINTS, LimitCount.TRAPS})
"""What people say of a message later, or what becomes known of an address."""
_LATER: Final = SAID | HEARD.keys()
_SCANNED: Final = (LimitSubject.ACCOUNT, LimitSubject.ADDRESS)
"""Whose own pieces a message has: the others are limits' alone, of the same types."""
REFUSING: Final = frozenset({LimitAction.TEMPFAIL, LimitAction.REFUSE})
"""What can be told at MAIL FROM."""


class LimitPiece(NamedTuple):
    """A piece of a message that some limits are read for."""

    each: LimitSubject
    distinct: ShingleType | None = None  # that counts different ones of the account; None: itself
    heard: LimitCount | None = None  # what others tell of the account; None: nothing

    @property
    def scanned(self) -> bool:
        """Whether a scan reads it, as the only piece of its type."""
        return self.heard is None and (self.distinct is not None or self.each in _SCANNED)

    def shingle(
        self, envelope: Envelope, hasher: Hasher, accounts: KnownAccounts
    ) -> Shingle | None:
        """Return the piece of a message; None where it has none.

        Args:
            envelope: of the message.
            hasher: holds the site's secret.
            accounts: of the site.
        """
        login = envelope.login.lower()
        if self.heard is not None:
            return HEARD[self.heard](login, hasher) if login else None
        if self.distinct is not None:
            return hasher.shingle(self.distinct, login) if login else None
        return subject_shingle(self.each, envelope, hasher, accounts)


class PlannedLimit(NamedTuple):
    """A limit, and where its number lies, in plain numbers: an enum's member is hashed in Python,
    and every message asks.
    """

    limit: Limit
    read: int  # which read has it
    piece: int  # of which piece
    window: int
    metric: int
    place: int  # of prefix and metric, among all
    sent: tuple[int, int] | None = None  # read and piece of `sent`; None: it is not asked for


class LimitReads:
    """Some limits, and the reads that they need.

    Args:
        limits: of a policy, in their order.

    Attributes:
        pieces: of a message that are read, each once.
        reads: prefixes, each with the places of its pieces.
        asks_place: some ask whether the account is where it is known.
        scanned: prefixes of which a scan has read all that is wanted.
        limits: with their numbers' places.
    """

    def __init__(self, limits: Sequence[Limit]) -> None:
        pieces: dict[LimitPiece, int] = {}
        reads: dict[CounterPrefix, dict[int, None]] = {}
        planned: list[PlannedLimit] = []

        def read(prefix: CounterPrefix, wanted: LimitPiece) -> tuple[int, int]:
            piece = pieces.setdefault(wanted, len(pieces))
            reads.setdefault(prefix, {})[piece] = None
            return [*reads].index(prefix), piece

        for limit in limits:
            place = PLACES[limit.count]
            heard = limit.count if limit.count in HEARD else None
            wanted = LimitPiece(limit.each, DISTINCT.get(limit.count), heard)
            sent = None
            if limit.asks_sent:
                sent = read(PLACES[LimitCount.RECIPIENTS].prefix, LimitPiece(limit.each))
            planned.append(
                PlannedLimit(
                    limit,
                    *read(place.prefix, wanted),
                    int(WINDOWS[limit.window]),
                    int(place.metric),
                    _PLACES.index(place),
                    sent,
                )
            )
        self.pieces = tuple(pieces)
        self.reads = tuple((prefix, tuple(of)) for prefix, of in reads.items())
        self.limits = tuple(planned)
        self.asks_place = any(limit.asks_place for limit in limits)
        self.scanned = frozenset(
            prefix
            for prefix, of in self.reads
            if prefix is CounterPrefix.OUT and all(self.pieces[piece].scanned for piece in of)
        )


class LimitPlan:
    """What the limits of one policy need.

    Args:
        limits: of the policy.

    Attributes:
        whole: for the end of a message: all of them, but alerts on what is heard later, which are
            told when it is heard.
        early: those that may refuse at MAIL FROM.
        bounced: for a bounce.
        denied: for a login that failed.
        said: for what people say of a message later.
        subjects: whose mail is counted: the account's always, so that there is a past by the time
            somebody writes a limit.
        asks_new: some count new recipients.
    """

    def __init__(self, limits: Sequence[Limit]) -> None:
        self.whole = LimitReads(
            [
                limit
                for limit in limits
                if limit.then is not LimitAction.ALERT or limit.count not in _LATER
            ]
        )
        self.bounced = LimitReads([limit for limit in limits if limit.count in RETURNED])
        self.denied = LimitReads(
            [limit for limit in limits if limit.count is LimitCount.FAILED_LOGINS]
        )
        self.said = LimitReads([limit for limit in limits if limit.count in SAID])
        self.early = LimitReads(
            [limit for limit in limits if not limit.shadow and limit.then in REFUSING]
        )
        self.asks_new = any(limit.count is LimitCount.NEW_RECIPIENTS for limit in limits)
        self.subjects = tuple(
            subject
            for subject in LimitSubject
            if subject is LimitSubject.ACCOUNT or any(limit.each is subject for limit in limits)
        )
