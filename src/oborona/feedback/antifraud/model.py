"""The question and the answer of antifraud: an event's circumstances, and the belief in it."""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.feedback.events.model import EventChannel, EventKind
from oborona.types import Action

# weight of a person of whom nothing is known; ten of them make 3, which is a consensus
NEWCOMER: Final = 0.3


class DailyThresholds(msgspec.Struct, frozen=True, kw_only=True):
    """How many reports of one person on one day are normal; made by `thresholds`."""

    complaints: float
    pardons: float
    people: int  # who did either; from so many they were computed


class PersonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A person's reports until now, without the event in question."""

    complaints_today: int = 0  # since midnight UTC, believed or not
    pardons_today: int = 0
    complaints: int = 0  # ever, as far as it is kept, believed or not
    pardons: int = 0
    right: float = 0.0  # campaigns of which the person said what came out: `outcomes`
    wrong: float = 0.0
    first: float = 0.0  # Unix seconds of the first event of any kind, reads too; 0 = never
    caught: int = 0  # days of the last month on which event logs caught the person
    weight: float = NEWCOMER  # weight_of(right, wrong, caught)


class CampaignRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign's reports of the last day, without the event in question.

    Where something is believed, what does not count, or was taken back, is left out.  A weight is a
    sum over distinct persons; each has the weight and the standing of when they said it.
    """

    complaints: int = 0  # events, believed or not
    pardons: int = 0
    complainers: int = 0  # distinct persons, believed or not; so are the next three
    pardoners: int = 0
    young_pardoners: int = 0  # `standing.young`
    only_pardoners: int = 0  # `standing.only_pardons`
    traps: int = 0
    believed_complaint_weight: float = 0.0
    known_complaint_weight: float = 0.0  # believed, of persons who are not `standing.young`
    believed_pardon_weight: float = 0.0
    proven_pardon_weight: float = 0.0  # believed, of persons who are `standing.proven`
    first: float = 0.0  # Unix seconds of the first pardon or complaint; 0 = none yet
    last: float = 0.0
    first_pardon: float = 0.0  # Unix seconds; 0 = none yet
    seen: int = 0  # messages alike; 0 = unknown


class EventCircumstances(msgspec.Struct, frozen=True, kw_only=True):
    """An event, and everything that the belief in it may depend on."""

    what: EventKind
    way: EventChannel
    time: float  # Unix seconds, when it was done
    person: str = ""  # empty: nobody, all of whom are one person here
    signed: bool = False  # the id is known, and the journal has it
    delivered: float = 0.0  # Unix seconds; 0 = unknown
    # what became of it: SPAM also where the second look moved it; None = unknown
    verdict: Action | None = None
    recipient: bool = False  # the person is among the message's recipients
    # the sender is a contact or allowed, or a list whose mail the person pardoned or read for weeks
    asked_for: bool = False
    # the same person's last complaint or pardon of this very message, if it stands; of reads and
    # deletions the same
    earlier: EventKind | None = None
    # the same person's believed events of this kind about other messages of the campaign
    repeated: int = 0
    record: PersonRecord = PersonRecord()
    campaign: CampaignRecord = CampaignRecord()
    thresholds: DailyThresholds | None = None  # of today; None = none were computed yet: the floors


class Belief(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an event counts for all, how much, and why not."""

    counts: bool  # exactly where no rule fired
    weight: float  # 0..1; 0 where it does not count
    rules: tuple[str, ...] = ()  # names of those that fired: `rules.RULES`
    say: str = ""  # their evidence in words
    # the same person's earlier word of this message is taken back, even where this one does not
    # count
    takes_back: bool = False


class CampaignEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a campaign under review: complaint, pardon, trap, or the site's report.

    Where a rule of `rules.ANYBODY` fired it is left out.
    """

    id: int
    what: EventKind
    way: EventChannel
    time: float  # Unix seconds
    person: str = ""
    believed: bool = False  # it counts now
    record: PersonRecord = PersonRecord()  # of the person now; this campaign's own outcome left out


class PersonOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a person was right about a campaign, once that is known."""

    person: str
    right: bool
