"""A made-up site: people, what they do with their mail, and who of them is believed, by the real
rules.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec

from oborona.feedback.antifraud.belief import believe
from oborona.feedback.antifraud.model import (
    Belief,
    CampaignEvent,
    CampaignRecord,
    DailyThresholds,
    EventCircumstances,
    PersonRecord,
)
from oborona.feedback.antifraud.outcome import outcomes
from oborona.feedback.antifraud.revision import revise
from oborona.feedback.antifraud.rules import ANYBODY
from oborona.feedback.antifraud.standing import (
    DAY_S,
    is_newcomer,
    is_proven,
    only_pardons,
    weight_of,
)
from oborona.feedback.antifraud.thresholds import daily_thresholds
from oborona.feedback.events.model import EventChannel, EventKind
from oborona.types import Action

SPOKEN: Final = (EventKind.COMPLAINT, EventKind.PARDON)


class Person(msgspec.Struct, kw_only=True):
    """What is remembered of a person."""

    complaints: int = 0
    pardons: int = 0
    right: float = 0.0
    wrong: float = 0.0
    first: float = 0.0
    settled: dict[str, bool] = msgspec.field(default_factory=dict)  # campaign → right

    def weight(self, without: str = "") -> float:
        """How far the person is believed, one campaign left out."""
        own = self.settled.get(without)
        return weight_of(self.right - (own is True), self.wrong - (own is False))


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What a person speaks of."""

    campaign: str
    name: str
    verdict: Action = Action.ACCEPT
    signed: bool = True
    recipient: bool = True
    asked_for: bool = False
    delivered: float = 0.0
    seen: int = 0


class Heard(msgspec.Struct, kw_only=True):
    """One event, and what became of it."""

    id: int
    what: EventKind
    way: EventChannel
    time: float
    person: str
    message: Message
    belief: Belief
    record: PersonRecord  # when it was said
    believed: bool
    taken_back: bool = False  # believed once, and by revision no more


def _speaks(one: Heard) -> bool:
    """Tell whether an event says something of its campaign, and of its person."""
    return one.what in (*SPOKEN, EventKind.TRAP) and not ANYBODY & set(one.belief.rules)


class Sums:
    """What was said of a campaign, as far as it goes.

    Args:
        heard: events in order.
    """

    def __init__(self, heard: Sequence[Heard]) -> None:
        self.begin = float("inf")
        self._events = dict.fromkeys(SPOKEN, 0)
        self._people: dict[EventKind, dict[str, Heard]] = {what: {} for what in SPOKEN}
        self._believed: dict[EventKind, dict[str, Heard]] = {what: {} for what in SPOKEN}
        self._first, self._last = dict.fromkeys(SPOKEN, 0.0), 0.0
        self._traps = self._young = self._only = 0
        self._weight = dict.fromkeys(SPOKEN, 0.0)
        self._known = self._proven = 0.0
        for one in heard:
            self.add(one)

    def add(self, one: Heard) -> None:
        """Add the next event."""
        self.begin = min(self.begin, one.time)
        self._traps += one.what is EventKind.TRAP
        if one.what not in SPOKEN:
            return
        self._events[one.what] += 1
        self._first[one.what] = self._first[one.what] or one.time
        self._last = one.time
        if (
            self._people[one.what].setdefault(one.person, one) is one
            and one.what is EventKind.PARDON
        ):
            self._young += is_newcomer(one.record, one.time)
            self._only += only_pardons(one.record)
        if one.believed and self._believed[one.what].setdefault(one.person, one) is one:
            self._weight[one.what] += one.belief.weight
            if one.what is EventKind.PARDON:
                self._proven += one.belief.weight * is_proven(one.record, one.time)
            else:
                self._known += one.belief.weight * (not is_newcomer(one.record, one.time))

    def told(self, seen: int) -> CampaignRecord:
        """Return it as antifraud is told."""
        return CampaignRecord(
            complaints=self._events[EventKind.COMPLAINT],
            pardons=self._events[EventKind.PARDON],
            complainers=len(self._people[EventKind.COMPLAINT]),
            pardoners=len(self._people[EventKind.PARDON]),
            young_pardoners=self._young,
            only_pardoners=self._only,
            traps=self._traps,
            believed_complaint_weight=self._weight[EventKind.COMPLAINT],
            known_complaint_weight=self._known,
            believed_pardon_weight=self._weight[EventKind.PARDON],
            proven_pardon_weight=self._proven,
            first=min((one for one in self._first.values() if one), default=0.0),
            last=self._last,
            first_pardon=self._first[EventKind.PARDON],
            seen=seen,
        )


