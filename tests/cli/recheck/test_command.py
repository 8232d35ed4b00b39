"""`oborona recheck`: what it would do, what it did, taken back; and what it says of itself."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from oborona import secret, state_files
from oborona.daemon.keeper.recheck import STUCK
from oborona.ident import from_text
from oborona.metrics import REGISTRY
from oborona.recheck.engine.loop import ALLOWED, MESSAGES, WAITING
from oborona.recheck.engine.mover import MADE
from oborona.recheck.moves import MoveDecision, MoveState, MoveStore
from oborona.telemetry import status
from tests.cli.journaled import LINKS, LOTTERY, LUNCH, journal, policy, run

SPAM = '[[rule]]\nname = "EVERYTHING"\nwhen = "recipients > 0"\nscore = 120\nsay = "all of it"\n'


def decided(state: Path, ident: str, *, recipient: str = "bob@b.example") -> int:
    """Write one move down."""
    number = from_text(ident)
    assert number is not None
    with MoveStore(state / state_files.MOVES) as moves:
        one = MoveDecision(
            message=number,
            recipient=recipient,
            source="INBOX",
            target="Junk",
            why="RULE words",
            score=120.0,
            line=100.0,
            event="word",
        )
        (move,) = moves.decide([one], now=time.time())
    return move


def test_a_dry_run_tells_and_changes_nothing(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", policy(tmp_path / "then", LINKS)
    first, second = journal(state, folder, [LUNCH, LOTTERY])
    now = policy(tmp_path / "now", LINKS, SPAM)
    told = run(state, now, "recheck", "--dry-run", "BOB@b.example", "--json")
    lines = {one["id"]: one for one in map(json.loads, told.stdout.splitlines())}
    assert lines.keys() == {first, second}
    assert (lines[first]["source"], lines[first]["target"], lines[first]["why"]) == (
        "INBOX", "Junk", "EVERYTHING",
    )  # fmt: skip
    assert (lines[first]["then"], lines[first]["now"]) == ("accept", "spam")
    assert not (state / state_files.MOVES).exists()
    plain = run(state, now, "recheck", "look", "--dry-run", "bob@b.example").stdout
    assert "2 copies checked, 2 would be moved" in plain
    assert "0 copies checked" in run(state, now, "recheck", "--dry-run", "eve@b.example").stdout


def test_one_message_is_decided_now_and_once(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", policy(tmp_path / "then", LINKS)
    (ident,) = journal(state, folder, [LUNCH])
    now = policy(tmp_path / "now", LINKS, SPAM)
    for _ in range(2):
        told = run(state, now, "recheck", f"{ident}.SIGNATURE", "--json")
        assert json.loads(told.stdout)["id"] == ident
    (move,) = [
        json.loads(one) for one in run(state, now, "recheck", "moves", "--json").stdout.splitlines()
    ]
    assert (move["message"], move["state"], move["event"]) == (ident, "decided", "asked")
    assert "EVERYTHING all of it" in run(state, now, "explain", ident).stdout


def test_a_message_that_is_not_there_and_a_word_that_is_none(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", policy(tmp_path / "then", LINKS)
    journal(state, folder, [LUNCH])
    assert "no such message" in run(state, folder, "recheck", "0SA79E0H00QH5", status=66).output
    assert "no id of a message" in run(state, folder, "recheck", "nonsense", status=2).output
    assert "is no id" in run(state, folder, "recheck", "moves", "nonsense", status=2).output


def test_moves_are_taken_back_by_message_and_by_time(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", policy(tmp_path / "then", LINKS)
    first, second = journal(state, folder, [LUNCH, LOTTERY])
    waits, done = decided(state, first), decided(state, second)
    with MoveStore(state / state_files.MOVES) as moves:
        moves.issue([done], now=time.time())
        moves.settle(done, MoveState.DONE, now=time.time())
    assert "1 taken back" in run(state, folder, "recheck", "undo", first).stdout
    assert (
        json.loads(run(state, folder, "recheck", "undo", "--since", "1h", "--json").stdout)["moves"]
        == 1
    )
    with MoveStore(state / state_files.MOVES) as moves:
        one = moves.get(waits)
        assert one is not None
        assert one.state is MoveState.UNDONE
        (_, back) = moves.of(from_text(second) or 0)
        assert (back.undoes, back.source, back.target, back.state) == (
            done,
            "Junk",
            "INBOX",
            MoveState.DECIDED,
        )
    assert "one of both" in run(state, folder, "recheck", "undo", status=2).output
    assert (
        "one of both"
        in run(state, folder, "recheck", "undo", first, "--since", "1h", status=2).output
    )


def test_who_lets_go_on_what_has_not_stopped_lifts_no_limit(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", policy(tmp_path / "then", LINKS)
    (first,) = journal(state, folder, [LUNCH])
    decided(state, first)
    assert "0 to be moved" in run(state, folder, "recheck", "resume").stdout
    with MoveStore(state / state_files.MOVES) as moves:
        assert moves.cursor(ALLOWED) == 0


def test_moves_that_have_stopped_go_on_or_are_given_up(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", policy(tmp_path / "then", LINKS)
    first, second = journal(state, folder, [LUNCH, LOTTERY])
    decided(state, first)
    with MoveStore(state / state_files.MOVES) as moves:
        moves.pause("600 messages of no campaign", now=time.time())
    said = run(state, folder, "recheck", "status").stdout
    assert "does not run" in said
    assert "MOVES HAVE STOPPED" in said
    assert "600 messages of no campaign" in said
    assert "1 to be moved" in run(state, folder, "recheck", "resume").stdout
    decided(state, second)
    with MoveStore(state / state_files.MOVES) as moves:
        assert moves.paused() is None
        moves.pause("again", now=time.time())
    assert "2 given up" in run(state, folder, "recheck", "discard").stdout
    with MoveStore(state / state_files.MOVES) as moves:
        assert moves.paused() is None
        assert moves.counted() == {MoveState.KEPT: 2}


def test_what_the_second_look_says_of_itself(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", policy(tmp_path / "then", LINKS)
    (ident,) = journal(state, folder, [LUNCH])
    decided(state, ident)
    MESSAGES.inc("judged", by=7)
    MADE.inc("moved", by=3)
    WAITING.set(2)
    STUCK.set(1)
    metrics = REGISTRY.snapshot()
    status.write_status(
        state,
        status.RecheckStatus(pid=1, time=time.time(), metrics=metrics, trouble="judging: away"),
    )
    told = json.loads(run(state, folder, "recheck", "status", "--json").stdout)
    assert (told["runs"], told["waiting"], told["looked"], told["trouble"]) == (
        True, 2, {"judged": 7}, "judging: away",
    )  # fmt: skip
    assert told["moves"]["decided"] == 1
    text = run(state, folder, "metrics").stdout
    assert 'oborona_recheck_messages_total{outcome="judged"} 7.0' in text
    assert 'oborona_recheck_moves_total{outcome="moved"} 3.0' in text
    assert "oborona_recheck_stuck 1.0" in text


def test_no_moves_yet(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", policy(tmp_path / "then", LINKS)
    journal(state, folder, [LUNCH])
    assert "no file of moves" in run(state, folder, "recheck", "status", status=74).output


def test_a_move_is_shown_with_its_whole_id_however_narrow_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    state, folder = tmp_path / "state", policy(tmp_path / "then", LINKS)
    (ident,) = journal(state, folder, [LUNCH])
    decided(state, ident)
    assert ident in run(state, folder, "recheck", "moves").stdout
    assert ident in run(state, folder, "recheck", ident).stdout


def test_a_signature_that_came_since_is_looked_for_as_the_keeper_does(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", policy(tmp_path / "then", LINKS)
    state.mkdir()
    secret.make(state)
    (ident,) = journal(state, folder, [LOTTERY], key=secret.load(state).shingles)
    added = ("signature", "add", "one.example", "--kind", "domain", "--reason", "x")
    run(state, folder, *added, "--score", "150")
    told = run(state, folder, "recheck", "--dry-run", ident, "--json")
    assert (json.loads(told.stdout)["now"], json.loads(told.stdout)["now_score"]) == ("reject", 210)
