"""RepEntity: what the counters' base records say of up to a hundred entities of one message, and of
whoever stands behind it; quick.

A base record is what every scan reads of a piece: four windows of six metrics.  What speaks against
it counts in full for the last day and a quarter for the two weeks before
(`oborona.reputation.evidence` has the weights):

    bad    = (spam - pardons) + 5 complaints + 10 traps      last day + (two weeks - last day) / 4
    good   = messages that were no spam, less those complained of and trapped, + 5 pardons
           two weeks, without `own`
    own    = of the last day's good messages those of the sender who is judged: nobody has had time
           to say what they were
    tried  = good, without all messages of the last day
    share  = (bad + 2) / (bad + good + 4)               expected share of bad mail
    trust  = 100 n (good - bad) / (n + 4)^2             n = bad + good: share, drawn to 0 where
           there is little to go by;
             above 0 of `tried` instead of good, times tried / (tried + 20): nobody is good at once,
             and nobody by what came today

Trust never falls with a further pardon or an older good message, and never rises with a further
spam verdict, complaint or trap hit, or with a good message of the sender's own within the last day.

Of a message's entities the worst one speaks.  None speaks for it: anybody can link to a good site.
A domain that many senders share (a shortener, a place for everybody's files) is not judged, nor is
a host of it: known ones by their names, others by their past: in the days before today
`SHARED_SENDERS` different authors linked to it, and a fifth of that mail, 20 messages at least, was
good, less 5 for a complaint and 10 for a trap.  The links to it are judged each.

Sudden: today `SUDDEN_SEEN` messages of `SUDDEN_SENDERS` authors and more link to a domain, ten
times an average day of the two weeks before. Fresh: a domain that nobody here linked to before the
last day.

Source: Beta-binomial model, as of `oborona.reputation.address`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

import msgspec

from oborona.reputation.evidence import PRIOR, TRAPS_LEAST, ReportWeight, margin
from oborona.reputation.flag import ReputationFlag
from oborona.types import Metric, Window

Row = Sequence[Sequence[int]]
"""[Window][Metric]"""

MAX_ENTITIES: Final = 100  # of one message
OLD: Final = 0.25  # weight of bad evidence from before the last day
SLOW: Final = 20.0  # good messages at which half of it is believed
ALL: Final = 1 << 62  # messages: all of the last day are the sender's own
SHARED_SENDERS: Final = 30  # authors a day, added up over the days before
SHARED_GOOD: Final = 20  # messages
SUDDEN_SEEN: Final = 50  # messages of the last day
SUDDEN_SENDERS: Final = 20  # authors of the last day
SUDDEN_TIMES: Final = 10.0  # average days
BAD_LEAST: Final = 10.0  # messages, by weight
BAD_LOW: Final = 0.8  # share of bad mail, the low end of what is to be expected
POOR_LEAST: Final = 3.0
POOR_LOW: Final = 0.4
GOOD_LEAST: Final = 20.0
GOOD_HIGH: Final = 0.1  # the high end
TOLD: Final = 3  # entities that are named

_SEEN, _SPAM, _COMPLAINTS, _TRAPS = map(
    int, (Metric.SEEN, Metric.SPAM, Metric.COMPLAINTS, Metric.TRAPS)
)
_COMPLAINT, _TRAP, _PARDON = ReportWeight.COMPLAINT, ReportWeight.TRAP, ReportWeight.PARDON
# what was complained of is no good message
_COMPLAINED, _TRAPPED = int(_COMPLAINT) + 1, int(_TRAP) + 1
_BAD: Final = ReputationFlag.BAD  # an enum's member is looked up in Python
_DAY, _FORTNIGHT = int(Window.DAY), int(Window.FORTNIGHT)


class EntityStanding(NamedTuple):
    """What is to be expected of one entity."""

    flag: ReputationFlag = ReputationFlag.UNKNOWN
    trust: float = 0.0  # points, -100 to 100
    share: float = 0.5  # expected share of bad mail
    said: str = ""  # the evidence, where somebody has said it; empty = it is what was counted
    counts: Sequence[int] = ()  # of two weeks, [Metric]

    @property
    def say(self) -> str:
        """The evidence in words; empty where there is none. Put together only where it is told."""
        return self.said or (words(self.counts) if self.counts else "")


class EntityGroup(NamedTuple):
    """The entities of one sort in a message."""

    kind: int  # of their shingles
    word: str  # what they are, for people: link domain, telephone
    rows: Sequence[Row]
    linked: bool = False  # they are the domains of links
    senders: Sequence[Row] = ()  # distinct authors that link to the first of them
    pinned: Mapping[int, EntityStanding] = {}  # an analyst's word, by place


Name = Callable[[int, int], str]
"""Returns the name of an entity by its kind and place; empty where it is not known."""
Shared = Callable[[int, int], bool]
"""Tells whether good and bad mail share an entity by its nature."""


class RepEntity(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of a message's entities."""

    flag: ReputationFlag = ReputationFlag.UNKNOWN  # of the worst one
    worst: float = 0.0  # its trust, -100 to 0
    bad: int = 0  # how many are bad
    sudden: int = 0  # link domains that came out of nothing
    fresh: int = 0  # link domains that nobody linked to before the last day
    say: str = ""  # the worst ones, in words


