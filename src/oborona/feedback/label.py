"""A label of one message: spam or ham, by whom, and its state."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from oborona.types import Shingle


class LabelKind(StrEnum):
    """The classes of a label."""

    SPAM = "spam"
    HAM = "ham"

    @property
    def opposite(self) -> LabelKind:
        """The other one."""
        return LabelKind.HAM if self is LabelKind.SPAM else LabelKind.SPAM


class LabelSource(StrEnum):
    """The source of a label."""

    COMMAND = "command"  # an admin's `oborona learn`
    COMPLAINT = "complaint"  # a person: this is spam
    PARDON = "pardon"  # a person: this is not spam
    TRAP = "trap"  # it came to an address that no person uses

    @property
    def report(self) -> str:
        """What people call it."""
        return _REPORTS.get(self, self.value)


_REPORTS: Final = {LabelSource.COMPLAINT: "spam report", LabelSource.PARDON: "not-spam report"}


class LabelState(StrEnum):
    """The states of a label."""

    QUEUED = "queued"  # written down, not learned yet
    LEARNED = "learned"
    # its message's text was not handed in: its pieces count, and nothing is learned
    COUNTED = "counted"
    REFUSED = "refused"  # not learned; the reason says why
    # learned once, or queued; the weights do not hold it, or soon will not
    TAKEN_BACK = "taken-back"
    # by a roll-back; a roll-back to a later snapshot puts it in place again
    SET_ASIDE = "set-aside"


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """A label as it is handed in."""

    kind: LabelKind
    source: LabelSource
    time: float  # Unix seconds, when it was said
    digest: bytes  # of the message, keyed: two copies of one message have the same
    features: bytes  # of the content model, as `Features.to_bytes` gives them; empty = unknown
    person: str = ""  # mail address, lower case; empty = the site's
    weight: float = 1.0  # how far the model that all share believes it, 0..1
    message_id: str = ""
    journal: int | None = None  # id of its entry in the journal, if its X-Mras-Id was signed by us
    pieces: tuple[Shingle, ...] = ()  # what it may count under
    voices: tuple[
        bytes, ...
        # whose word it is, as `voices.py` has them; empty = the site's own, which counts each time
    ] = ()
    event: int = 0  # id of the event that it follows from; 0 = of none
    mark: bytes = b""  # of that event's decision, from which one word follows


class RecordedLabel(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a label after it was handed in."""

    id: int  # of it, or of the one that said the same before
    new: bool  # False: the same person said the same of the same message before
    replaced: int = 0  # id of the same person's opposite word, which was taken back; 0 = none
    counted: int = 0  # on so many pieces it counts; others of its voice did before


class StoredLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A stored label, without the features of its message."""

    id: int
    time: float
    kind: LabelKind
    source: LabelSource
    person: str
    weight: float
    message_id: str
    journal: int | None
    state: LabelState
    reason: str  # of refused, taken back and set aside
    changed: float  # Unix seconds, when the state last changed
    changed_by: str
    margin: float | None  # what the model said of it before it was learned; None: not learned


class JournaledLabel(NamedTuple):
    """A label that stands, of a message that the journal may have."""

    journal: int  # id of its entry there
    kind: LabelKind
    person: str  # mail address, lower case; empty = the site's, or a trap's
    weight: float  # how far it is believed for all, 0..1
    time: float  # Unix seconds, when it was said


class LabelTally(NamedTuple):
    """How many messages of the journal people spoke of."""

    spam: int
    ham: int
    first: float  # Unix seconds, when the first and the last of these labels were said; 0 = none
    last: float

    @property
    def total(self) -> int:
        """Of both kinds."""
        return self.spam + self.ham


class TrainingExample(msgspec.Struct, frozen=True):
    """The data of a label that the learner needs."""

    id: int
    kind: LabelKind
    person: str
    weight: float
    layout: str  # of the features
    features: bytes
