"""What `oborona policy check` tells of traps that somebody uses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from oborona import state_files
from oborona.cli import main
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.stores.persons.store import PersonStore

NOW = 1_795_170_000.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "oborona.toml").write_text(
        '[paths]\npolicy = "p"\nshipped_policy = "none"\nstate = "state"\n'
    )
    (tmp_path / "p").mkdir()
    (tmp_path / "state").mkdir()
    (tmp_path / "p/10.toml").write_text(
        '[traps]\naddresses = ["old@b.example"]\ndomains = ["trap.example"]\n'
    )
    return tmp_path


def check(folder: Path) -> str:
    result = CliRunner().invoke(
        main, ["--config", str(folder / "oborona.toml"), "policy", "check"], catch_exceptions=False
    )
    assert result.exit_code == 0
    return result.stdout


def test_traps_that_nobody_uses_are_counted(folder: Path) -> None:
    said = check(folder)
    assert "2 traps, 0 event rules, version" in said
    assert "warning" not in said
    assert not list((folder / "state").iterdir()), "looking makes no store"


def test_an_address_that_writes_or_judges_is_no_trap(folder: Path) -> None:
    with PersonStore(folder / "state" / state_files.PERSONS) as store:
        store.strict("old@b.example", 0.8)
        store.strict("ann@b.example", 0.8)
    with EventLog(folder / "state" / state_files.EVENTS) as log:
        events = [
            FeedbackEvent(
                what=EventKind.PARDON,
                way=EventChannel.SIEVE,
                time=NOW,
                person=f"{number}@trap.example",
            )
            for number in range(30)
        ]
        log.add(events, now=NOW)
    warnings = [line for line in check(folder).splitlines() if line.startswith("warning")]
    assert warnings[0] == (
        "warning: 0@trap.example is a trap, and somebody reads mail there, or has said what is spam"
    )
    assert warnings[-1] == "warning: 11 more traps are in use"
    assert len(warnings) == 21
    (folder / "p/10.toml").write_text('[traps]\naddresses = ["old@b.example"]\n')
    assert (
        "old@b.example is a trap, and somebody writes mail from it, or has lists of their own"
        in check(folder)
    )


def test_a_broken_store_warns_of_nothing(folder: Path) -> None:
    (folder / "state" / state_files.EVENTS).write_bytes(b"no store at all" * 100)
    assert "warning" not in check(folder)
