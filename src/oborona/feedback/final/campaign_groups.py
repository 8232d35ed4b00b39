"""Which messages are near-duplicates of each other, for training: pure.

By the same pieces as reports are put together (`feedback.processing.campaigns`): the same text or
template, or as many values of a fingerprint as near-duplicates share; files and pictures where
there is no text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from oborona.feedback.processing.campaigns import VALUES, pieces_of
from oborona.policy.counts import shared_values
from oborona.types import Shingle

MOST_SHARING: Final = 200  # campaigns that share a piece, the newest; a footer is in thousands


class CampaignGroups:
    """Numbers campaigns as messages come; each is known by the pieces of its first message."""

    def __init__(self) -> None:
        self._known: dict[Shingle, list[int]] = {}
        self._last = 0

    def of(self, shingles: Sequence[Shingle]) -> int:
        """Return the campaign of a message, a new one where it is like none before."""
        pieces = pieces_of(shingles)
        found = self.find(pieces)
        if found:
            return found
        self._last += 1
        for piece in pieces:
            self._known.setdefault(piece, []).append(self._last)
        return self._last

    def find(self, pieces: Iterable[Shingle]) -> int:
        """Return the campaign that a message is of; 0 = of none that is known.

        Args:
            pieces: as `pieces_of` selects them.
        """
        selected = tuple(pieces)
        sizes = Counter(piece.type for piece in selected)
        shared = Counter[tuple[int, int]]()
        for piece in selected:
            for campaign in self._known.get(piece, ())[-MOST_SHARING:]:
                if piece.type not in VALUES:
                    return campaign
                shared[campaign, piece.type] += 1
        for (campaign, kind), number in shared.most_common():
            if number >= shared_values(kind, sizes[kind]):
                return campaign
        return 0
