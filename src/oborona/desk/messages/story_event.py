"""A message's story as data."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from oborona.desk.messages.found_messages import FoundMessage
from oborona.types import Action


class StoryKind(StrEnum):
    """What happened."""

    REFUSED = "refused"  # the same sender, before: for good, or for now
    JUDGED = "judged"
    LATE = "late"  # more of it was known, and it was judged again
    DELIVERED = "delivered"
    SAID = "said"
    DECIDED = "decided"  # what somebody said was believed, or not
    LOOKED = "looked"  # it was looked at again, and a move decided
    MOVED = "moved"
    LEFT = "left"  # the move was not made
    UNDONE = "undone"  # a move was taken back


class StoryEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened; what does not apply is empty."""

    time: float  # Unix seconds
    kind: StoryKind
    ref: str = ""  # id or reference, of what was judged or refused
    report: int | None = None  # number of what was said
    move: int | None = None  # number of the move
    client: str = ""
    who: str = ""  # recipient of a copy, or who said something; empty = nobody: the site
    verdict: Action | None = None
    score: float | None = None
    line: float | None = None
    decided_by: str = ""
    policy: str = ""  # version
    where: str = ""  # mailbox; of a refusal where it was told
    times: int = 1  # how many refusals
    what: str = ""  # that was said, or decided
    weight: float | None = None  # of what was said
    say: str = ""  # why, in words
    taken_back: bool = False  # of a move
    can_undo: bool = False  # the move can be taken back


class MessageStory(msgspec.Struct, frozen=True, kw_only=True):
    """What happened, in order of time; or which messages may be meant.

    Args:
        id: of the message; empty = several are meant.
        refused: it is a refusal before the content.
        events: in order.
        candidates: several that were meant.
        reached: as of an explanation.
        before_since: earlier tries were looked for back to then, Unix seconds, for want of time;
            None = for a day.
    """

    id: str = ""
    refused: bool = False
    events: tuple[StoryEvent, ...] = ()
    candidates: tuple[FoundMessage, ...] = ()
    reached: str = ""
    before_since: float | None = None
