"""What `oborona doctor` says of learning: what the model was taught, whether it speaks, and whether
somebody learns.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from oborona import state_files
from oborona.daemon.trainer.process import WAITING as EVENTS_WAITING
from oborona.daemon.trainer.trainer import WORDS
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.models.final_models import STANDINGS, InstalledModels, installed_models
from oborona.desk.models.training_overview import training_state, when_next
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.feedback.label_store import LabelStore
from oborona.feedback.weights_file import WeightsFile
from oborona.policy.final_table import FinalTable
from oborona.stores.content_model import WRONG
from oborona.stores.final_model import SHIPPED_FILE
from oborona.telemetry import status


def final(context: Site) -> Iterator[CheckReport]:
    """Look at the final models, and at the workers that use them."""
    try:
        models = installed_models(context.state)
    except StoreError as error:
        yield CheckReport("final model", CheckState.FAIL, str(error))
        return
    yield _shipped(models, context.policy().final)
    yield _training(context)
    own = "" if models.own is None else models.own.version
    if models.own is not None:
        yield CheckReport("final model", CheckState.OK, f"{models.own.path}: version {own}")
    for worker in status.read_workers(context.state, time.time()):
        if worker.final_wrong:
            yield CheckReport(
                "final model", CheckState.FAIL, f"worker {worker.worker}: {worker.final_wrong}"
            )
        elif worker.final != own:
            yield CheckReport(
                "final model",
                CheckState.WARN,
                f"worker {worker.worker} does not use it yet: it looks every second",
            )


def _shipped(models: InstalledModels, table: FinalTable) -> CheckReport:
    if models.shipped is None:
        return CheckReport(
            "shipped model", CheckState.WARN, f"{SHIPPED_FILE} is missing: install Oborona again"
        )
    return CheckReport(
        "shipped model",
        CheckState.OK,
        f"version {models.shipped.version} adds at most {models.most(table):g} points; "
        f"{STANDINGS[models.standing]}",
    )


def _training(context: Site) -> CheckReport:
    settings = context.loaded.settings.final_training
    try:
        training = training_state(context.state, settings, time.time())
    except StoreError as error:
        return CheckReport("final training", CheckState.FAIL, str(error))
    if not settings.enabled:
        return CheckReport("final training", CheckState.OK, "switched off")
    if training.record.failed:
        return CheckReport(
            "final training",
            CheckState.WARN,
            f"the last one failed, what is in force stays: {training.record.failed}",
        )
    if training.lacks:
        return CheckReport("final training", CheckState.OK, f"none: {training.lacks}")
    last = training.record.last
    found = "none yet" if last is None else f"last found {last.comparison.result}"
    return CheckReport("final training", CheckState.OK, f"{found}; next: {when_next(training)}")


def model(context: Site) -> Iterator[CheckReport]:
    """Look at people's word, at the weights, and at who learns."""
    path, weights = context.state / state_files.FEEDBACK, context.state / state_files.WEIGHTS
    if not path.exists() or not weights.exists():
        yield CheckReport(
            "model",
            CheckState.WARN,
            f"{weights} is not there yet: the trainer makes it when it first starts",
        )
        return
    least = context.loaded.settings.learning.min_learned
    try:
        with LabelStore(path, make=False):
            pass
        header = WeightsFile(weights).header
    except StoreError as error:
        yield CheckReport("model", CheckState.FAIL, str(error))
        return
    spam, ham = header.spam + header.base_spam, header.ham + header.base_ham
    learned = f"{weights}: version {header.version}, trained on {spam} spam and {ham} good messages"
    if min(spam, ham) < least:
        yield CheckReport(
            "model",
            CheckState.WARN,
            f"{learned}; not in use until it is {least} of each: `oborona learn` trains it",
        )
    else:
        yield CheckReport("model", CheckState.OK, learned)
    trainer_status = status.read_process(context.state, status.TrainerStatus, time.time())
    if trainer_status is None:
        yield CheckReport("trainer", CheckState.WARN, "does not run, or not yet: reports wait")
    elif trainer_status.trouble:
        yield CheckReport(
            "trainer", CheckState.FAIL, f"can't learn, and reports wait: {trainer_status.trouble}"
        )
    else:
        waiting = sum(
            number
            for (state, _), number in WORDS.samples(trainer_status.metrics).items()
            if state == "queued"
        )
        yield CheckReport(
            "trainer", CheckState.OK, f"runs (pid {trainer_status.pid}); {waiting} labels wait"
        )
    if trainer_status is not None and trainer_status.events_trouble:
        yield CheckReport(
            "events",
            CheckState.FAIL,
            f"reports wait to be decided: {trainer_status.events_trouble}",
        )
    elif trainer_status is not None and (waiting := EVENTS_WAITING.of(trainer_status.metrics)):
        yield CheckReport("events", CheckState.WARN, f"{waiting} wait to be decided")
    for worker in status.read_workers(context.state, time.time()):
        if WRONG.of(worker.metrics):
            yield CheckReport(
                "model",
                CheckState.FAIL,
                f"worker {worker.worker} can't use the weights; its log says why",
            )
