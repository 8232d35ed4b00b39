"""A machine's state is moved into a site and back: killed anywhere, the same command goes on,
and what is there afterwards is what was, row by row.

    python -m tests.replication.test_membership_kills STEP

kills at each STEPth point of all three.
"""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona import state_files
from oborona.accounts.account import AccountRecord
from oborona.cli import main as cli_main
from oborona.daemon.site import membership
from oborona.daemon.site.departure import leave_site
from oborona.daemon.site.membership import MembershipError, begin_site
from oborona.daemon.site.move_share import SiteMoveShare
from oborona.daemon.site.snapshot import take_snapshot
from oborona.daemon.site.store_check import check_stores
from oborona.daemon.site.unfinished_step import read_unfinished
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.spool import FeedbackSpool
from oborona.recheck.moves import MoveDecision, MoveStore
from oborona.recheck.site_moves import SiteMoveStore
from oborona.replication.link import COMMON, link_path, read_link
from oborona.replication.log import ReplicationLog
from tests.peers.postgresql import Postgresql
from tests.replication.account_machine import NOW, AccountMachine
from tests.replication.machines import dump, new_state, persons, two_machines
from tests.replication.site_machine import trapped

ROOT = Path(__file__).resolve().parents[2]
PERSONS = 60
POINTS = (3, 17, 31, 44, 52, 60, 68, 76, 84, 92, 100)


def fill(state: Path) -> None:
    """Write into three stores of a machine."""
    with persons(state) as store:
        for number in range(PERSONS):
            store.written({f"p{number}@b.example": [f"x{number}@c.example"]}, now=float(number))
    with EventLog(state / state_files.EVENTS) as events:
        events.add([trapped(number) for number in range(8)], now=NOW)
    known = [AccountRecord(id=f"u{number}", logins=(), since=NOW) for number in range(20)]
    AccountMachine(state).ask(lambda store: store.put(known, by="anna", now=NOW))


def contents(state: Path) -> dict[str, list[str]]:
    """Return each row of a machine's common stores, but how far they are in a site."""
    return {
        name: [line for line in dump(state, name) if "replica" not in line]
        for name in COMMON
        if (state / name).exists() and name != state_files.SITE_MODELS
    }


