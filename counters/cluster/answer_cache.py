"""A cache of the records that a worker read from the cluster, so that a busy key is not queried
for each message.

An entry is fresh for `stale_s`. Older entries stay, as far as there is room, and serve while their
node is away.
"""

from __future__ import annotations

from typing import Final

import msgspec

STALE_S: Final = 0.2  # what others flush takes as long to arrive
ROOM: Final = 20_000  # records; about 5 MB


class PageAnswer(msgspec.Struct, frozen=True, gc=False):
    """What a page had of one record."""

    time: float  # monotonic seconds
    cells: bytes  # empty: nothing
    step: int  # the last one of our outbox that touched the page


class PageAnswerCache:
    """The last answers.

    Args:
        stale_s: so long one serves, seconds.
        room: records; the oldest half goes when there are more.
    """

    __slots__ = ("_answers", "_room", "_stale_s")

    def __init__(self, stale_s: float = STALE_S, room: int = ROOM) -> None:
        self._answers: dict[bytes, PageAnswer] = {}
        self._stale_s = stale_s
        self._room = room

    def get(self, key: bytes, now: float) -> PageAnswer | None:
        """Return an answer that still serves at `now`, monotonic seconds."""
        answer = self._answers.get(key)
        return answer if answer is not None and now - answer.time < self._stale_s else None

    def last(self, key: bytes) -> PageAnswer | None:
        """Return the last answer, however old."""
        return self._answers.get(key)

    def clear(self) -> None:
        """Remember nothing."""
        self._answers.clear()

    def put(self, key: bytes, answer: PageAnswer) -> PageAnswer:
        """Remember an answer, and return it."""
        self._answers.pop(key, None)  # so that the newest stand last
        self._answers[key] = answer
        if len(self._answers) > self._room:
            for old in list(self._answers)[: self._room // 2]:
                del self._answers[old]
        return answer
