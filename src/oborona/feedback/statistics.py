"""Figures about the model: how many labels of which kind were learned, and how well it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from oborona.feedback.connection import FeedbackConnection
from oborona.feedback.label import LabelKind, LabelState
from oborona.policy.models.content.calibration import Calibration
from oborona.policy.models.reliability import reliability

LAST: Final = 1000  # words that agreement is told of


class LabelCount(msgspec.Struct, frozen=True, kw_only=True):
    """The number of labels of one class, source and state."""

    kind: LabelKind
    source: str
    state: LabelState
    number: int


class PersonLabels(msgspec.Struct, frozen=True, kw_only=True):
    """The number of one person's labels in force."""

    person: str
    spam: int
    ham: int


class AgreementBin(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that had about the same probability before anybody reported them."""

    low: float
    high: float
    number: int
    predicted: float  # mean probability
    happened: float  # share that people called spam


class ModelAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How the model and people agreed about the last messages, each judged before it was
    learned.
    """

    number: int
    agreed: int  # probability from a half on, and people said spam; or below, and ham
    missed: int  # people said spam, and the model good mail
    wronged: int  # the other way round
    bins: tuple[AgreementBin, ...]


class FeedbackStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """All statistics."""

    said: tuple[LabelCount, ...]
    persons: tuple[PersonLabels, ...]  # those with the most words first
    waiting: int  # words that are not learned yet
    kept: dict[str, int]  # class → examples that the model can be made anew from
    last: float  # Unix seconds of the last word; 0: none
    agreement: ModelAgreement


def feedback_statistics(
    store: FeedbackConnection, calibration: Calibration, *, persons: int = 10
) -> FeedbackStatistics:
    """Return the figures of a store.

    Args:
        store: of people's word.
        calibration: of the weights in force.
        persons: to tell of, at most.

    Raises:
        StoreError: it can't be read.
    """
    rows = store.rows(
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
    examples = store.rows("SELECT kind, count(*) FROM example GROUP BY kind")
    margins = store.rows(
        (
            "SELECT margin, kind = 'spam' FROM word WHERE state = 'learned' AND margin IS NOT "
            "NULL ORDER BY id DESC LIMIT ?"
        ),
        (LAST,),
    )
    counted = tuple(
        LabelCount(kind=LabelKind(kind), source=source, state=LabelState(state), number=number)
        for kind, source, state, number in rows
    )
    return FeedbackStatistics(
        said=counted,
        persons=tuple(PersonLabels(person=person, spam=spam, ham=ham) for person, spam, ham in top),
        waiting=sum(count.number for count in counted if count.state is LabelState.QUEUED),
        kept={kind.value: 0 for kind in LabelKind} | dict(examples),
        last=last,
        agreement=model_agreement(
            [(calibration.probability(margin), bool(spam)) for margin, spam in margins]
        ),
    )


def model_agreement(predictions: Sequence[tuple[float, bool]]) -> ModelAgreement:
    """Return how predictions and people's word agree.

    Args:
        predictions: probability of spam, and whether people called it spam.
    """
    missed = sum(spam and probability < 0.5 for probability, spam in predictions)
    wronged = sum(not spam and probability >= 0.5 for probability, spam in predictions)
    return ModelAgreement(
        number=len(predictions),
        agreed=len(predictions) - missed - wronged,
        missed=missed,
        wronged=wronged,
        bins=tuple(
            AgreementBin(
                low=group.low,
                high=group.high,
                number=group.messages,
                predicted=group.predicted,
                happened=group.happened,
            )
            for group in reliability(predictions)
        ),
    )
