"""The trainer as a process: it decides on feedback as soon as it is written down, learns from
it, counts its pieces, and writes its status.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.config import Settings
from oborona.counters.write_only import WriteOnlyCounters
from oborona.daemon.trainer.apprentice import follow_trainer
from oborona.daemon.trainer.process import EventProcessorRunner
from oborona.daemon.trainer.turn import TrainerTurn
from oborona.doorbell import LOOK_S, RUNG, FileNotices
from oborona.errors import StoreError, StoreVersion
from oborona.feedback.label_counter import LabelCounter
from oborona.feedback.trainer import Trainer
from oborona.feedback.weights_rebuild import WeightsRebuild
from oborona.heartbeat import StopSignal, beat
from oborona.metrics import REGISTRY, Gauge
from oborona.stores.counters import open_spooled
from oborona.stores.final_training_record import read_record
from oborona.telemetry import status
from oborona.telemetry.log import event

TROUBLE_S: Final = 10.0  # before the next attempt
SHARED_TROUBLE_S: Final = 2.0  # the same in a site of several machines: another may wait for it
NAME: Final = "trainer"
DAY_S: Final = 86_400.0
UP: Final = Gauge("oborona_trainer_up", "1 while the trainer runs.", ())
WORDS: Final = Gauge(
    "oborona_model_words",
    "Labels (spam, ham) by what became of them and what they say; queued: not learned yet.",
    ("state", "kind"),
)
LEARNED: Final = Gauge(
    "oborona_model_learned", "Messages that the weights of the content model stand on.", ("kind",)
)
CHANGED: Final = Gauge(
    "oborona_model_changed_seconds",
    "When the weights of the content model last changed, Unix time; 0: never.",
    (),
)
RELEARNING: Final = Gauge(
    "oborona_model_relearning",
    "1 while the weights are computed again because labels were taken back.",
    (),
)

FINAL_TRAINED: Final = Gauge(
    "oborona_final_trained_seconds",
    "When the training of the site's own final model last made a report, Unix time; 0: never.",
    (),
)
FINAL_FAILED: Final = Gauge(
    "oborona_final_training_failed",
    "1 while the last training of the site's own final model came to no end.",
    (),
)
FINAL_RESULT: Final = Gauge(
    "oborona_final_training_result",
    (
        "What the last report found of the model that was trained (better, same, worse, few) "
        "against what stands without it: 1."
    ),
    ("result",),
)

log = logging.getLogger("oborona.trainer")


def trainer_main(settings: Settings, state: Path, site: str, ready: Callable[[], None]) -> int:
    """Be the trainer until SIGTERM; return the exit status.

    Args:
        settings: of the site.
        state: the state folder.
        site: our authserv-id.
        ready: called once it runs.

    Raises:
        StoreVersion: the store was written by a newer Oborona.
    """
    stop = StopSignal()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it reads no policy
    with ExitStack() as closings:
        closings.callback(status.remove_process, state, status.TrainerStatus)
        counters = open_spooled(settings, state, NAME)
        closings.callback(_close, counters)
        turn = closings.enter_context(TrainerTurn(state))
        believing = EventProcessorRunner(settings, state, site, turn)
        closings.callback(believing.close)
        counting = LabelCounter(counters)
        UP.set(1)
        ready()
        trouble = ""
        while not stop.is_set():
            try:
                begun = None
                if not turn.is_mine():
                    begun = follow_trainer(
                        settings,
                        state,
                        believing,
                        stop,
                        lambda: _write(state, _trainer_status(believing, trouble=turn.trouble)),
                    )
                if not turn.is_mine():  # told to stop, or lost again
                    if begun is not None:
                        begun.lessons.close()
                    continue
                with_trainer(
                    settings,
                    state,
                    counting,
                    believing,
                    stop,
                    begun=begun,
                    recovered=bool(trouble),
                )
                trouble = ""
            except StoreVersion:
                raise
            except StoreError as error:
                if str(error) != trouble:
                    event(
                        log,
                        logging.ERROR,
                        "nothing is learned, the weights stay as they are",
                        error=error,
                    )
                trouble = str(error)
                _write(state, _trainer_status(believing, trouble=trouble))
                stop.wait(SHARED_TROUBLE_S if turn.is_shared else TROUBLE_S)
    return os.EX_OK


def _close(counters: WriteOnlyCounters) -> None:
    try:
        counters.close()
    except StoreError as error:
        event(log, logging.ERROR, "the last counts may be lost", error=error)


def with_trainer(
    settings: Settings,
    state: Path,
    counting: LabelCounter,
    believing: EventProcessorRunner,
    stop: StopSignal,
    *,
    begun: WeightsRebuild | None,
    recovered: bool,
) -> None:
    """Learn until told to stop, or until it is another machine's turn.

    Raises:
        StoreError: a store can't be used.
    """
    turn = believing.turn

    def goes_on() -> None:
        beat()
        if turn.is_shared:  # those who wait for it on all machines hear of it in time
            believing.step()

    trainer = Trainer(
        state,
        begun=begun,
        hold=turn.hold,
        kept=settings.learning.kept,
        retention_s=settings.learning.retention_days * DAY_S,
        goes_on=goes_on,
    )
    notices = FileNotices()
    try:
        if recovered:
            event(log, logging.WARNING, "learning goes on")
        report_at, counting_trouble, relearned = 0.0, "", False
        while not stop.is_set() and turn.is_mine():
            notices.drain()  # before the looks: what comes meanwhile is heard after them
            for name in (state_files.EVENTS, state_files.FEEDBACK):
                notices.add(state / name, RUNG)
            busy = believing.step()
            busy |= trainer.step()
            try:
                busy |= bool(counting.step(trainer.lessons, time.time()))
                counting_trouble = ""
            except StoreError as error:  # of the counters: learning goes on
                if str(error) != counting_trouble:
                    event(log, logging.ERROR, "labels wait to be counted", error=error)
                counting_trouble = str(error)
            over = relearned and trainer.relearning is None  # who waited for it looks now
            relearned = trainer.relearning is not None
            if over or time.monotonic() >= report_at:
                write_trainer_status(state, trainer, believing)
                report_at = time.monotonic() + status.WRITE_S
            if not busy:
                stop.wait_for(notices.fileno(), LOOK_S)
    finally:
        notices.close()
        trainer.close()


def write_trainer_status(state: Path, trainer: Trainer, believing: EventProcessorRunner) -> None:
    """Write what the trainer has to say of itself."""
    header = trainer.header
    WORDS.replace(trainer.lessons.by_state())
    LEARNED.set(header.spam, "spam")
    LEARNED.set(header.ham, "ham")
    CHANGED.set(header.time)
    RELEARNING.set(trainer.relearning is not None)
    _tell_final_training(state)
    _write(state, _trainer_status(believing, version=header.version, relearning=trainer.relearning))


def _tell_final_training(state: Path) -> None:
    """Set what the record of the final trainer says, which has no status of its own."""
    try:
        record = read_record(state)
    except StoreError:  # the final trainer and doctor say so
        return
    last = record.last
    FINAL_TRAINED.set(0.0 if last is None else last.at)
    FINAL_FAILED.set(bool(record.failed))
    FINAL_RESULT.replace({(last.comparison.result.value,): 1} if last and last.trained else {})


def _trainer_status(
    believing: EventProcessorRunner,
    *,
    version: str = "",
    relearning: float | None = None,
    trouble: str = "",
) -> status.TrainerStatus:
    return status.TrainerStatus(
        pid=os.getpid(),
        time=time.time(),
        metrics=REGISTRY.snapshot(),
        version=version,
        relearning=relearning,
        trouble=trouble,
        events_trouble=believing.trouble,
    )


def _write(state: Path, report: status.TrainerStatus) -> None:
    try:
        status.write_status(state, report)
    except StoreError as error:
        event(log, logging.WARNING, "no status for metrics", error=error)
