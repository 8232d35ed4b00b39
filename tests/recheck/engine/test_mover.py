"""Moves that were decided are made: once, whoever dies in between; later, where a mailbox is busy.

And not at all while moves have stopped.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from oborona.errors import StoreFull
from oborona.journal.entry import JournalEntry
from oborona.recheck.engine.mover import BATCH, FIRST_RETRY_S, NO_MAILBOXES, TOO_OLD, CopyMover
from oborona.recheck.mailboxes.model import MoveOutcome
from oborona.recheck.moves import MoveState
from tests.recheck.engine.scene import CAMPAIGN, COMPLAINED, Scene, letter, scene


async def decided(made: Scene, number: int = 3) -> list[JournalEntry]:
    """Decide moves of some messages."""
    found = [
        await made.deliver(letter(one, CAMPAIGN), recipients=(f"reader{one}@b.example",))
        for one in range(number)
    ]
    made.say(found[0], 3)
    await made.look()
    return found


async def test_a_busy_mailbox_is_asked_again_later_each_time(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        (one,) = await decided(made, 1)
        made.boxes.answers = {"reader0": MoveOutcome.BUSY}
        waits = []
        for number in range(4):
            await made.move()
            (move,) = made.made(one)
            assert (move.state, len(made.boxes.asked)) == (MoveState.DECIDED, number + 1)
            waits.append(move.due - made.now)
            made.now = move.due
        assert waits == sorted(waits)
        assert waits[0] >= FIRST_RETRY_S
        made.boxes.answers = {}
        await made.move()
        assert made.made(one)[0].state is MoveState.DONE


async def test_mailboxes_that_break_lose_no_move(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        (one,) = await decided(made, 1)
        made.boxes.broken = True
        await made.move()
        assert made.made(one)[0].state is MoveState.DECIDED
        made.boxes.broken = False
        made.now += 60
        await made.move()
        assert made.made(one)[0].state is MoveState.DONE


async def test_several_calls_that_end_together_use_the_store_one_after_the_other(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        found = await decided(made, BATCH * 2 + 5)
        settle_all, inside, most = made.moves.settle_all, 0, 0

        def slow(*arguments: Any, **options: Any) -> list[int]:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            time.sleep(0.02)
            settled = settle_all(*arguments, **options)
            inside -= 1
            return settled

        made.moves.settle_all = slow  # type: ignore[method-assign]
        await made.move()
        assert most == 1
        assert {made.made(one)[0].state for one in found} == {MoveState.DONE}


async def test_what_could_not_be_written_down_is_made_again(tmp_path: Path) -> None:
    """The mailbox has it, and the disk is full: the mailbox is asked again, and tells it as
    moved.
    """
    async with scene(tmp_path, COMPLAINED) as made:
        (one,) = await decided(made, 1)
        settle_all = made.moves.settle_all

        def full(*_: Any, **__: Any) -> list[int]:
            raise StoreFull("no room left")

        made.moves.settle_all = full  # type: ignore[method-assign]
        with pytest.raises(StoreFull):
            await made.move()
        assert made.made(one)[0].state is MoveState.ISSUED
        made.moves.settle_all = settle_all  # type: ignore[method-assign]
        await made.move()
        assert made.made(one)[0].state is MoveState.DONE
        assert made.boxes.moved == [one.id, one.id]


async def test_what_can_not_be_asked_within_the_window_is_given_up(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED, window_s=3600.0) as made:
        (one,) = await decided(made, 1)
        made.now += 3601
        await made.move()
        (move,) = made.made(one)
        assert (move.state, move.note, made.boxes.asked) == (MoveState.FAILED, TOO_OLD, [])


async def test_who_was_killed_between_decision_and_move_has_it_made_once(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        found = await decided(made)
        first, second, third = (made.made(one)[0] for one in found)
        made.moves.issue([first.id, second.id], now=made.now)  # and there it was killed
        await made.end()
        await made.begin()
        assert await made.mover.resume() == 2
        await made.move()
        assert sorted(made.boxes.moved) == sorted(one.id for one in found)
        states = {
            one.id: one.state for one in map(made.moves.get, (first.id, second.id, third.id)) if one
        }
        assert set(states.values()) == {MoveState.DONE}


async def test_while_moves_have_stopped_only_what_is_taken_back_is_moved(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        found = await decided(made, 2)
        (first,), (second,) = made.made(found[0]), made.made(found[1])
        made.moves.issue([first.id], now=made.now)
        made.moves.settle(first.id, MoveState.DONE, now=made.now)
        made.moves.pause("it runs away", now=made.now)
        made.moves.undo([first.id], now=made.now)
        await made.move()
        assert [(source, target, force) for _, source, target, force in made.boxes.asked] == [
            ("Junk", "INBOX", True)
        ]
        made.moves.resume()
        await made.move()
        assert made.made(found[1])[0].state is MoveState.DONE
        assert second.state is MoveState.DECIDED


async def test_without_mailboxes_it_is_written_down_and_not_made(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        (one,) = await decided(made, 1)

        async def message_id(_: int) -> str:
            return ""

        mover = CopyMover(
            made.moves,
            None,
            user=str,
            message_id=message_id,
            window_s=3600.0,
            clock=lambda: made.now,
        )
        assert await mover.step() == 1
        (move,) = made.made(one)
        assert (move.state, move.note) == (MoveState.KEPT, NO_MAILBOXES)


async def test_what_an_admin_took_back_is_not_decided_again(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        found = await decided(made, 2)
        await made.move()
        made.moves.undo([made.made(found[0])[0].id], now=made.now)
        await made.move()
        assert made.boxes.asked[-1][1:] == ("Junk", "INBOX", True)
        number = len(made.boxes.asked)
        made.say(found[0], 3)
        await made.look()
        await made.move()
        assert len(made.boxes.asked) == number
