"""Moves are decided once, made once, and taken back exactly.

Whoever asks, and in whatever order.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from oborona.errors import StoreError, StoreVersion
from oborona.recheck.moves import (
    NOTHING_MOVED,
    UNDONE_BEFORE,
    Move,
    MoveDecision,
    MoveState,
    MoveStore,
    RecheckPause,
)
from tests.journal.entries import NOON

JOE, EVE = "joe@example.test", "eve@example.test"


def wanted(message: int = 1, recipient: str = JOE, **changes: Any) -> MoveDecision:
    usual: dict[str, Any] = {
        "source": "INBOX",
        "target": "Junk",
        "why": "MASS_TEXT seen 412",
        "score": 120.0,
        "line": 100.0,
        "event": "complaint",
    }
    return MoveDecision(message=message, recipient=recipient, **usual | changes)


BACK: dict[str, Any] = {"source": "Junk", "target": "INBOX"}


@pytest.fixture
def moves(tmp_path: Path) -> Iterator[MoveStore]:
    with MoveStore(tmp_path / "recheck.db") as found:
        yield found


def got(moves: MoveStore, id_: int) -> Move:
    found = moves.get(id_)
    assert found is not None
    return found


def made(moves: MoveStore, decision: MoveDecision) -> int:
    """Return a move that was made."""
    [id_] = moves.decide([decision], now=NOON)
    assert moves.issue([id_], now=NOON + 1) == [id_]
    assert moves.settle(id_, MoveState.DONE, now=NOON + 2)
    return id_


def test_a_copy_is_decided_about_once_in_each_direction(moves: MoveStore) -> None:
    first = moves.decide([wanted(), wanted(recipient=EVE), wanted()], now=NOON)
    assert len(first) == 2
    assert moves.decide([wanted(), wanted(why="another", score=7.0)], now=NOON + 1) == []
    assert len(moves.decide([wanted(**BACK), wanted(2)], now=NOON + 2)) == 2
    assert got(moves, first[0]) == Move(
        id=first[0],
        message=1,
        recipient=JOE,
        source="INBOX",
        target="Junk",
        time=NOON,
        changed=NOON,
        due=NOON,
        tries=0,
        state=MoveState.DECIDED,
        note="",
        why="MASS_TEXT seen 412",
        score=120.0,
        line=100.0,
        event="complaint",
        because="",
        undoes=None,
    )
    assert [one.recipient for one in moves.of(1)] == [JOE, EVE, JOE]
    assert [one.message for one in moves.last(2)] == [2, 1]
    assert [one.message for one in moves.since(NOON + 1)] == [1, 2]


def test_what_is_due_comes_newest_message_first(moves: MoveStore) -> None:
    moves.decide([wanted(message) for message in (5, 9, 7)], now=NOON)
    assert [one.message for one in moves.due(NOON, 2)] == [9, 7]
    assert moves.due(NOON - 1, 9) == []


def test_a_move_is_on_its_way_for_one_alone(moves: MoveStore, tmp_path: Path) -> None:
    ids = moves.decide([wanted(), wanted(2)], now=NOON)
    with MoveStore(tmp_path / "recheck.db") as other:
        assert other.issue(ids, now=NOON) == ids
    assert moves.issue(ids, now=NOON) == []
    assert [one.id for one in moves.issued()] == ids
    assert moves.due(NOON + 99, 9) == []


def test_what_is_put_off_waits_for_its_time(moves: MoveStore) -> None:
    [id_] = moves.decide([wanted()], now=NOON)
    moves.again(id_, due=NOON + 30, now=NOON, note="not on its way: nothing changes")
    assert got(moves, id_).due == NOON
    for attempt in range(3):
        assert [one.id for one in moves.due(NOON + 30 * attempt, 9)] == [id_]
        moves.issue([id_], now=NOON)
        moves.again(id_, due=NOON + 30 * (attempt + 1), now=NOON + 1, note="busy")
        assert moves.due(NOON + 30 * attempt + 29, 9) == []
    found = got(moves, id_)
    assert (found.tries, found.note, found.state) == (3, "busy", MoveState.DECIDED)


@pytest.mark.parametrize("state", [MoveState.DONE, MoveState.KEPT, MoveState.FAILED])
def test_what_became_of_it_stands(moves: MoveStore, state: MoveState) -> None:
    [id_] = moves.decide([wanted()], now=NOON)
    moves.issue([id_], now=NOON)
    assert moves.settle(id_, state, "said so", now=NOON + 5)
    assert not moves.settle(id_, MoveState.DONE, now=NOON + 6)
    moves.again(id_, due=NOON, now=NOON)
    found = got(moves, id_)
    assert (found.state, found.note, found.changed) == (state, "said so", NOON + 5)
    assert moves.due(NOON + 99, 9) == moves.issued() == []
    assert moves.counted() == {state: 1}
    assert moves.counted(NOON + 1) == {}


def test_nothing_else_becomes_of_it(moves: MoveStore) -> None:
    [id_] = moves.decide([wanted()], now=NOON)
    for state in (MoveState.DECIDED, MoveState.ISSUED, MoveState.UNDONE):
        with pytest.raises(ValueError, match="not settled by"):
            moves.settle(id_, state, now=NOON)


def test_what_was_moved_is_moved_back_and_not_decided_anew(moves: MoveStore) -> None:
    id_ = made(moves, wanted())
    assert moves.undo([id_, id_], now=NOON + 10) == [id_]
    [back] = moves.due(NOON + 10, 9)
    assert (back.source, back.target, back.undoes, back.event) == ("Junk", "INBOX", id_, "undo")
    assert got(moves, id_).state is MoveState.DONE  # until it is back
    moves.issue([back.id], now=NOON + 11)
    moves.settle(back.id, MoveState.DONE, now=NOON + 12)
    assert got(moves, id_).state is MoveState.UNDONE
    assert moves.decide([wanted()], now=NOON + 13) == []
    assert moves.undo([id_, back.id], now=NOON + 14) == []  # neither again, nor the undo itself


def test_moves_of_one_copy_are_made_one_after_the_other(moves: MoveStore) -> None:
    [there, other] = moves.decide([wanted(), wanted(recipient=EVE)], now=NOON)
    [back] = moves.decide([wanted(**BACK)], now=NOON)
    assert {one.id for one in moves.due(NOON, 9)} == {there, other}
    assert moves.issue([back, there], now=NOON) == [there]
    assert [one.id for one in moves.due(NOON, 9)] == [other]
    assert moves.issue([back], now=NOON) == []
    moves.again(there, due=NOON + 9, now=NOON)
    assert [one.id for one in moves.due(NOON, 9)] == [other]
    moves.settle(there, MoveState.KEPT, now=NOON)
    assert {one.id for one in moves.due(NOON, 9)} == {back, other}


def test_a_person_who_has_it_keeps_it_from_being_moved_back(moves: MoveStore) -> None:
    id_ = made(moves, wanted())
    moves.undo([id_], now=NOON)
    [back] = moves.due(NOON, 9)
    moves.settle(back.id, MoveState.KEPT, "moved by a person", now=NOON)
    assert got(moves, id_).state is MoveState.DONE


def test_what_was_not_made_yet_is_not_made(moves: MoveStore) -> None:
    [id_] = moves.decide([wanted()], now=NOON)
    assert moves.undo([id_], now=NOON + 1) == [id_]
    assert (got(moves, id_).state, got(moves, id_).note) == (MoveState.UNDONE, UNDONE_BEFORE)
    assert moves.issue([id_], now=NOON) == []
    assert moves.due(NOON + 9, 9) == []


def test_what_is_on_its_way_is_taken_back_once_it_is_known(moves: MoveStore) -> None:
    first, second = moves.decide([wanted(), wanted(2)], now=NOON)
    moves.issue([first, second], now=NOON)
    assert moves.undo([first, second], now=NOON + 1) == [first, second]
    assert moves.due(NOON + 1, 9) == []
    moves.settle(first, MoveState.KEPT, "read", now=NOON + 2)
    moves.settle(second, MoveState.DONE, now=NOON + 2)
    [back] = moves.due(NOON + 2, 9)
    assert back.undoes == second
    [nothing] = [one for one in moves.of(1) if one.undoes == first]
    assert (nothing.state, nothing.note) == (MoveState.KEPT, NOTHING_MOVED)


def test_all_that_waits_is_given_up_at_once(moves: MoveStore) -> None:
    ids = moves.decide([wanted(number) for number in range(5)], now=NOON)
    moves.issue(ids[:2], now=NOON)
    assert moves.discard("discarded by an admin", now=NOON + 1) == 3
    assert moves.counted() == {MoveState.ISSUED: 2, MoveState.KEPT: 3}


def test_what_takes_moves_back_is_not_given_up_with_the_others(moves: MoveStore) -> None:
    """An admin takes back what ran away, and gives up the rest: good mail comes back whichever is
    said first.
    """
    (made, waits) = moves.decide([wanted(1), wanted(2)], now=NOON)
    moves.issue([made], now=NOON)
    moves.settle(made, MoveState.DONE, now=NOON)
    assert moves.undo([made], now=NOON + 1) == [made]
    assert moves.discard("discarded by an admin", now=NOON + 2) == 1
    assert [one.undoes for one in moves.due(NOON + 3, 10)] == [made]
    found = moves.get(waits)
    assert found is not None
    assert found.state is MoveState.KEPT


def test_a_pause_lasts_until_somebody_ends_it(moves: MoveStore, tmp_path: Path) -> None:
    assert moves.paused() is None
    assert moves.pause("7% of mail about to be moved", now=NOON)
    assert not moves.pause("another reason", now=NOON + 5)
    with MoveStore(tmp_path / "recheck.db") as other:
        assert other.paused() == RecheckPause(since=NOON, why="7% of mail about to be moved")
        assert other.resume()
    assert not moves.resume()
    assert moves.paused() is None


def test_cursors_are_remembered(moves: MoveStore, tmp_path: Path) -> None:
    assert moves.cursor("late", 7) == 7
    for value in (2**62, 3):
        moves.set_cursor("late", value)
        with MoveStore(tmp_path / "recheck.db") as other:
            assert (other.cursor("late"), other.cursor("clock")) == (value, 0)


def test_purging_takes_the_oldest_in_steps_and_leaves_what_is_on_its_way(moves: MoveStore) -> None:
    for number in range(10):
        moves.decide([wanted(number)], now=NOON + number)
    [first] = moves.of(0)
    moves.issue([first.id], now=NOON)
    steps = [moves.purge(NOON + 105, retention_s=100, limit=3) for _ in range(3)]
    assert steps == [3, 1, 0]
    assert [one.message for one in moves.since(0)] == [0, 5, 6, 7, 8, 9]


def test_a_move_is_all_or_nothing(moves: MoveStore) -> None:
    bad = wanted(2**70)
    with pytest.raises((StoreError, OverflowError)):
        moves.decide([wanted(), bad], now=NOON)
    assert moves.last(9) == []


def test_a_move_that_was_damaged_is_told(moves: MoveStore, tmp_path: Path) -> None:
    moves.decide([wanted()], now=NOON)
    with closing(sqlite3.connect(tmp_path / "recheck.db", isolation_level=None)) as db:
        db.execute("UPDATE move SET state = 'perhaps'")
    with pytest.raises(StoreError, match="damaged"):
        moves.last(9)


def test_a_file_of_a_newer_version_or_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    newer, other = tmp_path / "newer.db", tmp_path / "other.db"
    MoveStore(newer).close()
    with closing(sqlite3.connect(newer)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreVersion):
        MoveStore(newer)
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE theirs (x)")
    with pytest.raises(StoreError, match="not a file of moves"):
        MoveStore(other)
    with pytest.raises(StoreError, match="there is no file of moves"):
        MoveStore(tmp_path / "none.db", make=False)


class Mover(RuleBasedStateMachine):
    """One mailbox for each copy, and a mover that may die: a copy is where the moves that are
    settled say, and nothing moves it twice.

    Dying is the loss of what was not written down: what was on its way may have been made or not.
    """

    ids = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.moves = MoveStore(Path(self.folder.name) / "recheck.db")
        self.now = NOON
        self.where: dict[tuple[int, str], str] = {}
        self.asked: dict[int, int] = {}  # how often the mailbox has made a move

    @rule(
        target=ids,
        message=st.integers(1, 4),
        recipient=st.sampled_from([JOE, EVE]),
        back=st.booleans(),
    )
    def decide(self, message: int, recipient: str, back: bool) -> Any:
        there = self.where.setdefault((message, recipient), "INBOX")
        ways: dict[str, Any] = BACK if there == "Junk" and back else {}
        new = self.moves.decide([wanted(message, recipient, **ways)], now=self.now)
        return multiple(*new)

    @rule(made=st.booleans(), dies=st.booleans(), busy=st.booleans())
    def work(self, made: bool, dies: bool, busy: bool) -> None:
        self.now += 1
        due = [one.id for one in self.moves.due(self.now, 2)]
        for id_ in self.moves.issue(due, now=self.now):
            if busy:
                self.moves.again(id_, due=self.now + 2, now=self.now)
                continue
            if made:
                self._make(id_)
            if not dies:
                self._settle(id_)

    @rule()
    def comes_back(self) -> None:
        for one in self.moves.issued():
            self._settle(one.id)

    @rule(id_=ids)
    def undo(self, id_: int) -> None:
        before = self.moves.get(id_)
        done = self.moves.undo([id_], now=self.now)
        assert before is not None
        assert not done or before.state in (MoveState.DECIDED, MoveState.ISSUED, MoveState.DONE)

    @rule(id_=consumes(ids))
    def settled_stays(self, id_: int) -> None:
        one = self.moves.get(id_)
        assert one is not None
        if one.state not in (MoveState.DECIDED, MoveState.ISSUED):
            assert not self.moves.settle(id_, MoveState.FAILED, now=self.now)

    def _make(self, id_: int) -> None:
        one = self.moves.get(id_)
        assert one is not None
        copy = (one.message, one.recipient)
        if self.where[copy] == one.source:
            self.where[copy] = one.target
            self.asked[id_] = self.asked.get(id_, 0) + 1

    def _settle(self, id_: int) -> None:
        """Do as who finds a move on its way: make it where the mailbox has not, and write down what
        is.
        """
        one = self.moves.get(id_)
        assert one is not None
        self._make(id_)
        done = self.where[(one.message, one.recipient)] == one.target
        self.moves.settle(id_, MoveState.DONE if done else MoveState.KEPT, now=self.now)

    @invariant()
    def nothing_is_moved_twice(self) -> None:
        assert all(number == 1 for number in self.asked.values())

    @invariant()
    def once_in_each_direction(self) -> None:
        found = [
            (one.message, one.recipient, one.target)
            for one in self.moves.since(0)
            if one.undoes is None
        ]
        assert len(found) == len(set(found))

    @invariant()
    def what_was_made_is_settled_or_on_its_way(self) -> None:
        for id_ in self.asked:
            one = self.moves.get(id_)
            assert one is not None
            assert one.state in (MoveState.ISSUED, MoveState.DONE, MoveState.UNDONE)
            if one.state is MoveState.UNDONE:
                [back] = [other for other in self.moves.since(0) if other.undoes == id_]
                assert back.state is MoveState.DONE

    def teardown(self) -> None:
        while self.moves.issued() or self.moves.due(self.now + 9, 1):
            self.comes_back()
            for one in self.moves.due(self.now + 9, 9):
                self.moves.issue([one.id], now=self.now)
        self.nothing_is_moved_twice()
        self.moves.close()
        self.folder.cleanup()


TestMover = Mover.TestCase
TestMover.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
