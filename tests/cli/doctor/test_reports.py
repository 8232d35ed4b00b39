"""`oborona doctor` on reports by mail."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from oborona.cli.context import CliContext
from oborona.desk.doctor.report import CheckState
from oborona.desk.doctor.reports import reports
from tests.cli.doctor.test_delivery import hop


def looked(folder: Path, **settings: object) -> list[tuple[CheckState, str]]:
    sets = tuple(f"intake.{name}={value}" for name, value in settings.items())
    return [(one.state, one.words) for one in reports(CliContext(None, folder / "state", sets))]


@pytest.fixture(autouse=True)
def postfix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Postfix that knows one address."""
    for name, says in (
        ("postconf", "echo 'inline:{ { spam@b.example = lmtp:x } }, hash:/etc/postfix/transport'"),
        (
            "postmap",
            (
                'case "$2 $3" in "spam@b.example inline:{ { spam@b.example = lmtp:x } }") '
                "echo lmtp:x;; esac"
            ),
        ),
    ):
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{says}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")


def test_a_door_that_is_closed_is_no_matter(tmp_path: Path) -> None:
    assert looked(tmp_path) == []


def test_addresses_without_a_door_are_wrong(tmp_path: Path) -> None:
    ((state, words),) = looked(tmp_path, report_spam="spam@b.example")
    assert state is CheckState.FAIL
    assert "intake.mail_listen is not" in words


def test_a_door_without_addresses_takes_nothing(tmp_path: Path) -> None:
    away, nothing = looked(tmp_path, mail_listen=f"unix:{tmp_path}/reports.sock")
    assert away[0] is CheckState.WARN
    assert "reports wait in the queue" in away[1]
    assert "no address is for reports" in nothing[1]


def test_the_door_and_postfix_are_asked(tmp_path: Path) -> None:
    settings = {"mail_listen": f"unix:{tmp_path}/r.sock", "report_spam": "spam@b.example"}
    with hop(tmp_path / "r.sock", b"220 x\r\n", b"250 x\r\n"):
        door, known = looked(tmp_path, **settings)
    assert door[0] is CheckState.OK
    assert known == (CheckState.OK, "Postfix's transport_maps know the addresses of reports")
    _, missing = looked(tmp_path, **settings, report_ham="ham@b.example")
    assert missing[0] is CheckState.WARN
    assert "lead no mail for ham@b.example to us" in missing[1]