def standing(row: Row, own: int = 0) -> EntityStanding:
    """Return what a base record says; of one that counted nothing, nothing.

    Args:
        row: of an entity.
        own: good messages of the last day, of the sender who is judged, which speak for nobody;
            `ALL` where the entity is the sender.
    """
    fortnight = row[_FORTNIGHT]
    if not any(fortnight):
        return _NOTHING
    bad, good = _evidence(row, own)
    share = (bad + PRIOR / 2) / (bad + good + PRIOR)
    trust, flag = _trust(bad, good), _flag(bad, good)
    if trust > 0:
        tried = _older_good_mail(row)
        trust = max(0.0, _trust(bad, tried)) * tried / (tried + SLOW)
        if flag is ReputationFlag.GOOD and (tried < GOOD_LEAST or trust == 0):
            flag = ReputationFlag.UNKNOWN
    return EntityStanding(flag, trust, share, counts=fortnight)


def judge(sorts: Iterable[EntityGroup], name: Name, shared: Shared, own: int = 0) -> RepEntity:
    """Return the judgement of a message's entities, the first `MAX_ENTITIES` of them.

    Args:
        sorts: those that tell most come first.
        name: asked of those that are told.
        shared: asked of those that something speaks against.
        own: as of `standing`.
    """
    sudden = fresh = bad = 0
    suspects: list[
        tuple[float, EntityGroup, int]
    ] = []  # trust of those that something speaks against, and where they are
    came: list[str] = []
    room = MAX_ENTITIES
    for sort in sorts:
        rows = sort.rows if len(sort.rows) <= room else sort.rows[:room]
        room -= len(rows)
        # of a hundred entities hardly any has anything against it: this loop is most of the work
        for place, row in enumerate(rows):
            seen, spam, complaints, _, _, traps = row[_FORTNIGHT]
            if not (spam or complaints or traps):
                continue
            if 2 * spam + _COMPLAINED * complaints + _TRAPPED * traps <= seen - own:
                continue  # more good than bad, even if all of it were of today
            against, good = _evidence(row, own)
            if against > good and place not in sort.pinned and not shared(sort.kind, place):
                bad += against >= BAD_LEAST and _flag(against, good) is _BAD
                suspects.append((_trust(against, good), sort, place))
        for place, pinned in sort.pinned.items():
            if pinned.trust < 0 and place < len(rows):
                bad += pinned.flag is _BAD
                suspects.append((pinned.trust, sort, place))
        if sort.linked:
            for place, row in enumerate(rows):
                today = row[_DAY][_SEEN]
                fresh += row[_FORTNIGHT][_SEEN] <= today
                if today >= SUDDEN_SEEN and is_sudden(row, _of(sort.senders, place)):
                    sudden += 1
                    came.append(_sudden_note(sort, place, name))
    if not (suspects or sudden or fresh):
        return CLEAR
    suspects.sort(key=_BY_TRUST)
    says = [
        f"{_heading(sort, place, name)} {pin.say if (pin := sort.pinned.get(place)) else words(sort.rows[place][_FORTNIGHT])}"
        for _, sort, place in suspects[:TOLD]
    ]
    return RepEntity(
        flag=_flag_of(*suspects[0][1:], own) if suspects else ReputationFlag.UNKNOWN,
        worst=suspects[0][0] if suspects else 0.0,
        bad=bad,
        sudden=sudden,
        fresh=fresh,
        say="; ".join([*says, *came[:TOLD]]),
    )


def is_shared(row: Row, senders: Row) -> bool:
    """Tell whether many use a domain beside each other, by its past.

    Args:
        row: messages that link to it.
        senders: distinct authors that do.
    """
    day, fortnight = row[_DAY], row[_FORTNIGHT]
    before = senders[_FORTNIGHT][_SEEN] - senders[_DAY][_SEEN]
    good = _passed(fortnight) - _passed(day)
    return before >= SHARED_SENDERS and good >= max(SHARED_GOOD, fortnight[_SEEN] / 5)