class Site:
    """Hears events in order of time.

    Args:
        look_s: seconds between two looks at all that was said of a campaign.
    """

    def __init__(self, look_s: float = 0.0) -> None:
        self._look_s = look_s
        self._looked: dict[str, float] = {}
        self._sums: dict[str, Sums] = {}
        self.people: dict[str, Person] = defaultdict(Person)
        self.events: list[Heard] = []
        self.thresholds: dict[int, DailyThresholds] = {}
        self._of_person: dict[tuple[str, str], list[Heard]] = defaultdict(list)  # and campaign
        self._of_campaign: dict[str, list[Heard]] = defaultdict(list)
        self._days: dict[EventKind, dict[int, Counter[str]]] = {
            what: defaultdict(Counter) for what in SPOKEN
        }
        self._last: dict[tuple[str, str], Heard] = {}

    def hear(
        self,
        what: EventKind,
        message: Message,
        time: float,
        person: str = "",
        way: EventChannel = EventChannel.SIEVE,
    ) -> Belief:
        """Decide on an event, and on all that follows for others."""
        record = self.record(person, time)
        earlier = self._last.get((person, message.name))
        belief = believe(
            EventCircumstances(
                what=what,
                way=way,
                time=time,
                person=person,
                signed=message.signed,
                delivered=message.delivered,
                verdict=message.verdict,
                recipient=message.recipient,
                asked_for=message.asked_for,
                earlier=earlier.what if earlier else None,
                repeated=sum(
                    one.believed
                    and one.what is what
                    and one.message.name != message.name
                    and one.time > time - DAY_S
                    for one in self._of_person[message.campaign, person]
                ),
                record=record,
                campaign=self.campaign(message, time),
                thresholds=self.today(time),
            )
        )
        if belief.takes_back and earlier is not None:
            earlier.believed = False
            self._sums.pop(message.campaign, None)
        heard = Heard(
            id=len(self.events), what=what, way=way, time=time, person=person, message=message,
            belief=belief, record=record, believed=belief.counts,
        )  # fmt: skip
        self.events.append(heard)
        self._of_campaign[message.campaign].append(heard)
        self._of_person[message.campaign, person].append(heard)
        if what in SPOKEN:
            self._last[person, message.name] = heard
            self._days[what][int(time // DAY_S)][person] += 1
        self._remember(heard)
        if message.campaign in self._sums:
            self._sums[message.campaign].add(heard)
        due = time - self._looked.get(message.campaign, float("-inf")) >= self._look_s
        if belief.counts and due and what in (*SPOKEN, EventKind.TRAP):
            self._looked[message.campaign] = time
            self.look_again(message.campaign, time)
        return belief

    def look_again(self, campaign: str, now: float) -> None:
        """Take back what is not to be believed any more, and settle who was right."""
        recent = {one.id: one for one in self._recent(campaign, now)}
        told = [self._told(one) for one in recent.values() if _speaks(one)]
        gone = revise(told)
        if gone:
            self._sums.pop(campaign, None)
        for ident in gone:
            recent[ident].believed = False
            recent[ident].taken_back = True
        told = [self._told(one) for one in recent.values() if _speaks(one)]
        known = {one.person: one.right for one in outcomes(told)}
        for name in known.keys() | {one.person for one in told if one.person}:
            self._settle(self.people[name], campaign, known.get(name))

    @staticmethod
    def _settle(person: Person, campaign: str, right: bool | None) -> None:
        before = person.settled.pop(campaign, None)
        person.right += (right is True) - (before is True)
        person.wrong += (right is False) - (before is False)
        if right is not None:
            person.settled[campaign] = right

    def record(self, name: str, time: float) -> PersonRecord:
        """What is known of a person."""
        one, day = self.people.get(name, Person()), int(time // DAY_S)
        return PersonRecord(
            complaints_today=self._days[EventKind.COMPLAINT][day][name],
            pardons_today=self._days[EventKind.PARDON][day][name],
            complaints=one.complaints,
            pardons=one.pardons,
            right=one.right,
            wrong=one.wrong,
            first=one.first,
            weight=one.weight(),
        )

    def today(self, time: float) -> DailyThresholds:
        """The thresholds of a day, from the day before."""
        day = int(time // DAY_S)
        if day not in self.thresholds:
            each = [list(self._days[what][day - 1].values()) for what in SPOKEN]
            self.thresholds[day] = daily_thresholds(each[0], each[1], self.thresholds.get(day - 1))
        return self.thresholds[day]

    def campaign(self, message: Message, time: float) -> CampaignRecord:
        """What was said of messages like one in the last day."""
        sums = self._sums.get(message.campaign)
        if sums is None or sums.begin <= time - DAY_S:
            sums = self._sums[message.campaign] = Sums(self._recent(message.campaign, time))
        return sums.told(message.seen)

    def believed(self, campaign: str, what: EventKind) -> int:
        """How many events of a campaign count now."""
        return sum(one.believed and one.what is what for one in self._of_campaign[campaign])

    def _recent(self, campaign: str, now: float) -> list[Heard]:
        return [one for one in self._of_campaign[campaign] if one.time > now - DAY_S]

    def _told(self, one: Heard) -> CampaignEvent:
        known = self.people.get(one.person, Person())
        record = msgspec.structs.replace(
            one.record,
            right=known.right,
            wrong=known.wrong,
            complaints=known.complaints,
            pardons=known.pardons,
            weight=known.weight(one.message.campaign),
        )
        return CampaignEvent(
            id=one.id,
            what=one.what,
            way=one.way,
            time=one.time,
            person=one.person,
            believed=one.believed,
            record=record,
        )

    def _remember(self, heard: Heard) -> None:
        if not heard.person:
            return
        one = self.people[heard.person]
        one.first = one.first or heard.time
        if "DUPLICATE" not in heard.belief.rules:
            one.complaints += heard.what is EventKind.COMPLAINT
            one.pardons += heard.what is EventKind.PARDON
