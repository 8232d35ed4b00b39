"""The training of the site's own final model: who decides and since when, what the last report
found, and when the next one is made.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from oborona import state_files
from oborona.config.final_trainer import FinalTrainingSettings
from oborona.desk.models.final_models import moment
from oborona.feedback.final.train import missing_packages
from oborona.stores.final_training_plan import TrainingPlan, training_plan, word_tally
from oborona.stores.final_training_record import TrainingRecord, read_record
from oborona.stores.site_models.turn import training_waits


class TrainingOverview(NamedTuple):
    """How the training of the site's own model does."""

    record: TrainingRecord
    plan: TrainingPlan
    overdue: bool  # it should have begun by now
    lacks: str  # what is not installed; empty = nothing
    pages: Path  # folder of its pages


def training_state(state: Path, settings: FinalTrainingSettings, now: float) -> TrainingOverview:
    """Return how the training of a site does.

    Args:
        state: the state folder.
        settings: of the training.
        now: Unix seconds.

    Raises:
        StoreError: the record or the labels can't be read.
    """
    record = read_record(state)
    plan = training_plan(settings, record, word_tally(state))
    lacks = missing_packages()
    if elsewhere := training_waits(state):
        plan, lacks = plan._replace(waits=elsewhere), ""
    return TrainingOverview(
        record, plan, not plan.waits and plan.at <= now, lacks, state / state_files.FINAL_REPORTS
    )


def when_next(training: TrainingOverview) -> str:
    """Return when the model is trained next, for people."""
    if training.plan.waits:
        return f"waits, {training.plan.waits}"
    return "now, when the machine is not busy" if training.overdue else moment(training.plan.at)


def training_data(training: TrainingOverview) -> dict[str, Any]:
    """Return what `--json` prints; names and meaning of its keys stay."""
    record, last = training.record, training.record.last
    return {
        "next_at": None if training.plan.waits else training.plan.at,
        "waits": training.plan.waits,
        "lacks": training.lacks,
        "held_by": record.held_by,
        "held_at": record.held_at,
        "failed": record.failed,
        "failed_at": record.failed_at,
        "last": None
        if last is None
        else {
            **msgspec.to_builtins(last),
            "result": last.comparison.result,
            "since_result": last.since.result,
            "confirming_result": last.confirming.result,
        },
    }
