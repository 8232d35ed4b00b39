"""What doctor says of stores that are not what was begun."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from oborona import state_files, store_birth
from oborona.cli import main
from oborona.daemon.state import prepare_state
from oborona.journal import rows, schema
from oborona.journal.spool import JournalSpool
from oborona.lock import hold
from tests.journal.entries import make_entry
from tests.peers.oborona import SETTINGS


def said(state: Path, what: str) -> list[tuple[str, str]]:
    """Return state and words of the checks of a name."""
    done = CliRunner().invoke(
        main, ["--config", str(SETTINGS), "--state", str(state), "doctor", "--json"]
    )
    return [
        (one["state"], one["finding"])
        for one in msgspec.json.decode(done.output)
        if one["what"] == what
    ]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    prepare_state(tmp_path / "state")
    return tmp_path / "state"


def test_stores_as_they_were_begun(state: Path) -> None:
    ((how, words),) = said(state, "stores")
    assert how == "OK"
    assert "journal.db" in words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Path.unlink, "is gone"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_bytes(b"no database" * 1000), "is damaged"),
    ],
)
def test_one_that_is_lost_or_damaged_fails_before_the_next_start(
    state: Path, change: Callable[[Path], object], words: str
) -> None:
    change(state / "reputation.db")
    ((how, found),) = said(state, "stores")
    assert how == "FAIL"
    assert words in found
    assert not list(state.glob("reputation.db.*")), "doctor changes nothing"


def test_one_that_was_lost_is_told_after_the_next_start(state: Path) -> None:
    (state / "reputation.db").unlink()
    prepare_state(state)
    ((how, found),) = said(state, "stores")
    assert how == "WARN"
    assert "lost and begun anew" in found


def test_one_of_another_site_fails(state: Path, tmp_path: Path) -> None:
    prepare_state(tmp_path / "other")
    shutil.copy(tmp_path / "other/events.db", state / "events.db")
    ((how, found),) = said(state, "stores")
    assert (how, "another site" in found) == ("FAIL", True)


def test_one_that_is_damaged_at_the_start_stays_and_fails(state: Path) -> None:
    (state / "events.db").write_bytes(b"no database" * 1000)
    prepare_state(state)
    ((how, found),) = said(state, "stores")
    assert (how, "not used" in found) == ("FAIL", True)
    (state / "events.db").unlink()
    prepare_state(state)
    ((how, found),) = said(state, "stores")
    assert (how, "lost and begun anew" in found) == ("WARN", True)
    assert store_birth.read_records(state)["events.db"].off == ""


def test_a_journal_in_which_somebody_met_damage_fails_though_it_can_be_opened(state: Path) -> None:
    schema.mark_suspect(state / "journal.db", "journal.db: is damaged (page 7)")
    assert ("FAIL", "journal.db: is damaged (page 7)") in said(state, "journal")


def left_by_a_dead_process(state: Path) -> Path:
    spool = JournalSpool(state / state_files.JOURNAL_SPOOL)
    spool.append(rows.pack(make_entry()))
    spool.close(written=False)
    (path,) = (state / state_files.JOURNAL_SPOOL).glob("*.spool")
    return path


def test_what_waits_for_the_journal_is_told_and_left_alone(state: Path) -> None:
    path = left_by_a_dead_process(state)
    octets = path.read_bytes()
    ((how, words),) = [one for one in said(state, "journal") if "wait in" in one[1]]
    assert how == "WARN"
    assert path.read_bytes() == octets
    with hold(state / "keeper.lock", "oborona keeper"):
        assert not [one for one in said(state, "journal") if "wait in" in one[1]], (
            "it is taken over"
        )
        os.utime(path, (0, 0))
        ((how, words),) = [one for one in said(state, "journal") if "wait in" in one[1]]
    assert how == "FAIL"
    assert str(state / state_files.JOURNAL_SPOOL) in words


def test_damaged_spools_are_told(state: Path) -> None:
    path = left_by_a_dead_process(state)
    path.rename(path.with_name(f"{path.name}.damaged-20261123T120000Z"))
    ((how, words),) = [one for one in said(state, "journal") if "files in" in one[1]]
    assert how == "WARN"
    assert words.startswith("1 files in ")
