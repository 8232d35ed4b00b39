"""Whoever is refused before the content is told a reference that the journal answers for."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from oborona.doors.guard import NO_ANSWER, HandlerGuard, is_unanswered
from oborona.doors.reply import BUSY, ReplyAction, SessionReply, is_busy
from oborona.ident import from_text
from oborona.journal.journal import JournalWriter
from oborona.journal.refusal import RecordedRefusal, Told
from oborona.message.shingles import ShingleType
from oborona.session.loop_lag import LoopLag
from oborona.session.refusals import TOO_BUSY, TOO_MANY, UNANSWERED, turned_away_reply
from oborona.session.session import Session
from oborona.types import Action, Client, Stage
from tests.session.test_account_refusal import JOE, Blocks
from tests.session.test_envelope_stages import BANNED, FORGED, IP, NOBODY, place
from tests.session.test_outgoing_limits import limit
from tests.session.test_session import NOW, Table, gathered


class Behind(LoopLag):
    """A loop that is behind so far that everybody is turned away."""

    behind_s = 50.0


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[JournalWriter]:
    async with await JournalWriter.open(tmp_path / "journal.db") as written:
        yield written


def table_of(folder: Path, journal: JournalWriter, rules: str = "", **more: object) -> Table:
    """Return a session whose refusals go into a journal."""
    table = Table(folder / "policy.d", rules, **more)  # type: ignore[arg-type]
    recording(table, refusals=journal)
    return table


def recording(table: Table, **changes: object) -> None:
    table.session = Session(msgspec.structs.replace(table.session._services, **changes))


async def answer(journal: JournalWriter, reply: SessionReply) -> RecordedRefusal:
    """Return what the journal has of the reference in a reply."""
    found = re.search(r"reference ([0-9A-Z]{13})", reply.text)
    assert found is not None, reply
    number = from_text(found[1])
    assert number is not None
    await journal.flush()
    recorded = await journal.refusal(number)
    assert recorded is not None, reply
    assert recorded.refusal.id == number
    return recorded


async def meet(table: Table, ip: str = IP, sender: str = "ann@a.example") -> list[SessionReply]:
    session = table.session
    heard = [await session.connect(Client(ip=ip, name="a.example"))]
    heard += [await session.helo("b.example"), await session.mail(sender, ())]
    return [*heard, await session.rcpt("nobody@b.example", ())]


@pytest.mark.parametrize(
    ("at", "rules", "heard", "stage"),
    [
        ("connect", BANNED, 0, Stage.CONNECT),
        ("sender", BANNED, 2, Stage.CONNECT),
        ("recipient", BANNED, 3, Stage.CONNECT),
        ("sender", FORGED, 2, Stage.SENDER),
        ("recipient", FORGED, 3, Stage.SENDER),
        ("connect", NOBODY, 3, Stage.RECIPIENT),
    ],
)
async def test_a_refusal_at_each_stage_has_an_answer_wherever_it_is_told(
    tmp_path: Path, journal: JournalWriter, at: str, rules: str, heard: int, stage: Stage
) -> None:
    table = table_of(tmp_path, journal, rules)
    place(tmp_path / "policy.d", at)
    table = table_of(tmp_path, journal, rules)
    reply = (await meet(table))[heard]
    assert reply.answer is ReplyAction.REJECT
    assert reply.judged is not None
    told = (Told.CONNECT, Told.CONNECT, Told.SENDER, Told.RECIPIENT)[heard]
    recorded = await answer(journal, reply)
    refusal = recorded.refusal
    assert (refusal.stage, refusal.told, refusal.verdict) == (stage, told, Action.REJECT)
    assert refusal.decided_by in ("BANNED", "FORGED", "NOBODY")
    assert [hit.name for hit in refusal.rules] == [refusal.decided_by]
    assert (refusal.client_ip, refusal.time) == (IP, NOW)
    assert refusal.sender == ("" if heard < 2 else "ann@a.example")
    assert refusal.recipients == (("nobody@b.example",) if heard == 3 else ())
    assert reply.judged.reference in reply.text, "for protocols that tell it apart"


async def test_who_comes_again_is_told_the_same_and_each_recipient_is_counted(
    tmp_path: Path, journal: JournalWriter
) -> None:
    table = table_of(tmp_path, journal, BANNED)
    first = (await meet(table))[-1]
    for number in range(4):
        assert (await table.session.rcpt(f"u{number}@b.example", ())).text == first.text
    table.session.abort()
    await table.session.mail("ann@a.example", ())
    assert (await table.session.rcpt("nobody@b.example", ())).text == first.text, "a retry"
    table.session.close()
    assert (await meet(table))[-1].text == first.text, "by another connection, too"
    table.session.close()
    recorded = await answer(journal, first)
    assert (recorded.times, recorded.recipients) == (3, 7)
    await meet(table, sender="eve@a.example")
    other = await table.session.rcpt("nobody@b.example", ())
    assert other.text != first.text, "another message has its own"
    assert (await answer(journal, other)).refusal.sender == "eve@a.example"


async def test_a_client_that_left_before_it_was_told_is_recorded_as_such(
    tmp_path: Path, journal: JournalWriter
) -> None:
    table = table_of(tmp_path, journal, BANNED)
    await table.session.connect(Client(ip=IP))
    await asyncio.sleep(0.1)
    table.session.close()
    assert journal._refusals.waiting == 1
    (row,) = journal._refusals.batch(5).fresh
    assert "never" in row
    reply = (await meet(table))[-1]
    assert (await answer(journal, reply)).refusal.told is Told.RECIPIENT


async def test_a_blocked_account_has_an_answer_at_each_place(
    tmp_path: Path, journal: JournalWriter
) -> None:
    table = table_of(tmp_path, journal)
    recording(table, accounts=(blocks := Blocks()))
    session = table.session
    await session.connect(Client(ip="192.0.2.1"))
    session.learn({"auth_authen": JOE})
    await session.mail("joe@b.example", ())
    early = await session.rcpt("bob@b.example", ())
    recorded = await answer(journal, early)
    assert (recorded.refusal.decided_by, recorded.refusal.login) == ("account-banned", JOE)
    block, blocks.block = blocks.block, None
    session.abort()
    await session.mail("joe@b.example", ())
    await session.rcpt("bob@b.example", ())
    blocks.block = block
    late = await session.end_of_message(gathered(b"", b"hi"))
    assert (await answer(journal, late)).refusal.told is Told.CONTENT


async def test_a_limit_that_is_used_up_has_an_answer(
    tmp_path: Path, journal: JournalWriter
) -> None:
    for then, action in (("tempfail", Action.TEMPFAIL), ("refuse", Action.REJECT)):
        table = table_of(tmp_path, journal, limit(then, most="1", count="messages"))
        session = table.session
        for _ in range(2):
            session.learn({"daemon_port": "587"})
            await session.connect(Client(ip="192.0.2.7"))
            session.learn({"auth_authen": "ann@a.example"})
            reply = await session.mail("ann@a.example", ())
            if reply.answer is ReplyAction.CONTINUE:
                await session.rcpt("bob@b.example", ())
                await session.end_of_message(gathered(b"", b"hi"))
                await asyncio.sleep(0)
        refusal = (await answer(journal, reply)).refusal
        assert (refusal.decided_by, refusal.verdict, refusal.login) == (
            "A",
            action,
            "ann@a.example",
        )
        assert refusal.rules[0].say == "2 of 1"


async def test_who_is_turned_away_in_a_rush_has_an_answer(
    tmp_path: Path, journal: JournalWriter
) -> None:
    place(tmp_path, "sender")
    table = table_of(tmp_path, journal, FORGED)
    place(tmp_path / "policy.d", "sender")
    table = table_of(tmp_path, journal, FORGED, pulse=Behind())
    session = table.session
    assert (await session.connect(Client(ip="192.0.2.1"))) is BUSY, "which nobody hears"
    early = await session.mail("ann@a.example", ())
    assert is_busy(early)
    refusal = (await answer(journal, early)).refusal
    assert (refusal.decided_by, refusal.told, refusal.sender) == (
        TOO_BUSY,
        Told.SENDER,
        "ann@a.example",
    )
    late = await session.end_of_message(gathered(b"", b"hi"))
    assert is_busy(late)
    assert late.judged is None
    assert (await answer(journal, late)).refusal.told is Told.CONTENT
    crowded = HandlerGuard.put_off(session, busy=True)
    assert is_busy(crowded)
    assert (await answer(journal, crowded)).refusal.decided_by == TOO_BUSY
    assert table.journal == []


async def test_who_comes_when_a_door_is_full_has_an_answer(
    tmp_path: Path, journal: JournalWriter
) -> None:
    table = table_of(tmp_path, journal)
    recording(table, door="proxy")
    services = table.session._services
    for address in ("203.0.113.9", ""):
        told = [turned_away_reply(services, address) for _ in range(3)]
        assert is_busy(told[0])
        assert len({reply.text for reply in told}) == 1, "a flood has one reference"
        recorded = await answer(journal, told[0])
        refusal = recorded.refusal
        assert (refusal.decided_by, refusal.told, refusal.door) == (TOO_MANY, Told.CONNECT, "proxy")
        assert (refusal.client_ip, refusal.sender, recorded.times) == (address, "", 3)


async def test_a_fault_of_ours_has_an_answer_unless_that_fails_too(
    tmp_path: Path, journal: JournalWriter
) -> None:
    table = table_of(tmp_path, journal)

    class Twice:
        def unjudged(self, _message: object) -> SessionReply:
            raise RuntimeError("once more")

        put_off = table.session.put_off

    async def fails() -> SessionReply:
        raise RuntimeError("once")

    guard, message = HandlerGuard(ReplyAction.CONTINUE), gathered(b"", b"hi")
    await table.session.connect(Client(ip="192.0.2.1"))
    for door in (Twice(), table.session):
        reply = await guard.judged(fails(), door, message)
        assert is_unanswered(reply)
        assert (await answer(journal, reply)).refusal.decided_by == UNANSWERED
    Twice.put_off = Twice.unjudged  # type: ignore[assignment]
    assert await guard.judged(fails(), Twice(), message) is NO_ANSWER


async def test_nothing_of_it_is_counted_or_journaled_as_mail(
    tmp_path: Path, journal: JournalWriter
) -> None:
    table = table_of(tmp_path, journal, FORGED)
    await meet(table, "192.0.2.9")
    table.session.close()
    await asyncio.sleep(0)
    assert await table.seen(ShingleType.CLIENT_IP, "192.0.2.9") == 0
    await journal.flush()
    assert (table.journal, await journal.count()) == ([], 0)


@pytest.mark.parametrize("text", ["\x1b]0;x\x07\0\r\n", "\ud800\udcff", "x" * 1_000_000])
async def test_whatever_a_client_says_is_answered_and_recorded(
    tmp_path: Path, journal: JournalWriter, text: str
) -> None:
    table = table_of(tmp_path, journal, NOBODY)
    session = table.session
    await session.connect(Client(ip=text, name=text))
    await session.helo(text)
    await session.mail(text, ())
    reply = await session.rcpt("nobody@b.example", ())
    recorded = await answer(journal, reply)
    assert recorded.refusal.helo == text[:255]
    assert recorded.refusal.sender == text[:255]


async def test_a_journal_that_takes_nothing_costs_no_answer(
    tmp_path: Path, journal: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_refusal: object) -> int:
        raise RuntimeError("a fault")

    monkeypatch.setattr(journal._refusals, "take", broken)
    table = table_of(tmp_path, journal, NOBODY)
    assert (await meet(table))[-1].code == 550
