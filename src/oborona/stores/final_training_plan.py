"""When the site's own final model is trained next, and what it waits for."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from oborona import state_files
from oborona.config.final_trainer import FinalTrainingSettings
from oborona.feedback.label import LabelTally
from oborona.feedback.label_store import LabelStore
from oborona.stores.final_training_record import TrainingRecord

HOUR_S: Final = 3600.0
DAY_S: Final = 86_400.0
NOTHING: Final = LabelTally(0, 0, 0.0, 0.0)


class TrainingPlan(NamedTuple):
    """When it is trained next."""

    at: float  # Unix seconds: not before
    waits: str  # for what, beside that time; empty = for nothing


def training_plan(
    settings: FinalTrainingSettings, record: TrainingRecord, words: LabelTally
) -> TrainingPlan:
    """Return when the model is trained next: pure.

    Args:
        settings: of the training.
        record: of what was found until now.
        words: messages that people spoke of.
    """
    at = record.tried_at + settings.hours * HOUR_S if record.tried_at else 0.0
    if not settings.enabled:
        return TrainingPlan(at, "it is switched off ([final_training] enabled)")
    if words.spam < settings.least_messages:
        return TrainingPlan(
            at,
            f"people have spoken of {words.spam} messages of spam that the journal has: "
            f"{settings.least_messages} are the least",
        )
    days = (words.last - words.first) / DAY_S
    if days < settings.least_days:
        return TrainingPlan(
            at, f"they spoke within {days:.1f} days: {settings.least_days:g} are the least"
        )
    new = words.total - record.words
    # fewer than before: words were taken back, or are forgotten
    if record.reports and 0 <= new < settings.least_new:
        return TrainingPlan(
            at,
            f"people have spoken of {new} messages since the last: {settings.least_new} are "
            "the least",
        )
    return TrainingPlan(at, "")


def word_tally(state: Path) -> LabelTally:
    """Return of how many messages of the journal people spoke; none where nobody ever did.

    Raises:
        StoreError: the store can't be read.
    """
    if not (state / state_files.FEEDBACK).exists():
        return NOTHING
    with LabelStore(state / state_files.FEEDBACK, make=False) as store:
        return store.tally()
