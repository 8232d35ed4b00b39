"""What `oborona model final status` and `oborona doctor` tell of the training of the site's own
model: who decides and since when, what the last report found, and when the next one is made.
"""

from __future__ import annotations

from oborona.cli.output import echo
from oborona.cli.terminal import plain
from oborona.desk.models.final_models import InstalledModels, moment
from oborona.desk.models.training_overview import TrainingOverview, when_next
from oborona.policy.models.final.succession import TrainingReport, told


def show_training(training: TrainingOverview, models: InstalledModels) -> None:
    """Print for people how the training does."""
    record, installed = training.record, "" if models.own is None else models.own.version
    if training.lacks:
        echo(f"it is not trained by itself: {training.lacks}")
    if record.last is not None:
        _show_report(record.last)
        echo(f"pages of the last trainings: {training.pages}")
    if record.failed:
        echo(f"the training at {moment(record.failed_at)} failed: {plain(record.failed)}")
    if record.holds(installed):
        by = f"`{record.held_by}` at {moment(record.held_at)}" if record.held_by else "a person"
        echo(
            f"what is installed was chosen by {plain(by)}: no model that trains itself takes its "
            "place (`oborona model final auto` lets it)"
        )
    echo(f"next training: {when_next(training)}")


def _show_report(last: TrainingReport) -> None:
    echo(f"last report at {moment(last.at)}, of {last.spam} spam and {last.ham} good messages")
    if last.trained:
        echo(f"  trained {last.trained}: {last.comparison.result}; {told(last.comparison)}")
    else:
        echo(f"  no model was trained: {plain(last.why_not)}")
    if last.in_force and last.since.spam + last.since.ham:
        echo(f"  in force {last.in_force}, since then: {last.since.result}; {told(last.since)}")
    if last.shipped:
        echo(
            f"  the model that comes with Oborona, with all it may add: "
            f"{last.confirming.result}; {told(last.confirming)}"
        )
