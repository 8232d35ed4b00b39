"""A campaign taken back: complaints of some readers move the unread copies of the others, and
nothing else.
"""

from __future__ import annotations

from pathlib import Path

from oborona.journal.entry import JournalEntry
from oborona.recheck.engine.loop import MESSAGES
from oborona.recheck.engine.model import ReaderAction, RecheckCause
from oborona.recheck.mailboxes.model import MoveOutcome
from oborona.recheck.moves import MoveState
from oborona.types import Action
from tests.recheck.engine.scene import CAMPAIGN, COMPLAINED, Scene, another, letter, replaced, scene


async def delivered(made: Scene, number: int = 20) -> list[JournalEntry]:
    """Deliver a campaign to many, and as many other messages between."""
    found = []
    for one in range(number):
        found.append(
            await made.deliver(letter(one, CAMPAIGN), recipients=(f"reader{one}@b.example",))
        )
        sender = f"eve{one}@c{one}.example"
        raw = letter(1000 + one, another(one), sender=sender)
        await made.deliver(
            raw, recipients=(f"reader{one}@b.example",), sender=sender, ip=f"203.0.{one}.9"
        )
        made.now += 0.1
    assert all(one.verdict is Action.ACCEPT for one in found)
    return found


async def test_complaints_of_some_move_the_copies_of_the_others(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        campaign = await delivered(made)
        made.say(campaign[0], 3)
        await made.look()
        await made.move()
        assert sorted(made.boxes.moved) == sorted(one.id for one in campaign)
        letters = {
            letter.user: (letter, source, target, force)
            for letter, source, target, force in made.boxes.asked
        }
        one, source, target, force = letters["reader3"]
        assert (source, target, force) == ("INBOX", "Junk", False)
        assert one.message_id == campaign[3].message_id
        (move,) = made.made(campaign[3])
        assert move.state is MoveState.DONE
        assert move.why == "COMPLAINED 3 complained"
        assert move.score >= 120.0, (
            "what they said of it weighs on its sender, too, whatever else of his came today"
        )
        assert (move.line, move.event) == (100.0, "word")


async def test_the_newest_are_moved_first(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        campaign = await delivered(made)
        made.say(campaign[0], 3)
        await made.look()
        await made.move()
        assert made.boxes.moved == [one.id for one in reversed(campaign)]


async def test_too_few_complaints_move_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        campaign = await delivered(made, 5)
        made.say(campaign[0], 2)
        await made.look()
        assert MESSAGES.value("judged") >= len(campaign)
        assert MESSAGES.value("decided") == 0


async def test_who_has_opened_or_moved_it_keeps_it(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        campaign = await delivered(made, 6)
        made.people.hands = {
            campaign[1].id: [ReaderAction("reader1@b.example", moved=False, opened=True)],
            campaign[2].id: [ReaderAction("reader2@b.example", moved=True, opened=False)],
            campaign[3].id: [ReaderAction("somebody.else@b.example", moved=True, opened=True)],
        }
        made.say(campaign[0], 3)
        await made.look()
        await made.move()
        assert sorted(made.boxes.moved) == sorted(campaign[one].id for one in (0, 3, 4, 5))


async def test_what_a_mailbox_refuses_is_asked_once(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        campaign = await delivered(made, 4)
        made.boxes.answers = {"reader1": MoveOutcome.SEEN, "reader2": MoveOutcome.UNABLE}
        for _ in range(3):
            made.say(campaign[0], 3)
            await made.look()
            await made.move()
        assert len(made.boxes.asked) == len(campaign)
        states = [made.made(one)[0].state for one in campaign]
        assert states == [MoveState.DONE, MoveState.KEPT, MoveState.FAILED, MoveState.DONE]


async def test_pardons_bring_back_what_was_moved_once(tmp_path: Path) -> None:
    rule = COMPLAINED.replace(
        "mass.complaints >= 3", "mass.complaints >= 3 and count[Template].day.pardons < 5"
    )
    async with scene(tmp_path, rule) as made:
        campaign = await delivered(made, 4)
        made.say(campaign[0], 3)
        await made.look()
        await made.move()
        made.say(campaign[0], 5, pardon=True)
        await made.look()
        await made.move()
        back = [(source, target) for _, source, target, _ in made.boxes.asked[len(campaign) :]]
        assert back == [("Junk", "INBOX")] * len(campaign)
        made.say(campaign[0], 3)
        await made.look()
        await made.move()
        assert len(made.boxes.asked) == 2 * len(campaign)


async def test_what_was_filed_comes_back_by_pardons_and_not_by_the_clock(tmp_path: Path) -> None:
    spam = '[[rule]]\nname = "SPAM"\nwhen = "count[Template].day.pardons < 3"\nscore = 100\n'
    async with scene(tmp_path, spam) as made:
        filed = await made.deliver(letter(1, CAMPAIGN))
        other = await made.deliver(letter(2, CAMPAIGN), recipients=("eve@b.example",))
        assert filed.verdict is Action.SPAM
        made.say(filed, 3, pardon=True)
        await made.look()
        assert [(one.source, one.target) for one in made.made(other)] == [("Junk", "INBOX")]


async def test_several_recipients_are_several_copies(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        one = await made.deliver(letter(1, CAMPAIGN), recipients=("joe@b.example", "eve@b.example"))
        made.people.hands = {one.id: [ReaderAction("eve@b.example", moved=False, opened=True)]}
        made.say(one, 3)
        await made.look()
        assert [move.recipient for move in made.made(one)] == ["joe@b.example"]
        (found,) = made.decided
        assert [(stay.recipient, stay.why) for stay in found.stays] == [("eve@b.example", "opened")]


async def test_what_did_not_pass_is_never_moved(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        refused = await made.deliver(
            letter(1, CAMPAIGN), change=lambda one: replaced(one, verdict=Action.REJECT)
        )
        made.engine.add(RecheckCause.ASKED, refused.shingles)
        made.say(refused, 3)
        await made.look()
        assert made.made(refused) == []


async def test_a_message_older_than_the_window_stays(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED, window_s=3600.0) as made:
        old = await made.deliver(letter(1, CAMPAIGN))
        made.now += 3601
        new = await made.deliver(letter(2, CAMPAIGN))
        made.say(new, 3)
        await made.look()
        assert made.made(old) == []
        assert len(made.made(new)) == 1
