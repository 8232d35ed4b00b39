"""The process that has the site's own final model trained: it looks whether it is time, starts a
child that trains, and does what follows from its report.

    time, and enough is new? → the machine is not busy → child, in a folder of its own → its report
    and model, checked → record, model, choice

Whatever becomes of the child, the model in force stays until another one is found better.
In a site of several machines one trains, and what follows is in force on all.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.config import Settings
from oborona.daemon.final_trainer import child
from oborona.daemon.final_trainer.child import TrainingOrders, TrainingOutcome
from oborona.daemon.final_trainer.installation import (
    finish_interrupted,
    follow_report,
    keep_page,
    note_failure,
)
from oborona.errors import OboronaError, StoreError
from oborona.feedback.final.train import missing_packages
from oborona.heartbeat import StopSignal
from oborona.policy.models.final.file import MAX_OCTETS
from oborona.stores.final_model import read
from oborona.stores.final_training_plan import training_plan, word_tally
from oborona.stores.final_training_record import read_record
from oborona.stores.site_models.turn import training_waits
from oborona.telemetry.log import event

LOOK_S: Final = 10.0  # between looks whether it is time
BUSY_S: Final = 600.0  # before the next look at a machine that was busy
POLL_S: Final = 0.2  # between looks at a child
MEGABYTE: Final = 1 << 20
PROGRAM: Final = (sys.executable, "-P", "-m", "oborona.daemon.final_trainer.child")
LARGEST_OUTCOME: Final = 1 << 20

log = logging.getLogger("oborona.final")


def final_trainer_main(settings: Settings, state: Path, ready: Callable[[], None]) -> int:
    """Be the final trainer until SIGTERM; return the exit status.

    Args:
        settings: of the site.
        state: the state folder.
        ready: called once it runs.
    """
    stop = StopSignal()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # each training reads the policy
    trainer = FinalTrainer(settings, state, stop)
    if settings.final_training.enabled and (lacks := missing_packages()):
        event(log, logging.INFO, "no final model is trained by itself", why=lacks)
    ready()
    while not stop.is_set():
        stop.wait(trainer.step())
    return os.EX_OK


class FinalTrainer:
    """Has models trained.

    Args:
        settings: of the site.
        state: the state folder.
        stop: ends a training that runs.
        load: tasks that wait for each core.
        program: that trains, before its orders.
    """

    def __init__(
        self,
        settings: Settings,
        state: Path,
        stop: StopSignal,
        *,
        load: Callable[[], float] = lambda: os.getloadavg()[0] / (os.cpu_count() or 1),
        program: tuple[str, ...] = PROGRAM,
    ) -> None:
        self._settings = settings
        self._state = state
        self._stop = stop
        self._load = load
        self._program = program
        self._work = state / state_files.FINAL_WORK
        self._trouble = ""
        self._begun = False

    def step(self) -> float:
        """Train if it is time; return the seconds to the next look."""
        try:
            if not self._begun:
                finish_interrupted(self._state)
                self._begun = True
            plan = training_plan(
                self._settings.final_training, read_record(self._state), word_tally(self._state)
            )
            if plan.waits or time.time() < plan.at:
                return LOOK_S
            if training_waits(self._state):  # it is another machine's turn; status says whose
                return LOOK_S
            if self._load() > self._settings.final_training.busy_load:
                self._tell("it is time to train, and the machine is busy", logging.INFO)
                return BUSY_S
            self._train()
            self._trouble = ""
        except OboronaError as error:
            self._tell(str(error), logging.ERROR)
            return BUSY_S
        return LOOK_S

    def _tell(self, trouble: str, level: int) -> None:
        """Log trouble, once."""
        if trouble != self._trouble:
            event(log, level, "no final model is trained now", why=trouble)
        self._trouble = trouble

    def _train(self) -> None:
        words = word_tally(self._state).total
        began = time.monotonic()
        try:
            self._work_folder()
            fault = self._run_child()
            if self._stop.is_set():
                return
            outcome = TrainingOutcome(fault=fault) if fault else self._outcome()
            if outcome.unfiltered:
                why = outcome.unfiltered
                event(log, logging.WARNING, "system calls are not filtered", why=why)
            if outcome.report is None:
                raise StoreError(outcome.fault or "the training left no report")
            model = read(self._work / child.MODEL) if outcome.report.trained else b""
            follow_report(self._state, outcome.report, model or b"", words=words)
            self._keep_page(outcome.report.at)
            event(
                log,
                logging.INFO,
                "final model trained" if outcome.report.trained else "no final model was trained",
                version=outcome.report.trained or "none",
                why=outcome.report.why_not,
                spam=outcome.report.spam,
                ham=outcome.report.ham,
                result=outcome.report.comparison.result,
                took_s=round(time.monotonic() - began, 1),
            )
        except OboronaError as error:
            with suppress(StoreError):  # the site's log may be away, or the turn over
                note_failure(self._state, str(error), time.time())
            raise
        finally:
            shutil.rmtree(self._work, ignore_errors=True)

    def _work_folder(self) -> None:
        try:
            shutil.rmtree(self._work, ignore_errors=True)
            self._work.mkdir(mode=0o700)
        except OSError as error:
            raise StoreError(f"{self._work}: {error.strerror}") from error

    def _run_child(self) -> str:
        """Run a child to its end; return why it came to none, empty if it did."""
        settings = self._settings.final_training
        orders = TrainingOrders(
            parent=os.getpid(),
            state=str(self._state),
            work=str(self._work),
            paths=self._settings.paths,
            most=settings.messages,
            cpu_s=int(settings.minutes * 60 * 2) + 1,
            memory_bytes=settings.memory_mib * MEGABYTE,
            confined=self._settings.confine.system_calls,
        )
        try:
            process = subprocess.Popen(  # noqa: S603 - a program of ours, orders of ours
                [*self._program, msgspec.json.encode(orders).decode()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=_environment(self._work),
            )
        except OSError as error:
            return f"no process to be had: {error.strerror}"
        until = time.monotonic() + settings.minutes * 60
        while process.poll() is None:
            late = time.monotonic() >= until
            if late or self._stop.wait(POLL_S):
                process.kill()
                process.wait()
                return f"it took longer than {settings.minutes:g} minutes" if late else ""
        if process.returncode < 0:
            return f"the training was ended by {signal.Signals(-process.returncode).name}"
        return "" if not process.returncode else f"it ended with status {process.returncode}"

    def _outcome(self) -> TrainingOutcome:
        try:
            with (self._work / child.OUTCOME).open("rb") as file:
                octets = file.read(LARGEST_OUTCOME)
            return msgspec.json.decode(octets, type=TrainingOutcome)
        except (OSError, ValueError) as error:
            raise StoreError(f"the training left no outcome: {error}") from error

    def _keep_page(self, at: float) -> None:
        octets = read(self._work / child.PAGE)
        if octets is not None and len(octets) <= MAX_OCTETS:
            page = octets.decode("utf-8", "replace")
            keep_page(self._state, page, at=at, most=self._settings.final_training.reports)


def _environment(work: Path) -> dict[str, str]:
    """Return the environment of a child: what it writes beside its outcome goes to its folder."""
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "PATH") if name in os.environ}
    return {**kept, "HOME": str(work), "TMPDIR": str(work), "MPLCONFIGDIR": str(work)}
