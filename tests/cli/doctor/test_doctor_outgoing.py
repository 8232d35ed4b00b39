"""What `oborona doctor` says of outgoing mail when nobody does what is due."""

from __future__ import annotations

import os
import time
from pathlib import Path

from oborona import state_files
from oborona.accounts.excess import Excess
from oborona.accounts.excess_spool import ExcessSpool
from oborona.cli.context import CliContext
from oborona.desk.doctor.outgoing import UNTAKEN_S, outgoing
from oborona.desk.doctor.report import CheckReport, CheckState


def reports(state: Path) -> dict[str, CheckReport]:
    """The reports on a state folder, on a machine without a mail server."""
    context = CliContext(None, state, ("doors.milter.listen=",))
    return {one.what: one for one in outgoing(context, state) if one.what != "held mail"}


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_mark_that_nobody_takes_is_said_with_what_takes_it(tmp_path: Path) -> None:
    mark = tmp_path / state_files.QUEUE_DUE
    mark.touch()
    assert reports(tmp_path) == {}, "it may be taken this moment"
    age(mark, 2 * UNTAKEN_S)
    (report,) = reports(tmp_path).values()
    assert report.state is CheckState.WARN
    assert "oborona outgoing hold-banned" in report.hint


def test_excesses_that_nobody_judges_are_a_fault(tmp_path: Path) -> None:
    folder = tmp_path / state_files.EXCESSES
    excess = Excess(
        account="joe", limit="L", metric="messages", window="hour", value=9, most=1, at=time.time()
    )
    ExcessSpool(folder).take(excess)
    assert reports(tmp_path) == {}
    age(folder / "new", 3600)
    (report,) = reports(tmp_path).values()
    assert report.state is CheckState.FAIL
    assert "wait for the keeper since 1 h" in report.words
