"""The order in which examples are learned: as they came, except for mail that was taught sorted.

`oborona learn spam FOLDER` and then `oborona learn ham FOLDER` is how people begin.  An online
linear model leans to the class that came last, as it takes each long run of one class for a change
in the mail.  So after a long run, once the queue is empty, the weights are rebuilt if the kept
examples hold such a run: both classes are then learned in step, each in its own order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oborona.feedback.label import LabelKind

LONG_RUN: Final = 50  # of one class; at 95:5 one in a thousand is as long
SHARE: Final = 0.1  # of all that was learned: a shorter run does not move it


class LabelRuns:
    """The lengths of runs of labels of one class."""

    def __init__(self) -> None:
        self._kind: LabelKind | None = None
        self._run = self._longest = 0

    def add(self, kind: LabelKind) -> None:
        """Take note of the next word."""
        self._run = self._run + 1 if kind is self._kind else 1
        self._kind = kind
        self._longest = max(self._longest, self._run)

    def sorted(self, learned: int) -> bool:
        """Tell whether what came was sorted, beside so many words that were learned altogether."""
        return self._longest >= max(LONG_RUN, SHARE * learned)


def training_order(spam: Sequence[int], ham: Sequence[int]) -> list[int]:
    """Return the words of both classes in the order in which they are learned.

    Args:
        spam: ids, ascending.
        ham: the same.
    """
    kinds = dict.fromkeys(spam, LabelKind.SPAM) | dict.fromkeys(ham, LabelKind.HAM)
    came, runs = sorted(kinds), LabelRuns()
    for ident in came:
        runs.add(kinds[ident])
    if not spam or not ham or not runs.sorted(len(came)):
        return came
    places = [
        ((place + 0.5) / len(idents), ident)
        for idents in (spam, ham)
        for place, ident in enumerate(idents)
    ]
    return [ident for _, ident in sorted(places)]
