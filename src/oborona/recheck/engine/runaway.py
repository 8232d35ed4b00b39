"""Runaway protection: stops the recheck if it would move a large share of mail that no campaign
explains; pure.

A campaign is many messages alike, with complaints or trap hits: moving it is the recheck's purpose,
however large it is.  A broken rule, a signature of two common words or a complaint that counted
under everybody's web host hits many messages that are not alike, or that nobody reported.  So all
messages about to be moved are counted, except those of campaigns: messages that share text or files
with `ALIKE` others and were reported.  The last hour of decisions is compared with the mail that
passed in the last hour.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import nsmallest
from typing import Final

from oborona.message.hashing import ShingleType
from oborona.recheck.engine.prefilter import CARRIERS
from oborona.types import Shingle

HOUR_S: Final = 3600.0
ALIKE: Final = 3  # messages that share a piece are a campaign, people's word behind them
# pieces of a message: the lowest of a campaign's own, which messages alike share
MOST_OWN: Final = 24
# of one hour; beyond it the oldest messages are forgotten, which counts fewer
MOST_PIECES: Final = 200_000
MOST_MESSAGES: Final = 1_000_000  # of one hour; the same

_NONE: Final[frozenset[Shingle]] = frozenset()
_OWN: Final = CARRIERS | {ShingleType.WORDS, ShingleType.CHARACTERS, ShingleType.PICTURE_TEXT}


class RunawayGuard:
    """The moves of the last hour that no campaign explains.

    Args:
        share: of the last hour's mail that may be moved unexplained; 1 = any.
        least: fewer messages never count as running away.
    """

    def __init__(self, *, share: float, least: int) -> None:
        self._share = share
        self._least = least
        self._decided: deque[tuple[float, int, bool, frozenset[Shingle]]] = deque()
        self._with: dict[
            Shingle, int
        ] = {}  # messages that have a piece, of those with people's word behind them
        self._pieces = 0
        self._allowed_until = 0.0

    def allow(self, until: float) -> None:
        """Let everything be moved until a time, Unix seconds: an admin has looked, and said so."""
        self._allowed_until = until
        self._decided.clear()
        self._with.clear()
        self._pieces = 0

    def decided(self, ident: int, pieces: Iterable[Shingle], *, word: bool, now: float) -> None:
        """Take note of a message that is about to be moved.

        Args:
            ident: its id.
            pieces: of it.
            word: people spoke of it.
            now: Unix seconds.
        """
        own = _NONE
        if word:  # what nobody spoke of is explained by no piece
            some = (piece for piece in pieces if piece.type in _OWN)
            own = frozenset(
                nsmallest(
                    MOST_OWN, some, key=lambda piece: (piece.type not in CARRIERS, piece.hash)
                )
            )
        self._decided.append((now, ident, word, own))
        self._pieces += len(own)
        if word:
            for piece in own:
                self._with[piece] = self._with.get(piece, 0) + 1
        self._forget(now)

    def unexplained(self, now: float) -> int:
        """Return how many messages of the last hour no campaign explains."""
        self._forget(now)
        answers = {
            ident
            for _, ident, word, own in self._decided
            if not (word and any(self._with[piece] >= ALIKE for piece in own))
        }
        return len(answers)

    def runs(self, passed: int, now: float) -> str:
        """Return why moves have to stop, in words for an admin; empty where they need not.

        Args:
            passed: messages that passed in the last hour.
            now: Unix seconds.
        """
        if self._share >= 1 or now < self._allowed_until or len(self._decided) < self._least:
            return ""
        number = self.unexplained(now)
        if number < self._least or number <= self._share * passed:
            return ""
        return (
            f"{number} messages of no campaign are about to be moved within an hour, {passed} "
            f"passed in it:"
            f" more than {self._share:.0%}"
        )

    def _forget(self, now: float) -> None:
        while self._decided and (
            self._decided[0][0] <= now - HOUR_S
            or self._pieces > MOST_PIECES
            or len(self._decided) > MOST_MESSAGES
        ):
            _, _, word, own = self._decided.popleft()
            self._pieces -= len(own)
            for piece in own if word else ():
                left = self._with[piece] - 1
                if left:
                    self._with[piece] = left
                else:
                    del self._with[piece]
