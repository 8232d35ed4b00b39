"""Mail of our own people that comes back: counted for who sent it, once, and believed by the id
that we signed.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Final

import msgspec
import pytest

from oborona.accounts.excess import Excess, check_excess
from oborona.accounts.limits.reported_counts import bounces_key, unknown_users_key
from oborona.errors import StoreError
from oborona.ident import sign
from oborona.journal.entry import JournalEntry
from oborona.message.hashing import Hasher
from oborona.session.bounces import BOUNCES
from oborona.types import Action, Client, CounterPrefix, Metric, Window
from tests.session.test_session import KEY, NOW, Table, gathered

LIMIT: Final = """
[[limit]]
name = "UNKNOWN"
each = "account"
count = "unknown_users"
window = "hour"
limit = "max(1, 0.1 * sent)"
then = "alert"
"""
SENT: Final = 4711 << 22
HEAD: Final = b"Content-Type: multipart/report; report-type=delivery-status; boundary=b\n"


def bounce(*failed: tuple[str, str], ident: str = "", returned: bytes = b"") -> bytes:
    """Return the body of a bounce of a message of ours."""
    groups = "".join(
        f"\r\nFinal-Recipient: rfc822; {address}\r\nAction: failed\r\nStatus: {status}\r\n"
        for address, status in failed
    )
    name = ident or sign(SENT, KEY)
    head = returned or f"Subject: Hello\r\nX-Mras-Id: {name}\r\n".encode()
    return (
        b"--b\r\nContent-Type: text/plain\r\n\r\nIt did not arrive.\r\n"
        b"--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.b.example\r\n"
        + groups.encode()
        + b"\r\n--b\r\nContent-Type: text/rfc822-headers\r\n\r\n"
        + head
        + b"\r\n--b--\r\n"
    )


class Returning(Table):
    """A session to which mail of ours comes back."""

    def __init__(self, folder: Path, *, login: str = "Ann@a.example") -> None:
        super().__init__(folder, LIMIT)
        self.excesses: list[Excess] = []
        self.entry: JournalEntry | None = JournalEntry(
            id=SENT,
            time=NOW - 60,
            verdict=Action.ACCEPT,
            score=0.0,
            line=100.0,
            decided_by="",
            login=login,
            sender="ann@a.example",
            recipients=("Bob@b.example", "eve@c.example", "joe@d.example"),
            client_ip="192.0.2.7",
        )
        self.session._services = msgspec.structs.replace(
            self.session._services, excess=self, entry=self._find
        )

    async def _find(self, number: int) -> JournalEntry | None:
        return self.entry if number == SENT else None

    def take(self, excess: Excess) -> None:
        """Take an excess, as who follows accounts does."""
        check_excess(excess)
        self.excesses.append(excess)

    async def back(self, body: bytes, *, sender: str = "", head: bytes = HEAD) -> None:
        """Have a mail server send a message to Ann."""
        await self.session.connect(Client(ip="198.51.100.1"))
        await self.session.mail(sender, ())
        await self.session.rcpt("ann@a.example", ())
        await self.session.end_of_message(gathered(head, body))
        await asyncio.sleep(0)

    async def counted(self) -> tuple[int, int]:
        """Return the bounces of Ann, and those of them without a mailbox."""
        hasher = Hasher(KEY)
        keys = bounces_key("ann@a.example", hasher), unknown_users_key("ann@a.example", hasher)
        rows = await self.counts.read(keys, self.now, CounterPrefix.OUT)
        all_of, unknown = (row[Window.HOUR][Metric.SEEN] for row in rows)
        return all_of, unknown


async def test_each_recipient_that_failed_counts_once(tmp_path: Path) -> None:
    site = Returning(tmp_path)
    one = bounce(("bob@B.example", "5.1.1"), ("eve@c.example", "4.4.7"))
    for _ in range(3):
        await site.back(one)
    assert await site.counted() == (2, 1)
    await site.back(bounce(("joe@d.example", "5.1.10")))
    assert await site.counted() == (3, 2)


async def test_a_limit_is_tried_when_the_bounce_comes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Returning(tmp_path)
    caplog.set_level(logging.INFO, "oborona")
    before = BOUNCES.value("unknown user"), BOUNCES.value("other")
    await site.back(bounce(("bob@b.example", "5.1.1")))
    assert site.excesses == []
    await site.back(bounce(("eve@c.example", "5.1.1"), ("joe@d.example", "5.2.2")))
    (excess,) = site.excesses
    assert (excess.account, excess.limit, excess.metric) == ("ann@a.example", "UNKNOWN", "unknown_users")  # fmt: skip
    assert (excess.value, excess.most, excess.idents, excess.address) == (2, 1, (SENT,), "192.0.2.7")  # fmt: skip
    await site.back(bounce(("eve@c.example", "5.1.1")))
    assert len(site.excesses) == 1, "the same bounce says nothing new"
    assert [record.message for record in caplog.records].count("bounce") == 2
    assert (BOUNCES.value("unknown user"), BOUNCES.value("other")) == (before[0] + 2, before[1] + 1)


@pytest.mark.parametrize(
    ("body", "sender", "head"),
    [
        (bounce(("bob@b.example", "5.1.1"), ident=sign(SENT, b"another key of some site")), "", HEAD),
        (bounce(("bob@b.example", "5.1.1"), ident=sign(SENT + 1, KEY)), "", HEAD),
        (bounce(("bob@b.example", "5.1.1"), returned=b"Subject: Hello\r\n"), "", HEAD),
        (bounce(("bob@b.example", "5.1.1")), "eve@c.example", HEAD),
        (bounce(("bob@b.example", "5.1.1")), "", b"Content-Type: multipart/mixed; boundary=b\n"),
        (bounce(), "", HEAD),
        (b"At noon?", "", HEAD),
        (b"--b\r\nContent-Type: message/delivery-status\r\n\r\n" + b"\xff\0" * 10_000, "", HEAD),
    ],
)  # fmt: skip
async def test_what_is_no_bounce_of_ours_counts_nothing(
    tmp_path: Path, body: bytes, sender: str, head: bytes
) -> None:
    site = Returning(tmp_path)
    await site.back(body, sender=sender, head=head)
    assert await site.counted() == (0, 0)


async def test_mail_without_a_login_is_no_accounts(tmp_path: Path) -> None:
    site = Returning(tmp_path, login="")
    await site.back(bounce(("bob@b.example", "5.1.1")))
    assert await site.counted() == (0, 0)


async def test_recipients_whom_a_message_never_had_count_as_one(tmp_path: Path) -> None:
    """Who forwards mail may bounce it for others; who makes up recipients gains nothing."""
    site = Returning(tmp_path)
    made_up = [(f"x{number}@b.example", "5.1.1") for number in range(500)]
    await site.back(bounce(*made_up))
    await site.back(bounce(*reversed(made_up)))
    assert await site.counted() == (1, 1)


async def test_a_journal_that_cannot_be_read_stops_no_mail(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Returning(tmp_path)

    async def broken(_number: int) -> JournalEntry | None:
        raise StoreError("the disk is gone")

    site.session._services = msgspec.structs.replace(site.session._services, entry=broken)
    await site.back(bounce(("bob@b.example", "5.1.1")))
    assert "bounce not counted" in [record.message for record in caplog.records]
    assert site.journal[-1].sender == "", "the bounce itself was judged"
