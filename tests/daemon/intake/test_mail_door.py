"""The door for reports, spoken to as mail servers do: what is answered, and when."""

from __future__ import annotations

import asyncio
import smtplib
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import msgspec
import pytest

from oborona.config import Settings
from oborona.daemon.intake.event_sink import REFUSED, EventSink
from oborona.daemon.intake.mail_door import ReportMailServer, address_roles
from oborona.daemon.intake.mail_events import IntakeMailServices
from oborona.errors import StoreFull
from oborona.feedback.events.model import EventKind, EventReceipt, FeedbackEvent
from oborona.journal.entry_finder import LazyEntryFinder
from oborona.policy.traps import Traps
from tests.daemon.intake.letters import forwarded, spam
from tests.daemon.intake.test_mail_events import bench, letter, report_entry

PATIENCE_S: Final = 30


class Log:
    """The log of events: it takes them, or does not."""

    def __init__(self) -> None:
        self.events: list[FeedbackEvent] = []
        self.full = False

    async def take(self, event: FeedbackEvent) -> EventReceipt:
        await asyncio.sleep(0)
        if self.full:
            raise StoreFull("no room")
        self.events.append(event)
        return EventReceipt(len(self.events), True)


class Door:
    """The door, and what came through it."""

    def __init__(self, found: IntakeMailServices, folder: Path) -> None:
        self.log = Log()
        self.desk = EventSink(self.log, 5.0)
        self.server = ReportMailServer(
            found, self.desk, LazyEntryFinder(folder / "journal.db"), "mx.test", folder
        )
        self.socket = socket.create_server(("127.0.0.1", 0))

    async def ask(self, ask: Callable[[smtplib.SMTP], object], *, lmtp: bool = True) -> object:
        kind = smtplib.LMTP if lmtp else smtplib.SMTP
        host, port = self.socket.getsockname()

        def asked() -> object:
            with kind(host, port, timeout=PATIENCE_S) as client:
                return ask(client)

        return await asyncio.to_thread(asked)

    async def send(
        self, raw: bytes, *to: str, lmtp: bool = True, sender: str = "ann@b.example"
    ) -> list[int]:
        """Deliver a mail; return the codes behind it, of each recipient as LMTP has it."""

        def ask(client: smtplib.SMTP) -> list[int]:
            client.ehlo_or_helo_if_needed()
            client.mail(sender)
            for one in to:
                assert client.rcpt(one)[0] == 250
            assert client.docmd("DATA")[0] == 354
            client.send(raw.replace(b"\r\n.", b"\r\n..") + b"\r\n.\r\n")
            return [client.getreply()[0] for _ in (to if lmtp else to[:1])]

        found = await self.ask(ask, lmtp=lmtp)
        assert isinstance(found, list)
        return found


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    found = Door(bench(report_entry(), traps=Traps(addresses=["old@b.example"])), tmp_path)
    await found.server.start(found.socket)
    yield found
    await found.server.drain(5)
    found.socket.close()


REPORT: Final = letter(forwarded(spam(5))).raw


@pytest.mark.parametrize("lmtp", [True, False], ids=["lmtp", "smtp"])
async def test_a_report_is_taken(door: Door, lmtp: bool) -> None:
    assert await door.send(REPORT, "Spam@b.example", lmtp=lmtp) == [250]
    (event,) = door.log.events
    assert (event.what, event.person, event.ident) == (EventKind.COMPLAINT, "ann@b.example", 5)


async def test_each_recipient_has_an_answer(door: Door) -> None:
    answers = await door.send(
        REPORT, "spam@b.example", "bob@b.example", "old@b.example", sender="x@bad.example"
    )
    assert answers == [250, 451, 250]
    # our own people's mail is no trap's
    assert [one.what for one in door.log.events] == [EventKind.COMPLAINT]
    assert await door.send(REPORT, "spam@b.example", "bob@b.example", lmtp=False) == [451], (
        "the worst"
    )


async def test_what_can_t_be_written_is_put_off(door: Door) -> None:
    door.log.full = True
    assert await door.send(REPORT, "spam@b.example", "ham@b.example") == [451, 451]
    door.log.full = False
    assert await door.send(REPORT, "spam@b.example") == [250]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n",
        b"no header at all",
        b"Subject: x\r\n\r\n" + b"a" * 300_000,
        forwarded(spam(5))[:400],
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\n" * 20_000,
        forwarded(*[spam(None)] * 3000),
        b"X-Mras-Id: \xff\0\r\nContent-Type: message/rfc822\r\n\r\n" * 200,
    ],
    ids=["empty", "blank", "no header", "long line", "cut", "parts", "three thousand", "deep"],
)
async def test_whatever_comes_is_taken_and_nobody_hears_of_it(door: Door, raw: bytes) -> None:
    """A refusal would be returned to whoever the sender's address belongs to."""
    assert (
        await door.send(raw, "spam@b.example", "loops@b.example", "old@b.example", sender="")
        == [250] * 3
    )
    assert door.log.events == []
    assert REFUSED.values


async def test_a_fault_of_ours_loses_nothing(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: bytes) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("oborona.daemon.intake.mail_events.report_mail", broken)
        assert await door.send(REPORT, "spam@b.example") == [451]
    assert await door.send(REPORT, "spam@b.example") == [250]


async def test_half_a_mail_is_none(door: Door) -> None:
    def ask(client: smtplib.SMTP) -> None:
        client.ehlo()
        client.mail("ann@b.example")
        client.rcpt("spam@b.example")
        client.docmd("DATA")
        client.send(REPORT)
        client.close()

    await door.ask(ask)
    assert await door.send(REPORT, "spam@b.example") == [250]
    assert len(door.log.events) == 1


def test_addresses_have_their_roles() -> None:
    asked = msgspec.structs.replace(
        Settings().intake,
        report_spam="Spam@b.example abuse@b.example",
        report_loops="fbl@b.example spam@b.example",
    )
    assert address_roles(asked) == {
        "spam@b.example": "spam",
        "abuse@b.example": "spam",
        "fbl@b.example": "loop",
    }
    assert asked.reports == {"spam@b.example", "abuse@b.example", "fbl@b.example"}
