"""What the rows of a log of events say of a row and its person, as rules name it.

How each is calculated for a table: `oborona.eventlog.rules.facts`.
"""

from __future__ import annotations

from typing import Final

from oborona.policy.expression import Fact
from oborona.policy.expression.schema import FactFamily
from oborona.types import Stage

PERSON_FACTS: Final = (
    Fact(
        name="time.now",
        type=float,
        stage=Stage.CONNECT,
        doc="When the event happened, by its own time; hour() and weekday() tell it by a time "
        "zone. none: not known, before 1970, or from 2100 on.",
        unit="Unix seconds",
        example=1_700_000_000.0,
        optional=True,
    ),
    Fact(
        name="duplicate",
        type=bool,
        stage=Stage.CONNECT,
        doc="The same event (equal key) of an earlier time is known; of equal times the one that "
        "came first is the first.",
        example=False,
    ),
    Fact(
        name="person.kinds",
        type=int,
        stage=Stage.CONNECT,
        doc="Distinct kinds of events of the person in the day.",
        example=2,
    ),
    Fact(
        name="person.abnormal",
        type=bool,
        stage=Stage.CONNECT,
        doc="The person has more events of some kind in the day than the threshold of that kind.",
        example=False,
    ),
    Fact(
        name="person.gap",
        type=float,
        stage=Stage.CONNECT,
        doc="Time since the person's event before this one, of any kind, by time and then id; "
        "none: there is none in the day.",
        unit="seconds",
        example=0.25,
        optional=True,
    ),
    Fact(
        name="person.minute",
        type=int,
        stage=Stage.CONNECT,
        doc="Events of the person in the 60 seconds up to this one, itself and those of the same "
        "time included.",
        example=1,
    ),
    Fact(
        name="person.score",
        type=float,
        stage=Stage.CONNECT,
        doc="What a model of persons says of the person; none: no model has judged them.",
        unit="share 0 to 1",
        example=0.97,
        optional=True,
    ),
)
"""What the rows of a log say of a row and its person."""


def person_families(events: tuple[str, ...], counted: tuple[str, ...]) -> tuple[FactFamily, ...]:
    """Return what the rows of a log say of a person, by kind of event or column.

    Args:
        events: all kinds.
        counted: columns whose distinct values are counted.
    """
    return (
        FactFamily(
            name="person.day",
            members=events,
            type=int,
            stage=Stage.CONNECT,
            doc="Events of this kind by the person in the day.",
            example=3,
        ),
        FactFamily(
            name="person.since",
            members=events,
            type=float,
            stage=Stage.CONNECT,
            doc="Time since the person's event of this kind before this row, by time and then id; "
            "none: there is none in the day.",
            unit="seconds",
            example=90.0,
            optional=True,
        ),
        FactFamily(
            name="person.distinct",
            members=counted,
            type=int,
            stage=Stage.CONNECT,
            doc="Distinct values of this column in the person's events of the day, without none: "
            "devices, addresses.",
            example=1,
        ),
        FactFamily(
            name="threshold",
            members=events,
            type=float,
            stage=Stage.CONNECT,
            doc="Events of this kind in a day from which on a person is abnormal; none: there is "
            "no threshold yet.",
            example=300.0,
            optional=True,
        ),
    )
