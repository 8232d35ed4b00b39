"""The counts of one message's hashes, in the order in which rules ask for them.

A type with several hashes (links, addresses) answers with its worst one: the most spam in a day,
then the most seen.  For the mail that recipients had from a sender before the last day, the
recipient with the least answers.

The values of a fingerprint, and their unique counts, each answer with the smallest count that a
quarter of them reach (six of sixteen of characters, which short texts have).  Near-duplicates share
most values and other texts hardly any, so that is more than a common phrase brings along, and less
than a campaign leaves when it changes every fourth word (docs/adr/0005, docs/measured/likeness.md).
The values of a picture's look are no such fingerprint: alike pictures share one at least, and
others none (docs/policy/pictures.md), so the worst one answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache
from itertools import islice
from math import ceil
from operator import itemgetter
from typing import Final

from oborona.counters.core import reached_counts
from oborona.counters.rows import NOTHING
from oborona.counters.window import Timeline
from oborona.message.shingles import ShingleType
from oborona.policy.ports import Totals
from oborona.reputation.address import AddressCounts, AddressHistory, RepIP, SenderOwnCounts, judge
from oborona.reputation.judgement.rhythm import MIN_MESSAGES, regularity
from oborona.reputation.share import spam_share
from oborona.types import CountedPieces, Metric, RuleWindow, Shingle, Window

SHARED_WORDS: Final = 8 / 32  # of the values must be shared for texts to count as near-duplicates
# the same for short texts, of which a common phrase is a larger part
SHARED_CHARACTERS: Final = 6 / 16
FINGERPRINTS: Final = frozenset(
    {
        ShingleType.WORDS,
        ShingleType.CHARACTERS,
        ShingleType.TEXT_IPS,
        ShingleType.TEXT_RECIPIENTS,
        ShingleType.TEXT_SENDERS,
        ShingleType.PICTURE_TEXT,
    }
)

PASTS: Final = frozenset(
    map(
        int,
        (
            ShingleType.CLIENT_IP,
            ShingleType.CLIENT_NETWORK,
            ShingleType.AS_NUMBER,
            ShingleType.HELO,
            ShingleType.MAIL_FROM,
            ShingleType.MAIL_FROM_DOMAIN,
            ShingleType.FROM,
            ShingleType.FROM_DOMAIN,
            ShingleType.DKIM_DOMAIN,
            ShingleType.AUTHOR,
            ShingleType.AUTHOR_DOMAIN,
            ShingleType.PROVED_SENDER,
            ShingleType.ACCOUNT,
            ShingleType.LINK_DOMAIN,
            ShingleType.ENTITY_RECIPIENT,
            ShingleType.SENDER_RECIPIENT,
        ),
    )
)
"""Types of pieces whose good mail of other days may speak for a message."""
MAX_LINES: Final = 16  # time-lines read for one message

# texts that are mostly of few words
_SHORT: Final = frozenset({ShingleType.CHARACTERS, ShingleType.PICTURE_TEXT})
_EVIDENCE: Final = itemgetter(
    Metric.SEEN, Metric.SPAM, Metric.COMPLAINTS, Metric.PARDONS, Metric.TRAPS
)  # as `AddressCounts` has them
_CLIENT_IP, _CLIENT_NETWORK, _IP_SENDERS = (
    int(ShingleType.CLIENT_IP),
    int(ShingleType.CLIENT_NETWORK),
    int(ShingleType.IP_SENDERS),
)  # plain numbers: an enum's member is hashed in Python, and every scan asks
_HOUR, _DAY, _FORTNIGHT = int(Window.HOUR), int(Window.DAY), int(Window.FORTNIGHT)
_SEEN, _SPAM = int(Metric.SEEN), int(Metric.SPAM)
_JUDGED: Final = (_SEEN, _SPAM)  # the first two of a window
_EARLIER: Final = int(RuleWindow.EARLIER)
_FROM: Final = int(ShingleType.FROM)
_AUTHOR: Final = int(ShingleType.AUTHOR)
_WORDS, _CHARACTERS, _TEMPLATE = (
    int(ShingleType.WORDS),
    int(ShingleType.CHARACTERS),
    int(ShingleType.TEMPLATE),
)
_CONTACTS: Final = (int(ShingleType.ENTITY_RECIPIENT), int(ShingleType.SENDER_RECIPIENT))
_UNKNOWN: Final = AddressHistory()


def shingles_to_read(pieces: CountedPieces) -> tuple[Shingle, ...]:
    """Return the shingles to read for a message: its own, what its unique pairs count, who of its
    recipients knows the sender, who vouches for the client, whether the account was there before.
    """
    distinct = tuple(dict.fromkeys(pair.distinct for pair in pieces.pairs))
    return pieces.shingles + distinct + pieces.contacts + pieces.vouched + pieces.place


class MessageCounts:
    """Counts of one message's pieces, by type.

    Args:
        shingles: as they were asked for.
        totals: the store's answer, in the same order.
        lines: time-lines of some of them, by type.
        away: the store did not answer: nothing is known, and nothing is 0.

    Attributes:
        asked: the shingles that were read, in the order of the rows of their types.
        across: the counts of the other direction, of those types that rules ask for; None = they
            ask for none.
        pinned: an analyst's word on the client's address, which stands in the place of what is
            counted of it; None = there is none.
    """

    __slots__ = (
        "_answers", "_beside", "_lines", "_repip", "_rows",
        "across", "asked", "away", "pinned",
    )  # fmt: skip

    def __init__(
        self,
        shingles: Sequence[Shingle] = (),
        totals: Sequence[list[list[int]]] = (),
        *,
        lines: Mapping[int, Sequence[Timeline]] | None = None,
        away: bool = False,
    ) -> None:
        self.asked: tuple[Shingle, ...] = tuple(shingles)
        self.away = away
        self._lines = lines or {}
        self.across: MessageCounts | None = None
        self.pinned: RepIP | None = None
        self._repip: RepIP | None = None  # of these counts, once somebody has asked
        self._beside: RepIP | None = None  # the same without the message's own sender
        self._answers: dict[int, list[list[int]]] = {}  # the row that speaks for a type
        self._rows = by_type = dict[int, Totals]()
        for (kind, _), rows in zip(shingles, totals, strict=True):
            have = by_type.get(kind)
            if have is None:
                by_type[kind] = [rows]
            else:
                have.append(rows)

    @property
    def rows(self) -> Mapping[int, Totals]:
        """The counts of each type's pieces, in the order in which they were asked for."""
        return self._rows

    def joined(self, other: MessageCounts) -> MessageCounts:
        """Return what both know, of different shingles of one message."""
        counts = MessageCounts(lines={**self._lines, **other._lines}, away=self.away)
        counts.asked = self.asked + other.asked
        counts.pinned = self.pinned
        counts.across = _both(self.across, other.across)
        counts._rows = {kind: list(rows) for kind, rows in self._rows.items()}
        for kind, rows in other._rows.items():
            counts._rows.setdefault(kind, []).extend(rows)
        return counts

    def with_rows(self, rows: Mapping[int, Totals]) -> MessageCounts:
        """Return the same with other counts, and without an analyst's word on the address."""
        counts = copy(self)
        counts._rows, counts._answers = dict(rows), {}  # noqa: SLF001 - one of ours
        counts._repip = counts._beside = counts.pinned = None  # noqa: SLF001
        return counts

    def since(self, then: MessageCounts) -> MessageCounts:
        """Return the counts of now for a message that was judged before: what came since a day
        before it counts as of the last day.

        So that a second look takes neither the message nor its copies for a past of their sender.
        Likenesses of its text stay as they are.

        Args:
            then: the counts that it was judged by, of the same pieces in the same order.
        """
        rows = dict(self._rows)
        for kind in PASTS & then._rows.keys() & rows.keys():
            rows[kind] = [
                _as_of(row, before)
                for row, before in zip(rows[kind], then._rows[kind], strict=False)
            ] + rows[kind][len(then._rows[kind]) :]
        counts = self.with_rows(rows)
        counts.pinned = self.pinned
        return counts

    def has(self, kind: int) -> bool:
        """Tell whether the message has a piece of this type."""
        return kind in self._rows

    def count(self, kind: int, window: int, metric: int) -> int:
        """Return one count of one type of piece; 0 for a type that the message has not.

        Args:
            kind: of the piece.
            window: a `RuleWindow`.
            metric: a `Metric`.
        """
        row = self._answers.get(kind)  # a scan asks a hundred times for some thirty types
        if row is None:
            rows = self._rows.get(kind)
            if rows is None:
                return 0
            row = self._answers[kind] = self._answer(kind, rows)
        if window < len(row):
            return row[window][metric]
        if kind in _CONTACTS:
            return min(_cells(self._rows[kind], window, metric))
        earlier = row[_FORTNIGHT][metric] - row[_DAY][metric]
        return max(0, earlier)

    def copies(self, window: int, metric: int) -> int:
        """Return one count of the texts that are nearly this one.

        Of the same words only, where it is too short for likeness.
        """
        if _WORDS in self._rows or _CHARACTERS in self._rows:
            return max(self.count(_WORDS, window, metric), self.count(_CHARACTERS, window, metric))
        return self.count(_TEMPLATE, window, metric)

    def _answer(self, kind: int, rows: Totals) -> list[list[int]]:
        """Return the row that speaks for a type; of a fingerprint one with `EARLIER`, too."""
        if kind in FINGERPRINTS:
            shared = self._shared(kind, len(rows))
            if len(rows) - rows.count(NOTHING) < shared:
                return NOTHING  # nobody sent that text before, nor nearly: most texts
            return reached_counts(rows, shared)
        # of the senders of an address the known authors are counted beside all
        return rows[0] if kind == _IP_SENDERS else _worst(rows)

    def _shared(self, kind: int, values: int) -> int:
        """Return how many values must reach a count.

        Unique counts hang on those of either fingerprint, or of both.
        """
        if kind in (_WORDS, _CHARACTERS) or _CHARACTERS not in self._rows:
            return shared_values(kind, values)
        return shared_values(_CHARACTERS, values // 2 if _WORDS in self._rows else values)

    def repip(self) -> RepIP:
        """Return the judgement on the client's address: an analyst's, or else by its own counts and
        its network's.
        """
        if self.pinned is not None:
            return self.pinned
        if self._repip is None:
            self._repip = judge(self._history(_CLIENT_IP), self._history(_CLIENT_NETWORK))
        return self._repip

    def repip_beside(self) -> RepIP:
        """Return the same without what the message's own sender sent in the last day: it is no word
        on the address.
        """
        if self.pinned is not None:
            return self.pinned
        if self._beside is None:
            own = SenderOwnCounts(self.ham(_FROM, _DAY), self.count(_FROM, _HOUR, _SEEN))
            self._beside = (
                judge(self._history(_CLIENT_IP), self._history(_CLIENT_NETWORK), own)
                if any(own)
                else self.repip()
            )
        return self._beside

    def _history(self, kind: int) -> AddressHistory:
        rows = self._rows.get(kind)
        if rows is None:
            return _UNKNOWN
        row, senders = _worst(rows), self._rows.get(_IP_SENDERS)
        authors = senders[1] if senders is not None and len(senders) > 1 else None
        return AddressHistory(
            AddressCounts(*_EVIDENCE(row[_DAY])),
            AddressCounts(*_EVIDENCE(row[_FORTNIGHT])),
            row[_HOUR][_SEEN],
            0 if senders is None else senders[0][_DAY][_SEEN],
            0 if authors is None else authors[_DAY][_SEEN],
            0 if authors is None else authors[_FORTNIGHT][_SEEN],
        )

    def author_is_known(self) -> bool:
        """Tell whether the proved author had good mail here before the last day, and none in two
        weeks that a person or a trap spoke against.
        """
        rows = self._rows.get(_AUTHOR)
        if not rows:
            return False
        row = rows[0]
        spoken = row[_FORTNIGHT][Metric.COMPLAINTS] + row[_FORTNIGHT][Metric.TRAPS]
        return not spoken and _cell(row, _EARLIER, _SEEN) > _cell(row, _EARLIER, _SPAM)

    def robotic(self, kind: int) -> float | None:
        """Return how regularly a type of piece came in the last day, of the most regular one.

        None for too few to tell.
        """
        totals = [
            regular
            for line in self._lines.get(kind, ())
            if (regular := regularity([bucket[Metric.SEEN] for bucket in line.buckets])) is not None
        ]
        return max(totals, default=None)

    def ham(self, kind: int, window: int) -> int:
        """Return how many were seen and were not spam."""
        return max(0, self.count(kind, window, Metric.SEEN) - self.count(kind, window, Metric.SPAM))

    def most(self, kind: int, window: int, metric: int) -> int:
        """Return one count of the piece of a type that has the most of it.

        0 for a type that the message has not.
        """
        return max(_cells(self._rows.get(kind, ()), window, metric), default=0)

    def most_ham(self, kind: int, window: int) -> int:
        """Return how many were seen and were not spam, of the piece with the most of them."""
        rows = self._rows.get(kind, ())
        return max(
            (_cell(row, window, Metric.SEEN) - _cell(row, window, Metric.SPAM) for row in rows),
            default=0,
        )

    def spam_share(self, kind: int, window: int) -> float:
        """Return the expected share of spam, 0.5 for no history."""
        return spam_share(
            self.count(kind, window, Metric.SEEN), self.count(kind, window, Metric.SPAM)
        )


class DirectionCounts:
    """The counts of one message's pieces in one direction, as rules ask for them.

    Args:
        known: in that direction; None where they were not read.
    """

    __slots__ = ("_known",)

    def __init__(self, known: MessageCounts | None) -> None:
        self._known = None if known is None or known.away else known

    def count(self, kind: int, window: int, metric: int) -> int | None:
        """Return one count of one type of piece; see `MessageCounts.count`."""
        return None if self._known is None else self._known.count(kind, window, metric)

    def ham(self, kind: int, window: int) -> int | None:
        """Return how many were seen and were not spam."""
        return None if self._known is None else self._known.ham(kind, window)

    def spam_share(self, kind: int, window: int) -> float | None:
        """Return the expected share of spam, 0.5 for no history."""
        return None if self._known is None else self._known.spam_share(kind, window)


def _both(first: MessageCounts | None, second: MessageCounts | None) -> MessageCounts | None:
    if first is None or second is None:
        return first or second
    return first.joined(second)


def timelines_to_read(
    shingles: Sequence[Shingle], totals: Totals, types: frozenset[int]
) -> tuple[Shingle, ...]:
    """Return the shingles whose time-lines are worth a look: of these types, with messages enough
    to have a rhythm; at most MAX_LINES.
    """
    due = (
        shingle
        for shingle, rows in zip(shingles, totals, strict=True)
        if shingle.type in types and rows[Window.DAY][Metric.SEEN] >= MIN_MESSAGES
    )
    return tuple(islice(due, MAX_LINES))


@lru_cache(maxsize=256)  # a scan asks eight times, for one of few numbers
def shared_values(kind: int, values: int) -> int:
    """Return how many of the values that hang on one fingerprint two texts must share to count as
    near-duplicates.

    Args:
        kind: of the values.
        values: how many there are.
    """
    return ceil(values * (SHARED_CHARACTERS if kind in _SHORT else SHARED_WORDS))


def is_elsewhere(row: list[list[int]]) -> bool:
    """Tell whether an account sends from where it is not known: by what `account_place` counts.

    Known is an address from which it sent on a day of the last two weeks before the last 24 hours,
    and of that at most a quarter was held or refused: a stolen password makes no place known by
    what it sends.
    """
    seen, bad = _cell(row, _EARLIER, _SEEN), _cell(row, _EARLIER, _SPAM)
    return not seen or bad * 4 > seen


def _cells(rows: Sequence[list[list[int]]], window: int, metric: int) -> list[int]:
    """Return one count of each row.

    The windows of a read, which most ask for, without a call for each: a scan reads some three
    hundred.
    """
    if window == _EARLIER:
        return [_cell(row, window, metric) for row in rows]
    return [row[window][metric] for row in rows]


def _cell(row: list[list[int]], window: int, metric: int) -> int:
    """Return one count of a row.

    What is earlier than the last day is what the two weeks have and the day has not.
    """
    if window == _EARLIER:
        return max(0, row[_FORTNIGHT][metric] - row[_DAY][metric])
    return row[window][metric]


def _as_of(row: list[list[int]], then: list[list[int]]) -> list[list[int]]:
    """Return a row whose last day holds all but what was earlier than the last day then."""
    day, fortnight, then_day, then_fortnight = (
        row[_DAY],
        row[_FORTNIGHT],
        then[_DAY],
        then[_FORTNIGHT],
    )
    since = [fortnight[each] - max(0, then_fortnight[each] - then_day[each]) for each in _JUDGED]
    if since[_SEEN] <= day[_SEEN] and since[_SPAM] <= day[_SPAM]:
        return row  # most rows
    day = [*map(max, since, day), *day[len(since) :]]
    return [*row[:_DAY], day, *row[_DAY + 1 :]]


def _worst(rows: Totals) -> list[list[int]]:
    if len(rows) == 1:
        return rows[0]
    return max(
        rows,
        key=lambda row: (row[Window.DAY][Metric.SPAM], row[Window.DAY][Metric.SEEN]),
        default=NOTHING,
    )
