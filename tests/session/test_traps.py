"""Mail to traps in a session: what is answered, what is written down, what becomes of the
message.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from oborona.doors.reply import ReplyAction, SessionReply
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.message.shingles import Hasher, ShingleType
from oborona.session.judge import REPORT
from oborona.session.session import Session
from oborona.session.traps import TRAP, TrapEventLog, trap_event
from oborona.session.traps import TRAPS as TO_TRAPS
from oborona.types import Action, Client, Envelope, Metric, Window
from tests.session.test_session import GTUBE, KEY, NOW, Table, added, gathered

TRAPS = """
[traps]
addresses = ["Old@b.example"]
domains = [".trap.example"]
then = "{then}"
[[rule]]
name = "BESIDE"
when = "recipients.traps > 0 and recipients.traps < recipients"
score = 100
"""


class Trapped(Table):
    """A session whose policy has traps, and the events that it wrote down."""

    def __init__(
        self, folder: Path, then: str = "drop", *, fails: bool = False, reports: str = ""
    ) -> None:
        super().__init__(folder, TRAPS.format(then=then))
        self.events: list[FeedbackEvent] = []
        self.fails = fails
        bench = msgspec.structs.replace(
            self.session._services, trap=self.keep, reports=frozenset(reports.split())
        )
        self.session = Session(bench)

    async def keep(self, event: FeedbackEvent) -> bool:
        self.events.append(event)
        return not self.fails

    async def to(
        self,
        *recipients: str,
        text: bytes = b"Cheap pills at noon",
        sender: str = "x@a.example",
        login: str = "",
    ) -> SessionReply:
        await self.session.connect(Client(ip="192.0.2.9", login=login))
        await self.session.mail(sender, ())
        for one in recipients:
            assert (await self.session.rcpt(one, ())).answer is ReplyAction.CONTINUE
        reply = await self.session.end_of_message(gathered(b"", text))
        await asyncio.sleep(0)
        return reply


async def test_a_message_to_traps_alone_is_written_down_and_thrown_away(tmp_path: Path) -> None:
    table = Trapped(tmp_path)
    reply = await table.to("old@B.example", "sales@sub.trap.example")
    assert reply == SessionReply(answer=ReplyAction.DISCARD, judged=reply.judged)
    assert reply.judged is not None, (
        "a protocol that tells a verdict tells the one that it would have had"
    )
    (event,) = table.events
    (entry,) = table.journal
    assert (event.what, event.way, event.person, event.source) == (
        EventKind.TRAP,
        EventChannel.TRAP,
        "",
        "192.0.2.9",
    )
    assert event.ident == entry.id
    assert b"Cheap pills" in event.raw
    assert event.mailbox == "old@B.example"
    assert entry.recipients == (), "nobody has it in a mailbox"
    assert entry.facts["recipients_traps"] == entry.facts["recipients"] == 2
    assert entry.verdict is Action.ACCEPT


async def test_beside_people_the_trap_is_removed_and_the_message_judged_knowing_it(
    tmp_path: Path,
) -> None:
    table = Trapped(tmp_path)
    reply = await table.to("bob@b.example", "old@b.example")
    assert reply.removed == ("old@b.example",)
    assert added(reply)["X-Mras"] == "Probable"
    assert table.journal[0].recipients == ("bob@b.example",)
    assert table.journal[0].decided_by == "BESIDE"
    assert len(table.events) == 1


async def test_people_alone_are_not_touched(tmp_path: Path) -> None:
    table = Trapped(tmp_path)
    reply = await table.to("bob@b.example", "postmaster@trap.example")
    assert not reply.removed
    assert not table.events
    assert table.journal[0].facts["recipients_traps"] == 0


@pytest.mark.parametrize("then", ["drop", "file"])
async def test_a_trap_answers_as_a_person_would(tmp_path: Path, then: str) -> None:
    """What a person's copy is refused for, a trap's is: who compares learns nothing.

    And it is learned from all the same.
    """
    table = Trapped(tmp_path, then)
    replies = [await table.to(who, text=GTUBE) for who in ("bob@b.example", "old@b.example")]
    assert {one.answer for one in replies} == {ReplyAction.REJECT}
    assert len({(one.code, one.text.partition("reference")[0]) for one in replies}) == 1
    assert len(table.events) == 1


async def test_a_trap_may_file(tmp_path: Path) -> None:
    table = Trapped(tmp_path, "file")
    reply = await table.to("old@b.example")
    assert reply.answer is ReplyAction.ACCEPT
    assert added(reply)["X-Mras"] == "Probable"
    entry = table.journal[0]
    assert (entry.verdict, entry.decided_by, entry.recipients) == (
        Action.SPAM,
        TRAP,
        ("old@b.example",),
    )
    assert entry.kept is not None
    assert entry.kept.site == (Action.ACCEPT, "below-threshold")
    read = await table.counts.read([Hasher(KEY).shingle(ShingleType.FROM, "ann@a.example")], NOW)
    assert read[0][Window.DAY][Metric.SEEN] == 1
    assert read[0][Window.DAY][Metric.SPAM] == 0, "that it came to a trap is counted by itself"


async def test_a_trap_may_refuse(tmp_path: Path) -> None:
    table = Trapped(tmp_path, "reject")
    reply = await table.to("old@b.example")
    assert (reply.answer, reply.code) == (ReplyAction.REJECT, 550)
    assert "spam" in reply.text
    assert len(table.events) == 1
    beside = await table.to("old@b.example", "bob@b.example")
    assert beside.removed == ("old@b.example",)


async def test_nothing_is_learned_from_our_own_people_and_from_bounces(tmp_path: Path) -> None:
    table = Trapped(tmp_path)
    own = await table.to("old@b.example", login="ann@b.example")
    assert own.answer is ReplyAction.ACCEPT, "it goes where they sent it, and comes back to them"
    bounce = await table.to("old@b.example", sender="")
    assert bounce.answer is ReplyAction.DISCARD
    assert not table.events


async def test_what_can_t_be_written_down_is_put_off_and_people_s_mail_goes_on(
    tmp_path: Path,
) -> None:
    table = Trapped(tmp_path, fails=True)
    assert (await table.to("old@b.example")).code == 451
    beside = await table.to("bob@b.example", "old@b.example")
    assert beside.answer is ReplyAction.ACCEPT
    assert beside.removed == ("old@b.example",)


@pytest.mark.parametrize("then", ["drop", "file"])
async def test_what_is_put_off_until_it_can_be_written_down_is_counted_once(
    tmp_path: Path, then: str
) -> None:
    table = Trapped(tmp_path, then, fails=True)
    assert (await table.to("old@b.example")).code == 451
    (entry,) = table.journal
    assert (entry.verdict, entry.shingles) == (Action.TEMPFAIL, ()), "nothing is looked up by it"
    assert await table.seen(ShingleType.FROM, "ann@a.example") == 0
    table.fails = False
    assert (await table.to("old@b.example")).answer is (
        ReplyAction.ACCEPT if then == "file" else ReplyAction.DISCARD
    )
    assert await table.seen(ShingleType.FROM, "ann@a.example") == 1


async def test_a_message_that_comes_again_has_the_same_key(tmp_path: Path) -> None:
    table = Trapped(tmp_path)
    await table.to("old@b.example", "a@trap.example")
    await table.to("a@trap.example", "old@b.example")
    await table.to("b@trap.example", "old@b.example")
    first, second, third = (one.key for one in table.events)
    assert first == second != third


async def test_a_report_is_taken_as_it_is_and_counts_nothing(tmp_path: Path) -> None:
    table = Trapped(tmp_path, reports="spam@b.example ham@b.example")
    reply = await table.to("Spam@b.example", text=GTUBE)
    assert reply.answer is ReplyAction.ACCEPT
    assert added(reply)["X-Mras"] == "Ok"
    entry = table.journal[0]
    assert (entry.decided_by, entry.sender, entry.shingles) == (REPORT, "x@a.example", ())
    assert await table.seen(ShingleType.FROM, "ann@a.example") == 0
    both = await table.to("spam@b.example", "bob@b.example", text=GTUBE)
    assert both.answer is ReplyAction.REJECT, "people's mail is judged"


async def test_the_log_of_events_may_be_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    event = trap_event(b"x", Envelope(sender="a@b.example", traps=("t@b.example",)), 5, "", NOW)
    assert event is not None
    path = tmp_path / "state" / "events.db"
    trapping = TrapEventLog(path, lambda: NOW)
    try:
        assert not await trapping.keep(event)
        assert not await trapping.keep(event)
        path.parent.mkdir()
        assert await trapping.keep(event)
        assert await trapping.keep(event)
    finally:
        await trapping.close()
    assert TO_TRAPS.values == {("failed",): 2, ("new",): 1, ("known",): 1}
    said = [one for one in caplog.messages if "traps" in one]
    assert said == ["mail to traps is not written down", "mail to traps is written down again"]
    with EventLog(path) as log:
        (stored,) = log.undecided(0, 10)
        assert (stored.what, stored.ident, log.raw(stored.id)) == (EventKind.TRAP, 5, b"x")
