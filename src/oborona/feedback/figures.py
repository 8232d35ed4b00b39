"""What was learned from what, in figures: for people who ask how the model does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from oborona.feedback.connection import Connection
from oborona.feedback.word import Kind, State
from oborona.policy.models.content.calibrate import Calibration
from oborona.policy.models.reliability import reliability

LAST: Final = 1000  # words that agreement is told of


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """How many words of one class and source stand as they do."""

    kind: Kind
    source: str
    state: State
    number: int


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """One person's words that stand."""

    person: str
    spam: int
    ham: int


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that were given about the same probability before anybody spoke of them."""

    low: float
    high: float
    number: int
    predicted: float  # mean probability
    happened: float  # share that people called spam


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How the model and people agreed about the last messages, each judged before it was
    learned.
    """

    number: int
    agreed: int  # probability from a half on, and people said spam; or below, and ham
    missed: int  # people said spam, and the model good mail
    wronged: int  # the other way round
    bins: tuple[Bin, ...]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    said: tuple[Said, ...]
    persons: tuple[Person, ...]  # those with the most words first
    waiting: int  # words that are not learned yet
    kept: dict[str, int]  # class → examples that the model can be made anew from
    last: float  # Unix seconds of the last word; 0: none
    agreement: Agreement


def figures(store: Connection, calibration: Calibration, *, persons: int = 10) -> Figures:
    """Return the figures of a store.

    Args:
        store: of people's word.
        calibration: of the weights in force.
        persons: to tell of, at most.

    Raises:
        StoreError: it can't be read.
    """
    said = store.rows(
        "SELECT kind, source, state, count(*) FROM word GROUP BY kind, source, state "
        "ORDER BY 1, 2, 3"
    )
    top = store.rows(
        "SELECT person, sum(kind = 'spam'), sum(kind = 'ham') FROM word WHERE person <> ''"
        " AND state IN ('queued', 'learned', 'counted') GROUP BY person ORDER BY count(*) DESC, "
        "person LIMIT ?",
        (persons,),
    )
    ((last,),) = store.rows("SELECT coalesce(max(time), 0) FROM word")
    kept = store.rows("SELECT kind, count(*) FROM example GROUP BY kind")
    margins = store.rows(
        (
            "SELECT margin, kind = 'spam' FROM word WHERE state = 'learned' AND margin IS NOT "
            "NULL ORDER BY id DESC LIMIT ?"
        ),
        (LAST,),
    )
    counted = tuple(
        Said(kind=Kind(kind), source=source, state=State(state), number=number)
        for kind, source, state, number in said
    )
    return Figures(
        said=counted,
        persons=tuple(Person(person=person, spam=spam, ham=ham) for person, spam, ham in top),
        waiting=sum(one.number for one in counted if one.state is State.QUEUED),
        kept={kind.value: 0 for kind in Kind} | dict(kept),
        last=last,
        agreement=agreement(
            [(calibration.probability(margin), bool(spam)) for margin, spam in margins]
        ),
    )


def agreement(predictions: Sequence[tuple[float, bool]]) -> Agreement:
    """Return how predictions and people's word agree.

    Args:
        predictions: probability of spam, and whether people called it spam.
    """
    missed = sum(spam and probability < 0.5 for probability, spam in predictions)
    wronged = sum(not spam and probability >= 0.5 for probability, spam in predictions)
    return Agreement(
        number=len(predictions),
        agreed=len(predictions) - missed - wronged,
        missed=missed,
        wronged=wronged,
        bins=tuple(
            Bin(
                low=one.low,
                high=one.high,
                number=one.messages,
                predicted=one.predicted,
                happened=one.happened,
            )
            for one in reliability(predictions)
        ),
    )
