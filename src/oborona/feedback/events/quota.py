"""Quota for stored raw messages, so that one mailbox does not fill the disk.

Pure: time comes as an argument.

Each person may store `HOUR_BYTES`, refilled every hour; all traps together `TRAPS_BYTES`, for a
known trap can be sent any amount of mail.  An event over the quota is still taken: a message in the
journal is known by its id, and of any other the beginning is stored.
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.feedback.events.model import MOST_RAW, FeedbackEvent

HOUR_BYTES: Final = (
    64 << 20
)  # of one person: a thousand messages of everyday mail at once, or 64 of the largest
TRAPS_BYTES: Final = 256 << 20  # of mail to traps
LEAST_BYTES: Final = 16 * 1024  # of each message, whatever was said before
PERSONS: Final = 10_000  # remembered; who said nothing for long goes first, and has all room again
_HOUR_S: Final = 3600.0


class Quota:
    """The room that each person has left."""

    def __init__(self) -> None:
        self._left: dict[
            str, tuple[float, float]
        ] = {}  # person → bytes, and when it was so many; the latest last

    def cut(self, event: FeedbackEvent, now: float) -> FeedbackEvent:
        """Return an event with as much of its message as its person has room for.

        Guaranteed: of any person's events within any hour at most twice `HOUR_BYTES`, and
        `LEAST_BYTES` of each, are kept. Of nobody's (traps') at most twice `TRAPS_BYTES`, and the
        same of each.

        Args:
            event: any.
            now: seconds, of any clock that does not go back.
        """
        size = min(len(event.raw), MOST_RAW)
        if size <= LEAST_BYTES:
            return event
        room = HOUR_BYTES if event.person else TRAPS_BYTES
        left, since = self._left.pop(event.person, (float(room), now))
        left = min(room, left + (now - since) * room / _HOUR_S)
        fits = size <= left
        self._left[event.person] = (left - size if fits else left, now)
        if len(self._left) > PERSONS:
            del self._left[next(iter(self._left))]
        if fits:
            return event
        # half a text is another one than the journal knows, and would be taken for a forgery
        return msgspec.structs.replace(
            event, raw=event.raw[:LEAST_BYTES] if event.ident is None else b""
        )
