"""`oborona outgoing hold-banned` on a machine that has no mail server, and by who is not root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona import state_files
from oborona.cli import main
from oborona.desk.outgoing import hold_queue

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="it serves root alone")


def hold_banned(state: Path) -> Result:
    words = ["--state", str(state), "account", "ban", "joe@example.com", "--reason", "stolen"]
    assert CliRunner().invoke(main, words).exit_code == 0
    (state / state_files.QUEUE_DUE).touch()
    return CliRunner().invoke(main, ["--state", str(state), "outgoing", "hold-banned"])


@needs_root
def test_where_there_is_no_mail_server_it_says_so_and_the_unit_does_not_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hold_queue, "program", lambda _name: None)
    done = hold_banned(tmp_path)
    assert (done.exit_code, done.stdout) == (69, "")
    assert "no mail server here" in done.stderr
    assert not (tmp_path / state_files.QUEUE_DUE).exists()
    unit = Path(__file__).resolve().parents[3] / "systemd/oborona-queue.service"
    assert "RestartPreventExitStatus=69\n" in unit.read_text()


def test_anybody_else_is_told_to_be_root_and_the_mark_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = hold_banned(tmp_path)
    assert done.exit_code == os.EX_NOPERM
    assert (tmp_path / state_files.QUEUE_DUE).exists()