def _passed(counts: Sequence[int]) -> float:
    """Return how much mail was good, by weight: what people complain of is shared by nobody."""
    return counts[_SEEN] - counts[_SPAM] - _COMPLAINT * counts[_COMPLAINTS] - _TRAP * counts[_TRAPS]


def is_sudden(row: Row, senders: Row) -> bool:
    """Tell whether a domain came out of nothing: see above for the arguments and the bounds."""
    today = row[_DAY][_SEEN]
    return (
        today >= SUDDEN_SEEN
        and senders[_DAY][_SEEN] >= SUDDEN_SENDERS
        and today * 13 >= SUDDEN_TIMES * (row[_FORTNIGHT][_SEEN] - today)
    )


def words(counts: Sequence[int]) -> str:
    """Return what two weeks counted: `390 spam of 400, 3 complaints`."""
    seen, spam, complaints, pardons, _, traps = counts
    text = f"{spam} spam of {seen}"
    if complaints:
        text += f", {complaints} complaints"
    if traps:
        text += f", {traps} traps"
    return f"{text}, {pardons} not-spam reports" if pardons else text


def _evidence(row: Row, own: int = 0) -> tuple[float, float]:
    """Return what speaks against an entity and for it, in messages."""
    # by place and without a call: this is asked of each entity that something speaks against
    seen, spam, complaints, pardons, _, traps = row[_FORTNIGHT]
    fine = seen - spam - complaints - traps
    good_pardons = _PARDON * pardons
    trap = _TRAP if traps >= TRAPS_LEAST else 0.0
    whole = (spam - pardons if spam > pardons else 0) + _COMPLAINT * complaints + trap * traps
    seen, spam, complaints, pardons, _, traps = row[_DAY]
    if own:
        fine -= min(own, max(0, seen - spam))
    today = (spam - pardons if spam > pardons else 0) + _COMPLAINT * complaints + trap * traps
    return (today + OLD * (whole - today) if whole > today else today), max(0, fine) + good_pardons


def _older_good_mail(row: Row) -> float:
    """Return how much good mail is older than a day, what people took out of the spam folder
    included.
    """
    seen, spam, complaints, pardons, _, traps = row[_FORTNIGHT]
    fine = seen - spam - complaints - traps
    seen, spam, *_ = row[_DAY]
    return max(0, fine - max(0, seen - spam)) + _PARDON * pardons


def _trust(bad: float, good: float) -> float:
    total = bad + good
    return 100 * total * (good - bad) / (total + PRIOR) ** 2


def _flag(bad: float, good: float) -> ReputationFlag:
    if bad < POOR_LEAST and good < GOOD_LEAST:
        return ReputationFlag.UNKNOWN
    share = (bad + PRIOR / 2) / (bad + good + PRIOR)
    sure = margin(share, bad + good)
    if bad >= BAD_LEAST and share - sure >= BAD_LOW:
        return ReputationFlag.BAD
    if bad >= POOR_LEAST and share - sure >= POOR_LOW:
        return ReputationFlag.POOR
    return (
        ReputationFlag.GOOD
        if good >= GOOD_LEAST and share + sure <= GOOD_HIGH
        else ReputationFlag.UNKNOWN
    )


CLEAR: Final = RepEntity()
"""Nothing is known against any."""

_NOTHING: Final = EntityStanding()
_BY_TRUST: Final = itemgetter(0)
_NONE: Final[Row] = ((0,) * len(Metric),) * len(Window)


def _of(senders: Sequence[Row], place: int) -> Row:
    return senders[place] if place < len(senders) else _NONE


def _flag_of(sort: EntityGroup, place: int, own: int) -> ReputationFlag:
    pin = sort.pinned.get(place)
    return pin.flag if pin else _flag(*_evidence(sort.rows[place], own))


def _heading(sort: EntityGroup, place: int, name: Name) -> str:
    label = name(sort.kind, place)
    return f"{sort.word} {label}:" if label else f"{sort.word}:"


def _sudden_note(sort: EntityGroup, place: int, name: Name) -> str:
    day, fortnight = sort.rows[place][_DAY], sort.rows[place][_FORTNIGHT]
    authors = _of(sort.senders, place)[_DAY][_SEEN]
    before = fortnight[_SEEN] - day[_SEEN]
    return (
        f"{_heading(sort, place, name)} {day[_SEEN]} today from {authors} authors, {before} "
        f"in two weeks before"
    )
