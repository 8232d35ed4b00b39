"""Asks about models: what the content model was taught, how it does, and the final models."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec

from oborona import state_files
from oborona.daemon.trainer.process import WAITING
from oborona.daemon.trainer.trainer import CHANGED, LEARNED, WORDS
from oborona.desk.call import ask
from oborona.desk.labels.label_store import open_labels
from oborona.desk.models.final_models import FinalModelReport, final_report, installed_models
from oborona.desk.models.training_overview import training_data, training_state
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.feedback import snapshots
from oborona.feedback.label import LabelKind, StoredLabel
from oborona.feedback.processing.event_processor import DECIDED
from oborona.feedback.statistics import FeedbackStatistics, feedback_statistics
from oborona.feedback.training_store import TrainingStore
from oborona.feedback.weights_file import WeightsFile, WeightsHeader
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.telemetry import status as process_status

READ_BEFORE_SCOPE: Final = 10_000  # labels, of which a scope leaves some out


class ModelQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How a model does."""


class TrainerFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How the trainer does."""

    pid: int
    time: float  # Unix seconds
    version: str
    changed: float
    learned: Mapping[str, float]
    words: Mapping[str, float]
    relearning: float | None  # share of the weights that are made anew; None = none are
    trouble: str
    events: Mapping[str, float]
    events_waiting: float
    events_trouble: str


class ModelFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Who taught the content model how much, whether it is in use, and how well it does."""

    version: str
    speaks: bool
    missing: Mapping[str, int]  # messages of each kind that it has to learn first
    trouble: str  # why its weights can't be used
    weights: WeightsHeader
    trainer: TrainerFigures | None  # None = it does not run
    figures: FeedbackStatistics


class LabelsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which labels are asked for: the last ones, or a person's."""

    person: str | None = None  # empty = the site
    most: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 20


class LabelList(msgspec.Struct, frozen=True, kw_only=True):
    """Labels, the newest first."""

    labels: tuple[StoredLabel, ...]


class SnapshotFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A state that the content model can go back to."""

    id: int
    time: float  # Unix seconds
    why: str
    position: int
    epoch: int
    spam: int
    ham: int
    octets: int | None  # None = its file is gone


class SnapshotList(msgspec.Struct, frozen=True, kw_only=True):
    """States that the content model can go back to, the newest first."""

    snapshots: tuple[SnapshotFigures, ...]


@ask("model.status", Right.STATUS)
def show_model(site: Site, _caller: Caller, asked: ModelQuestion) -> ModelFigures:
    """Return what the content model was taught, and how it does."""
    assert asked is not None
    header, trouble = weights(site.state)
    with open_labels(site) as opened:
        statistics = feedback_statistics(opened, header.calibration)
    trainer = process_status.read_process(site.state, process_status.TrainerStatus, time.time())
    least = site.loaded.settings.learning.min_learned
    missing = {kind.value: max(0, least - number) for kind, number in learned(header).items()}
    return ModelFigures(
        version=header.version,
        speaks=not trouble and not any(missing.values()),
        missing=missing,
        trouble=trouble,
        weights=header,
        trainer=None if trainer is None else _trainer(trainer),
        figures=statistics,
    )


@ask("model.words", Right.TRACK, scoped=True, person=("person",))
def list_labels(site: Site, caller: Caller, asked: LabelsQuestion) -> LabelList:
    """Return the last labels, the newest first."""
    person = None if asked.person is None else asked.person.strip().lower()
    with open_labels(site) as store:
        # a label of the site is nobody's mail: who has a scope is not shown it
        found = store.last(asked.most if caller.scope.whole else READ_BEFORE_SCOPE, person)
    covered = [label for label in found if caller.scope.covers(label.person)]
    return LabelList(labels=tuple(covered[: asked.most]))


@ask("model.history", Right.STATUS)
def list_snapshots(site: Site, _caller: Caller, asked: ModelQuestion) -> SnapshotList:
    """Return the states that the content model can go back to."""
    assert asked is not None
    with open_labels(site), TrainingStore(site.state / state_files.FEEDBACK, make=False) as lessons:
        rows = lessons.snapshots()
    return SnapshotList(
        snapshots=tuple(
            SnapshotFigures(**row._asdict(), octets=_size(snapshots.path_of(site.state, row.id)))
            for row in rows
        )
    )


@ask("model.final_status", Right.STATUS)
def show_final_models(site: Site, _caller: Caller, asked: ModelQuestion) -> FinalModelReport:
    """Return the final models in force, which decides and why, and when one is trained next."""
    assert asked is not None
    training = training_state(site.state, site.loaded.settings.final_training, time.time())
    return final_report(installed_models(site.state), site.policy().final, training_data(training))


def weights(state: Path) -> tuple[WeightsHeader, str]:
    """Return what is known of the weights in force, and why they can't be used.

    Of weights that are not there, nothing.
    """
    path = state / state_files.WEIGHTS
    if not path.exists():
        return WeightsHeader(), "there are no weights yet: no trainer has run"
    try:
        return WeightsFile(path).header, ""
    except StoreError as error:
        return WeightsHeader(), str(error)


def learned(header: WeightsHeader) -> dict[LabelKind, int]:
    """Return how many messages of each kind the weights have learned."""
    return {
        LabelKind.SPAM: header.spam + header.base_spam,
        LabelKind.HAM: header.ham + header.base_ham,
    }


def _trainer(trainer: process_status.TrainerStatus) -> TrainerFigures:
    fields = trainer.metrics
    return TrainerFigures(
        pid=trainer.pid,
        time=trainer.time,
        version=trainer.version,
        changed=CHANGED.of(fields),
        learned=_joined(LEARNED.samples(fields)),
        words=_joined(WORDS.samples(fields)),
        relearning=trainer.relearning,
        trouble=trainer.trouble,
        events=_joined(DECIDED.samples(fields)),
        events_waiting=WAITING.of(fields),
        events_trouble=trainer.events_trouble,
    )


def _joined(
    samples: Mapping[tuple[str], float]
    | Mapping[tuple[str, str], float]
    | Mapping[tuple[str, str, str], float],
) -> dict[str, float]:
    return {" ".join(labels): value for labels, value in samples.items()}


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
