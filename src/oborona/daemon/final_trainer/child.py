"""One training: `python -m oborona.daemon.final_trainer.child ORDERS`.

    start → behind all other work, limits → libraries, policy → confined → the round → its files
    in the work folder, the outcome last

It is started fresh and ends when it is done: the library that trains stays in no process.  It
changes nothing but its folder; what follows is its parent's.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from oborona.config.settings import PathSettings
from oborona.daemon.confinement.kinds import ProcessKind, call_grants
from oborona.daemon.confinement.memory import keep_memory_private
from oborona.daemon.confinement.prctl import prctl
from oborona.daemon.confinement.priority import step_back
from oborona.daemon.confinement.seccomp import SeccompUnavailable, install_filter
from oborona.daemon.final_trainer.training_round import TrainingRound, run_round
from oborona.errors import OboronaError
from oborona.feedback.final.train import missing_packages
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.models.final.succession import TrainingReport, told
from oborona.stores.policy_folders import policy_folders

MODEL: Final = "model"
PAGE: Final = "page.html"
OUTCOME: Final = "outcome.json"
LARGEST_FILE: Final = 128 << 20  # octets; a model has 64 MiB at most
DESCRIPTORS: Final = 256
NICENESS: Final = 19
_FAULT: Final = 4000  # characters of a traceback
_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
_PR_SET_NO_NEW_PRIVS: Final = 38


class TrainingOrders(msgspec.Struct, frozen=True, kw_only=True):
    """What a child is to do."""

    parent: int  # its pid
    state: str
    work: str  # folder for its files
    paths: PathSettings  # of the policy
    most: int  # messages
    cpu_s: int  # that it may take
    memory_bytes: int  # beside what its libraries take
    confined: bool = True


class TrainingOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a training."""

    report: TrainingReport | None = None
    fault: str = ""  # why there is none
    unfiltered: str = ""  # why the kernel filters no system calls; empty = it does


def main(orders: TrainingOrders) -> int:
    """Train, write what was found, and return the exit status."""
    _step_back(orders)
    work, unfiltered = Path(orders.work), ""
    try:
        policy = load_policy(policy_folders(orders.paths), SCHEMA)
        _load_libraries()
        unfiltered = _confine(orders)
        found = run_round(Path(orders.state), policy, most=orders.most, now=time.time())
        _write_model(work, found)
        outcome = TrainingOutcome(report=found.report, unfiltered=unfiltered)
    except OboronaError as error:
        outcome = TrainingOutcome(fault=str(error), unfiltered=unfiltered)
    except MemoryError:
        outcome = TrainingOutcome(
            fault="it needs more memory than [final_training] memory_mib", unfiltered=unfiltered
        )
    except Exception:  # noqa: BLE001 - whatever it is, the parent logs it
        outcome = TrainingOutcome(fault=traceback.format_exc()[-_FAULT:], unfiltered=unfiltered)
    (work / OUTCOME).write_bytes(msgspec.json.encode(outcome))
    return os.EX_OK


def _step_back(orders: TrainingOrders) -> None:
    """Give up what a process can do without from its first moment on."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != orders.parent:
        raise SystemExit(os.EX_TEMPFAIL)
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    with suppress(OSError):  # where memory is short, it goes first
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
    keep_memory_private()
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, LARGEST_FILE),
        (resource.RLIMIT_NOFILE, DESCRIPTORS),
        (resource.RLIMIT_CPU, orders.cpu_s),
    ):
        resource.setrlimit(limit, (most, most))
    step_back(NICENESS)


def _load_libraries() -> None:
    """Load what a training takes, as long as programs may be asked what fonts there are."""
    if not missing_packages():
        import catboost  # noqa: F401, PLC0415 - the extra `ml`

        from oborona.feedback.final import report  # noqa: F401, PLC0415


def _confine(orders: TrainingOrders) -> str:
    """Allow so much memory more than there is, and no calls but those of a trainer."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    most = pages * resource.getpagesize() + orders.memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if not orders.confined:
        return ""
    try:
        install_filter(call_grants(ProcessKind.TRAINER, os.getpid()))
    except SeccompUnavailable as error:
        return str(error)
    return ""


def _write_model(work: Path, found: TrainingRound) -> None:
    if found.training is None:
        return
    from oborona.feedback.final.report import report  # noqa: PLC0415 - the extra `ml`

    examples = [message.example for message in found.mail.messages]
    (work / MODEL).write_bytes(found.model)
    signs = [(sign, str(spam), str(ham)) for sign, (spam, ham) in found.signs.items()]
    page = report(found.training, examples, signs, _found_rows(found))
    (work / PAGE).write_text(page, "utf-8")


def _found_rows(found: TrainingRound) -> list[tuple[str, str]]:
    report, mail = found.report, found.mail
    compared = [
        ("this model", report.comparison),
        ("on the newest part of the mail", report.newest),
        ("the model in force, on mail since it was trained", report.since),
        ("the model that comes with Oborona, with all it may add", report.confirming),
        ("the same as it is now, by people's word alone", report.refuting),
    ]
    return [
        *((what, f"{one.result}: {told(one)}") for what, one in compared if one.spam + one.ham),
        ("held back by", f"{report.held_back:g} log-odds"),
        ("spoken of, and not enough is kept", f"{mail.unfit} messages"),
        ("left where they lay, like what others spoke of", f"{mail.contradicted}, not used"),
    ]


if __name__ == "__main__":
    sys.exit(main(msgspec.json.decode(sys.argv[1], type=TrainingOrders)))