def run_program(state: Path, act: str, address: str, point: int) -> int:
    """Have a process do it, which dies at a point; return how it ended."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.replication.membership_program",
            *(str(state), act, address, state.name, str(point)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def moved(root: Path, postgresql: Postgresql, act: str, point: int) -> bool:
    """Kill one at a point, say it again, and look; return whether it was killed."""
    first = new_state(root / "mx1")
    fill(first)
    target, wanted = first, contents(first)
    if act != "begin":
        begin_site(first, postgresql.address, "mx1", "1")
    if act == "join":
        target = new_state(root / "mx2")
        with persons(target) as store:
            store.strict("eve@b.example", 0.5)
    if act == "leave":
        _change_more(first)
        wanted = contents(first)
        assert wanted.pop(state_files.SITE_MOVES)
        with FeedbackSpool(first / state_files.EVENTS_SPOOL) as spool:
            spool.add([trapped(100)], now=NOW)
    killed = run_program(target, act, postgresql.address, point) != 0
    assert run_program(target, act, postgresql.address, 0) == 0 if killed else True
    assert read_unfinished(target) is None
    if act == "leave":
        found = contents(target)
        events = found.pop(state_files.EVENTS)
        before = [line for line in wanted.pop(state_files.EVENTS) if "sqlite_sequence" not in line]
        assert set(before) <= set(events)
        assert sum("event 100" in line or "6576656E7420313030" in line for line in events) == 1
        assert {name: found.get(name) for name in wanted} == wanted
        assert not postgresql.rows("SELECT name FROM oborona.machine")
        with SiteMoveStore(target / state_files.SITE_MOVES) as told, told.transaction():
            assert told.waiting() == {}
        with persons(target) as store:
            store.strict("new@b.example", 0.5)
        return killed
    if act == "join":
        asides = sorted(target.glob("personal.db.before-join-*"))
        kept = [path for path in asides if path.suffix not in {".db-wal", ".db-shm"}]
        assert any("eve@b.example" in line for path in kept for line in _dump(path))
    assert contents(target) == wanted
    assert check(target) == dict.fromkeys(wanted, "") | {state_files.SITE_MODELS: ""}
    return killed


def _change_more(first: Path) -> None:
    with persons(first) as store:
        store.strict("more@b.example", 2.0)
    link = read_link(first)
    assert link is not None
    decision = MoveDecision(
        message=7,
        recipient="ann@b.example",
        source="INBOX",
        target="Junk",
        why="WHY",
        score=1.0,
        line=1.0,
        event="word",
    )
    with MoveStore(first / state_files.MOVES) as moves:
        moves.decide([decision], now=NOW)
        share = SiteMoveShare(first, link, moves, takes=True, clock=lambda: NOW)
        assert share.tell([(move, "m@b.example") for move in share.untold(back=False)]) == 1
        share.close()


def _dump(path: Path) -> list[str]:
    try:
        with closing(sqlite3.connect(path)) as db:
            return list(db.iterdump())
    except sqlite3.DatabaseError:  # what lies beside one
        return []


def check(state: Path) -> dict[str, str]:
    """Compare a machine with the log; return the differences by the stores."""
    link = read_link(state)
    assert link is not None
    with closing(ReplicationLog(link.address, link.machine)) as log:
        return {one.store: one.difference for one in check_stores(log, state, link)}


@pytest.mark.parametrize("act", ["begin", "join", "leave"])
@pytest.mark.parametrize("point", POINTS)
def test_killed_anywhere_it_goes_on_and_nothing_is_lost(
    tmp_path: Path, postgresql: Postgresql, act: str, point: int
) -> None:
    if not moved(tmp_path, postgresql, act, point):
        pytest.skip("it has come to its end before that point")


def test_a_store_that_is_in_the_log_already_is_not_copied_again(
    tmp_path: Path, postgresql: Postgresql, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = new_state(tmp_path / "mx1")
    fill(first)
    taken, original = list[str](), take_snapshot

    def take(log: ReplicationLog, path: Path) -> object:
        if path.name == state_files.ACCOUNTS:
            raise KeyboardInterrupt
        taken.append(path.name)
        return original(log, path)

    monkeypatch.setattr(membership, "take_snapshot", take)
    with pytest.raises(KeyboardInterrupt):
        begin_site(first, postgresql.address, "mx1", "1")
    assert state_files.PERSONS in taken
    monkeypatch.undo()
    asked = "SELECT store, xmin::text FROM oborona.snapshot"
    before = dict(postgresql.rows(asked))
    begin_site(first, postgresql.address, "mx1", "1")
    after = dict(postgresql.rows(asked))
    assert {name: after[name] for name in (state_files.PERSONS, state_files.EVENTS)} == {
        name: before[name] for name in (state_files.PERSONS, state_files.EVENTS)
    }
    assert state_files.ACCOUNTS in after


def test_what_another_command_left_unfinished_hinders_no_new_one(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first = new_state(tmp_path / "mx1")
    fill(first)
    assert run_program(first, "begin", postgresql.address, 60) != 0
    with Postgresql() as other:
        begin_site(first, other.address, "mx1", "1")
        assert set(check(first).values()) == {""}


def change_here(state: Path, sql: str) -> None:
    with closing(sqlite3.connect(state / state_files.PERSONS)) as db:
        db.execute(sql)
        db.commit()


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("DELETE FROM person WHERE address = 'p7@b.example'", "table "),
        ("UPDATE person SET strictness = strictness + 1 WHERE address = 'p7@b.example'", "p7@"),
        ("UPDATE person SET strictness = CAST(strictness AS BLOB)", "table person"),
        ("CREATE INDEX more ON person (strictness)", "its tables are others"),
    ],
)
def test_a_row_that_differs_is_found_and_named(
    tmp_path: Path, postgresql: Postgresql, sql: str, says: str
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    fill(first)
    with persons(first) as store:
        store.strict("p7@b.example", 0.5)
    assert check(first)[state_files.PERSONS] == ""
    change_here(first, sql)
    assert says in check(first)[state_files.PERSONS]
    assert not list(first.glob(".check-*"))
    done = run(first, "site", "check")
    assert done.exit_code == 1
    assert "personal.db: differs at change" in done.output
    with pytest.raises(MembershipError, match=r"personal\.db: is not what"):
        leave_site(first)
    assert link_path(first).exists()
    assert run(second, "site", "check").exit_code == 1, "it is behind, and has none of it"
    done = run(first, "site", "leave", "--unchecked")
    assert done.exit_code == 0, done.output


def run(state: Path, *words: str) -> Result:
    return CliRunner().invoke(cli_main, ["--state", str(state), *words])


def test_who_leaves_takes_what_the_site_has(tmp_path: Path, postgresql: Postgresql) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    fill(first)
    done = run(second, "site", "leave")
    assert done.exit_code == 0, done.output
    assert "the same as in the site's log" in done.output
    here, there = contents(first), contents(second)
    assert here == there
    assert not read_link(second)


def test_without_the_log_one_leaves_as_it_is_and_says_so(tmp_path: Path) -> None:
    with Postgresql() as own:
        first, _ = two_machines(tmp_path, own.address)
        fill(first)
        before = contents(first)
        own.end()
        done = run(first, "site", "leave")
        assert "can't be reached" in done.output
        assert contents(first) == before
        assert not read_link(first)
        assert run(first, "site", "leave").exit_code != 0, "it has nothing left to do"


def test_a_begin_whose_copy_differs_begins_nothing(
    tmp_path: Path, postgresql: Postgresql, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = new_state(tmp_path / "mx1")
    fill(first)
    original = take_snapshot

    def taken_before_a_change(log: ReplicationLog, path: Path) -> object:
        done = original(log, path)
        if path.name == state_files.PERSONS:
            change_here(first, "DELETE FROM person WHERE address = 'p7@b.example'")
        return done

    monkeypatch.setattr(membership, "take_snapshot", taken_before_a_change)
    with pytest.raises(MembershipError, match=r"personal\.db: what is in PostgreSQL"):
        begin_site(first, postgresql.address, "mx1", "1")
    assert not read_link(first)
    monkeypatch.undo()
    begin_site(first, postgresql.address, "mx1", "1")
    assert set(check(first).values()) == {""}


def main(step: int) -> None:
    """Kill at each of some points of all three."""
    with Postgresql() as postgresql:
        for act in ("begin", "join", "leave"):
            point, killed = 1, True
            while killed:
                postgresql.rows("DROP SCHEMA IF EXISTS oborona CASCADE")
                with tempfile.TemporaryDirectory(prefix="oborona-membership-") as folder:
                    killed = moved(Path(folder), postgresql, act, point)
                point += step
            print(f"{act}: killed at each {step} of {point - step} points", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
