"""What is made to stop the second look, or to lead it astray: names that no store takes, counts of
another shape, clocks that jump, more than it can remember.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oborona.counters.memory import MemoryCounters
from oborona.ident import first_id_at
from oborona.message.hashing import ShingleType
from oborona.recheck.engine.clock import LATE_S, RecheckClock
from oborona.recheck.engine.loop import MESSAGES
from oborona.recheck.engine.model import RecheckCause
from oborona.recheck.engine.mover import ARRIVES_S, BATCH, CALLS
from oborona.recheck.engine.rescorer import Rescorer
from oborona.recheck.engine.runaway import RunawayGuard
from oborona.recheck.engine.work_queue import MOST_PIECES
from oborona.recheck.mailboxes.model import MoveOutcome
from oborona.recheck.moves import MoveState
from oborona.types import Action, Shingle
from tests.recheck.engine.scene import (
    CAMPAIGN,
    COMPLAINED,
    NOW,
    another,
    letter,
    replaced,
    scene,
    written,
)


async def test_a_recipient_whom_no_store_takes_hides_nobody_else(tmp_path: Path) -> None:
    """A name with octets that are no Unicode can be in an envelope, and in no database."""
    async with scene(tmp_path, COMPLAINED) as made:
        found = [
            await made.deliver(letter(one, CAMPAIGN), recipients=(f"reader{one}@b.example",))
            for one in range(4)
        ]
        poison = await made.deliver(
            letter(5, CAMPAIGN),
            change=lambda one: replaced(one, recipients=("j\udcf6rg@b.example", "joe@b.example")),
        )
        made.say(found[0], 3)
        await made.look()
        await made.move()
        assert {made.made(one)[0].state for one in found} == {MoveState.DONE}
        assert [one.recipient for one in made.made(poison)] == ["joe@b.example"]
        assert MESSAGES.value("failed") >= 1


async def test_who_can_not_be_glanced_at_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        found = [
            await made.deliver(letter(one, CAMPAIGN), recipients=(f"reader{one}@b.example",))
            for one in range(3)
        ]

        async def broken(*_: Any) -> list[int]:
            raise IndexError("counts of another shape")

        monkeypatch.setattr(Rescorer, "worth", broken)
        made.say(found[0], 3)
        await made.look()
        assert all(made.made(one) for one in found)


async def test_all_pieces_of_a_change_are_looked_for_however_many(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        one = await made.deliver(letter(1, CAMPAIGN))
        made.say(one, 3, tell=False)
        many = [Shingle(ShingleType.HOST, number) for number in range(3 * MOST_PIECES)]
        own = next(piece for piece in one.shingles if piece.type == ShingleType.TEMPLATE)
        made.engine.add(RecheckCause.SIGNATURE, [*many, own])
        await made.look()
        assert len(made.made(one)) == 1


async def test_what_is_taken_back_does_not_wait_behind_what_has_stopped(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        first = await made.deliver(letter(0, CAMPAIGN), recipients=("first@b.example",))
        made.say(first, 3)
        await made.look()
        await made.move()
        (move,) = made.made(first)
        newer = BATCH * CALLS + 1
        made.judged_by = written(tmp_path / "mild")
        for one in range(newer):
            made.now += 0.01
            await made.deliver(letter(one + 1, CAMPAIGN), recipients=(f"r{one}@b.example",))
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        assert made.moves.counted()[MoveState.DECIDED] == newer
        made.moves.pause("it runs away", now=made.now)
        made.moves.undo([move.id], now=made.now)
        await made.move()
        assert [force for *_, force in made.boxes.asked] == [False, True]
        assert made.moves.counted()[MoveState.DECIDED] == newer


async def test_what_has_not_arrived_yet_is_asked_for_again(tmp_path: Path) -> None:
    """A message that still waits in the queue is in no mailbox, and comes to one."""
    async with scene(tmp_path, COMPLAINED) as made:
        one = await made.deliver(letter(1, CAMPAIGN), recipients=("late@b.example",))
        made.say(one, 3)
        made.boxes.answers = {"late": MoveOutcome.GONE}
        await made.look()
        await made.move()
        (move,) = made.made(one)
        assert move.state is MoveState.DECIDED
        made.boxes.answers = {}
        made.now = move.due
        await made.move()
        assert made.made(one)[0].state is MoveState.DONE


async def test_what_is_gone_for_good_is_not_asked_for_for_ever(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        one = await made.deliver(letter(1, CAMPAIGN), recipients=("late@b.example",))
        made.say(one, 3)
        made.boxes.answers = {"late": MoveOutcome.GONE}
        await made.look()
        for _ in range(20):
            await made.move()
            (move,) = made.made(one)
            if move.state is not MoveState.DECIDED:
                break
            made.now = move.due
        assert (move.state, move.note) == (MoveState.KEPT, "gone")
        assert made.now - NOW < 2 * ARRIVES_S


def test_a_clock_that_was_ahead_for_a_moment_stops_no_look() -> None:
    clock = RecheckClock((60.0,), {}, NOW)
    ahead = clock.due(NOW + 86_400)
    assert ahead is not None
    clock.came(ahead, None)
    again = RecheckClock(
        (60.0,), clock.places, NOW + 1
    )  # and a restart believes nothing of it either
    for one in (clock, again):
        one.due(NOW + 1)
        due = one.due(NOW + 30)
        assert due is not None
        assert first_id_at(NOW - 60 - LATE_S) <= due.after < due.before <= first_id_at(NOW - 30)


def test_moves_of_a_large_site_run_away_as_those_of_a_small_one() -> None:
    """Invariant: how many pieces messages have says nothing of how many messages run away."""
    for word in (False, True):
        runaway = RunawayGuard(share=0.05, least=50)
        for one in range(5001):
            pieces = [Shingle(ShingleType.WORDS, 100 * one + at) for at in range(100)]
            runaway.decided(one, pieces, word=word, now=NOW)
        assert runaway.runs(100_000, NOW)


async def test_lost_counts_move_nothing_either_way(tmp_path: Path) -> None:
    """What was filed for its counts does not come back when those are gone, and what they spoke for
    does not go.
    """
    known = '[[rule]]\nname = "UNKNOWN"\nwhen = "mass.fortnight == 0"\nscore = 120\n'
    async with scene(tmp_path, COMPLAINED) as made:
        first = await made.deliver(letter(1, CAMPAIGN))
        made.say(first, 3, tell=False)
        filed = await made.deliver(letter(2, CAMPAIGN), recipients=("joe@b.example",))
        assert filed.verdict is Action.SPAM
        made.counters = MemoryCounters()
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        assert made.made(filed) == []
        made.policy = written(tmp_path / "new", known)
        made.counters = counters = MemoryCounters()
        made.judged_by = made.policy
        assert (await made.deliver(letter(3, another(3)))).verdict is Action.SPAM
        good = await made.deliver(letter(4, another(3)), recipients=("eve@b.example",))
        assert good.verdict is Action.ACCEPT
        made.counters = MemoryCounters()
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        assert made.made(good) == []
        made.counters = counters
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        assert made.made(good) == []
