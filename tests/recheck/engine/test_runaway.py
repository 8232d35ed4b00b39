"""What runs away stops by itself: many messages of no campaign.

A campaign of which people complained never does.
"""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from oborona.message.hashing import ShingleType
from oborona.recheck.engine.loop import ALLOWED, FOUND_AT_ONCE, RESUMED_S
from oborona.recheck.engine.model import RecheckCause
from oborona.recheck.engine.runaway import ALIKE, HOUR_S, RunawayGuard
from oborona.recheck.moves import MoveState
from oborona.types import Shingle
from tests.recheck.engine.scene import CAMPAIGN, COMPLAINED, NOW, another, letter, scene, written

ALL = '[[rule]]\nname = "ALL"\nwhen = "recipients > 0"\nscore = 100\n'


async def test_a_policy_that_would_move_everything_stops_itself_before_the_first_mailbox(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, COMPLAINED, runaway_share=0.05, runaway_messages=20) as made:
        found = [await made.deliver(letter(one, another(one))) for one in range(90)]
        made.policy = written(tmp_path / "new", ALL)
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        assert made.engine.paused
        assert len(made.alarms) == 1
        assert "more than 5%" in made.alarms[0]
        await made.move()
        assert made.boxes.asked == []
        states = made.moves.counted()
        assert states[MoveState.DECIDED] <= FOUND_AT_ONCE < len(found)
        made.moves.discard("no", now=made.now)
        made.moves.resume()
        made.policy = written(tmp_path / "mended", COMPLAINED)
        await made.engine.step()  # sees it
        await made.look()
        await made.move()
        assert not made.engine.paused
        assert made.boxes.asked == []


async def test_who_gives_moves_up_is_asked_again_where_nothing_was_mended(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED, runaway_share=0.05, runaway_messages=20) as made:
        for one in range(150):
            await made.deliver(letter(one, another(one)))
        made.policy = written(tmp_path / "new", ALL)
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        made.moves.discard("no", now=made.now)
        made.moves.resume()
        await made.engine.step()  # sees it
        await made.look()
        assert made.engine.paused
        assert len(made.alarms) == 2
        await made.move()
        assert made.boxes.asked == []


async def test_an_admin_lets_it_go_on(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED, runaway_share=0.05, runaway_messages=20) as made:
        found = [await made.deliver(letter(one, another(one))) for one in range(60)]
        made.policy = written(tmp_path / "new", ALL)
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        assert made.engine.paused
        made.moves.set_cursor(ALLOWED, int(made.now + RESUMED_S))
        made.moves.resume()
        await made.engine.step()  # sees it
        await made.look()
        await made.move()
        assert sorted(made.boxes.moved) == sorted(one.id for one in found)
        assert len(made.alarms) == 1


async def test_a_campaign_that_people_complained_of_is_none_however_large(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED, runaway_share=0.05, runaway_messages=20) as made:
        found = [
            await made.deliver(letter(one, CAMPAIGN), recipients=(f"r{one}@b.example",))
            for one in range(60)
        ]
        made.say(found[0], 3)
        await made.look()
        await made.move()
        assert not made.engine.paused
        assert len(made.boxes.moved) == len(found)


async def test_a_restart_forgets_nothing_of_what_runs_away(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED, runaway_share=0.05, runaway_messages=20) as made:
        made.policy = written(tmp_path / "new", ALL)
        for half in range(2):
            for one in range(15):
                await made.deliver(letter(one, another(100 * half + one)))
            made.engine.add(RecheckCause.POLICY)
            await made.look()
            assert made.engine.paused is (half == 1)
            if not half:
                await made.end()
                made.now += 60.0
                await made.begin()
        assert len(made.alarms) == 1


async def test_a_campaign_is_none_after_a_restart_either(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED, runaway_share=0.05, runaway_messages=20) as made:
        found = [
            await made.deliver(letter(one, CAMPAIGN), recipients=(f"r{one}@b.example",))
            for one in range(25)
        ]
        made.say(found[0], 3)
        await made.look()
        await made.end()
        await made.begin()
        made.policy = written(tmp_path / "new", ALL)
        last = await made.deliver(letter(99, another(99)))
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        assert made.made(last)
        assert not made.engine.paused


async def test_moves_of_an_hour_ago_count_no_more_after_a_restart(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED, runaway_share=0.05, runaway_messages=20) as made:
        made.policy = written(tmp_path / "new", ALL)
        for one in range(19):
            await made.deliver(letter(one, another(one)))
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        await made.end()
        made.now += HOUR_S
        await made.begin()
        await made.deliver(letter(99, another(99)))
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        assert not made.engine.paused


def test_the_same_text_without_anybodys_word_runs_away() -> None:
    runaway = RunawayGuard(share=0.1, least=10)
    for one in range(20):
        runaway.decided(one, [Shingle(ShingleType.TEMPLATE, 1)], word=False, now=NOW)
    assert runaway.runs(100, NOW)


def test_an_hour_later_it_is_forgotten() -> None:
    runaway = RunawayGuard(share=0.1, least=10)
    for one in range(20):
        runaway.decided(one, [], word=False, now=NOW)
    assert runaway.runs(100, NOW)
    assert not runaway.runs(100, NOW + HOUR_S)


DECIDED = st.lists(
    st.tuples(
        st.integers(0, 50),
        st.sets(st.integers(1, 6), max_size=3),
        st.booleans(),
        st.floats(0, 1800),
    ),
    max_size=60,
)


@given(decided=DECIDED, passed=st.integers(0, 500))
def test_it_stops_for_what_no_campaign_explains_and_for_nothing_else(
    decided: list[tuple[int, set[int], bool, float]], passed: int
) -> None:
    """Invariant: what counts is exactly the messages without people's word, or alike with fewer
    than ALIKE that have it.
    """
    runaway, now = RunawayGuard(share=0.1, least=5), NOW
    for ident, pieces, word, wait_s in sorted(decided, key=lambda one: one[3]):
        now = NOW + wait_s
        runaway.decided(
            ident, [Shingle(ShingleType.TEMPLATE, one) for one in pieces], word=word, now=now
        )
    with_word = [pieces for _, pieces, word, _ in decided if word]
    alike = {one for one in range(1, 7) if sum(one in pieces for pieces in with_word) >= ALIKE}
    unexplained = {ident for ident, pieces, word, _ in decided if not (word and pieces & alike)}
    assert runaway.unexplained(now) == len(unexplained)
    runs = len(decided) >= 5 and len(unexplained) >= 5 and len(unexplained) > 0.1 * passed
    assert bool(runaway.runs(passed, now)) is runs
