"""What people said of which message, by word or by what they did: pure.

    word      a label that stands: a report, a pardon, a trap, an admin's
    answered  somebody wrote to its author for the first time after it came: good
    left      it lay where we had put it, and a person who speaks of mail left it there: in the
              inbox, good; in the spam folder, spam

A person speaks of mail in the inbox who has reported `LEAST_WORDS` messages as spam, and of mail in
the spam folder who has called as many good.  Silence of such a person counts where the person did
something else with mail within `LOOKED_S` after the message came: it was there to be seen.  Of
anybody else, silence says nothing; and none does of a message that is like one that anybody spoke
of, since of a campaign most copies are never reported.

How often that is wrong: who reports a share r of the spam that reaches him leaves 1 - r of it, so
that of the mail left in his inbox s (1 - r) / (1 - s r) is spam where s of it was.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from oborona.feedback.label import JournaledLabel, LabelKind
from oborona.journal.placements import MessagePlacement

LEAST_WORDS: Final = 2  # one report in a life says little of what is not reported
LOOKED_S: Final = 7 * 86_400.0  # a week's holiday
ANSWERED_S: Final = 30 * 86_400.0
SETTLED_S: Final = 2 * 86_400.0  # before silence counts: people report within a day or two


class LabelSign(StrEnum):
    """How people told what a message is."""

    WORD = "word"
    ANSWERED = "answered"
    LEFT = "left"


class MessageLabel(NamedTuple):
    """What a message is, by people."""

    spam: bool
    sign: LabelSign


def spoken(labels: Iterable[JournaledLabel]) -> dict[int, bool]:
    """Return which messages are spam by people's word for all; what they disagree on is left out.

    Args:
        labels: that stand; those that act on a person's own mail alone have no weight.
    """
    weights = defaultdict[int, float](float)
    for label in labels:
        if label.weight > 0:
            sign = 1 if label.kind is LabelKind.SPAM else -1
            weights[label.journal] += sign * label.weight
    return {ident: weight > 0 for ident, weight in weights.items() if weight}


class PeoplesActions:
    """What each person did with mail, and when.

    Args:
        labels: that stand, whatever their weight: a person's own.
        opened: id of the message, person and time of each that was opened.
        contacts: person → address → Unix seconds at which the person first wrote there.
        now: Unix seconds.
    """

    def __init__(
        self,
        labels: Sequence[JournaledLabel],
        opened: Iterable[tuple[int, str, float]],
        contacts: Mapping[str, Mapping[str, float]],
        *,
        now: float,
    ) -> None:
        words = Counter((label.person, label.kind) for label in labels if label.person)
        self._speaks = {who for who, number in words.items() if number >= LEAST_WORDS}
        acted = defaultdict[str, list[float]](list)
        for label in labels:
            acted[label.person].append(label.time)
        for _, person, when in opened:
            acted[person].append(when)
        self._acted = {person: sorted(times) for person, times in acted.items()}
        self._contacts = contacts
        self._now = now

    @property
    def people(self) -> frozenset[str]:
        """Those whose mail may be told by what they did."""
        return frozenset(person for person, _ in self._speaks) | self._contacts.keys()

    def label(self, placement: MessagePlacement, author: str) -> MessageLabel | None:
        """Return what a message is that nobody spoke of; None where nothing says.

        Args:
            placement: of the message, with its recipients as people are named.
            author: address in From.
        """
        came = placement.time
        for person in placement.recipients:
            wrote = self._contacts.get(person, {}).get(author, 0.0)
            if came < wrote <= came + ANSWERED_S and not placement.filed:
                return MessageLabel(spam=False, sign=LabelSign.ANSWERED)
        if self._now - came < SETTLED_S or not placement.recipients:
            return None
        kind = LabelKind.HAM if placement.filed else LabelKind.SPAM
        if any(
            (person, kind) in self._speaks and self._looked(person, came)
            for person in placement.recipients
        ):
            return MessageLabel(spam=placement.filed, sign=LabelSign.LEFT)
        return None

    def _looked(self, person: str, came: float) -> bool:
        times = self._acted.get(person, ())
        place = bisect_right(times, came)
        return place < len(times) and times[place] <= came + LOOKED_S


def evenly(idents: Sequence[int], most: int) -> Iterator[int]:
    """Yield at most so many of some ids, evenly over all of them."""
    step = max(1.0, len(idents) / most) if most else 0.0
    for number in range(min(most, len(idents))):
        yield idents[int(number * step)]
