"""The filter of OpenSMTPD by transcripts, against a real milter door: each answer in smtpd's words,
and never none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from oborona.config.address import Address, UnixAddress
from oborona.errors import PeerError
from oborona.milter.opensmtpd.filter import AWAY, FILTERS, PROCEED, OpenSmtpdFilter
from oborona.milter.opensmtpd.milter_client import MilterClient
from tests.peers.doorman import Doorman, listen

PATIENCE_S = 10.0
MESSAGE = [
    "Received: from client.test",
    "\tby mx.test (OpenSMTPD) with ESMTP id d6f70649",
    "X-Mras: forged",
    "Subject: hi|there",
]


class Smtpd:
    """The other side: says lines, hears answers."""

    def __init__(self, version: str) -> None:
        self.reader = asyncio.StreamReader(limit=1 << 16)
        self.said: asyncio.Queue[bytes] = asyncio.Queue()
        self.version = version

    def report(self, event: str, rest: str = "", session: str = "ab") -> None:
        self.reader.feed_data(
            f"report|{self.version}|1.5|smtp-in|{event}|{session}|{rest}\n".encode()
        )

    async def ask(self, phase: str, rest: str = "", session: str = "ab") -> str:
        """Return what is decided in a phase."""
        self.reader.feed_data(
            f"filter|{self.version}|1.5|smtp-in|{phase}|{session}|7f|{rest}\n".encode()
        )
        return (
            (await self.hear())
            .decode()
            .removeprefix(f"filter-result|{session}|7f|")
            .removesuffix("\n")
        )

    async def hear(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            return await self.said.get()

    async def connect(self, source: str = "192.0.2.9:4711", session: str = "ab") -> str:
        self.report("link-connect", f"mail.a.example|pass|{source}|192.0.2.25:25", session)
        return await self.ask("connect", f"mail.a.example|{source}", session)

    async def message(self, lines: list[str], session: str = "ab") -> list[str]:
        """Return the message as it comes back, and what is said at commit."""
        for line in [*lines, "."]:
            self.reader.feed_data(
                f"filter|{self.version}|1.5|smtp-in|data-line|{session}|7f|{line}\n".encode()
            )
        back = (await self.hear()).decode().split("\n")
        start = f"filter-dataline|{session}|7f|"
        assert back[-2:] == [f"{start}.", ""]
        return [
            *(line.removeprefix(start) for line in back[:-2]),
            await self.ask("commit", session=session),
        ]


@asynccontextmanager
async def smtpd(
    address: Address, *, away: str = AWAY, version: str = "0.7", patience_s: float = PATIENCE_S
) -> AsyncIterator[Smtpd]:
    peer = Smtpd(version)
    running = asyncio.create_task(
        OpenSmtpdFilter(
            lambda: MilterClient.to(address), peer.said.put_nowait, away, patience_s
        ).run(peer.reader)
    )
    yield peer
    peer.reader.feed_eof()
    await running


@pytest.fixture(scope="module", params=["native", "libmilter"])
def door(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Doorman, Address]]:
    folder = tmp_path_factory.mktemp("door")
    sock, address = listen("unix", folder)
    settings = {"waits": ["connect", "sender", "recipient"], "guard_s": 2.0}
    with Doorman(sock, folder / "journal", transport=request.param, **settings) as doorman:
        yield doorman, address
    sock.close()


async def test_it_registers_what_it_answers(tmp_path: Path) -> None:
    async with smtpd(UnixAddress(str(tmp_path / "none"))) as peer:
        peer.reader.feed_data(b"config|smtpd-version|7.8.0\nconfig|protocol|0.7\nconfig|ready\n")
        lines = (await peer.hear()).decode().split("\n")
    assert lines[:2] == ["register|filter|smtp-in|connect", "register|filter|smtp-in|helo"]
    assert lines[-2:] == ["register|ready", ""]
    assert len([line for line in lines if line.startswith("register|filter|")]) == len(FILTERS)


@pytest.mark.parametrize("version", ["0.6", "0.7"])
async def test_the_door_is_told_all_and_marks_the_message(
    door: tuple[Doorman, Address], version: str
) -> None:
    doorman, address = door
    doorman.mark()
    async with smtpd(address, version=version) as peer:
        assert await peer.connect() == PROCEED
        assert await peer.ask("ehlo", "client.test") == PROCEED
        peer.report("link-auth", "an|n|pass" if version == "0.6" else "pass|an|n")
        assert await peer.ask("mail-from", "ann@a.example") == PROCEED
        peer.report("tx-begin", "d6f70649")
        assert await peer.ask("rcpt-to", "joe@example.test") == PROCEED
        lines = await peer.message([*MESSAGE, "", "..dot", "body"])
        peer.report("tx-reset", "d6f70649")
        assert await peer.ask("mail-from", "") == PROCEED
        peer.report("link-disconnect")
    assert lines == [
        *MESSAGE[:2], "Subject: hi|there", "X-Mras: Ok", "X-Mras-Reason: A=1.0", "\tB=2.0", "", "..dot", "body", PROCEED,
    ]  # fmt: skip
    told = doorman.told()
    assert ["connect", "192.0.2.9", "mail.a.example", 4711] in told
    assert ["helo", "client.test"] in told
    assert ["mail", "ann@a.example"] in told
    assert ["mail", ""] in told
    assert ["rcpt", "joe@example.test"] in told
    (end,) = (one for one in told if one[0] == "end")
    assert end[1] == "X-Mras: forged\r\nSubject: hi|there\r\n\r\n.dot\r\nbody\r\n"
    learned = {
        name: value for one in told if one[0] == "learn" for name, value in one[1].items() if value
    }
    assert learned == {
        "daemon_port": "25",
        "client_ptr": "mail.a.example",
        "auth_authen": "an|n",
        "i": "d6f70649",
    }


async def test_a_client_is_refused_at_connect_and_hung_up_on(door: tuple[Doorman, Address]) -> None:
    async with smtpd(door[1]) as peer:
        assert await peer.connect("192.0.2.66:25") == "disconnect|554 5.7.1 no entry"
        assert await peer.connect("[2001:db8::9]:25", session="cd") == PROCEED


async def test_its_sendmail_is_told_as_a_program_of_this_machine(
    door: tuple[Doorman, Address],
) -> None:
    doorman, address = door
    doorman.mark()
    async with smtpd(address) as peer:
        assert await peer.connect("unix:/var/run/smtpd.sock") == PROCEED
        peer.report("link-disconnect")
    assert ["connect", "127.0.0.1", "localhost", 0] in doorman.told()


@pytest.mark.parametrize(
    ("local", "said"),
    [("refuse", "reject|550 5.7.1 refused by the door"), ("tempfail", "reject|451 4.7.1 try again later"), ("accept", PROCEED)],
)  # fmt: skip
async def test_what_is_decided_before_the_content(
    door: tuple[Doorman, Address], local: str, said: str
) -> None:
    async with smtpd(door[1]) as peer:
        await peer.connect()
        assert await peer.ask("mail-from", f"{local}@a.example") == said
        peer.report("tx-reset", "0")
        assert await peer.ask("mail-from", "ann@a.example") == PROCEED
        assert await peer.ask("rcpt-to", f"{local}@example.test") == said
        assert await peer.ask("rcpt-to", "joe@example.test") == PROCEED
        lines = await peer.message(["Subject: hi", "", "body"])
        asked = local != "accept"  # which ends the asking
        assert ("X-Mras: Ok" in lines) is asked
        assert lines[-1] == PROCEED


@pytest.mark.parametrize(
    ("order", "said", "marked"),
    [
        ("refuse", "reject|550 5.7.1 refused by the door", False),
        ("tempfail", "reject|451 4.7.1 try again later", False),
        ("lines", "reject|550 5.7.1 Message refused as spam See https://mx.test/why", False),
        ("discard", PROCEED, True),  # smtpd can't throw away: the spam folder it is
        ("accept", PROCEED, False),
    ],
)
async def test_what_is_decided_by_the_content(
    door: tuple[Doorman, Address], order: str, said: str, *, marked: bool
) -> None:
    async with smtpd(door[1]) as peer:
        await peer.connect()
        await peer.ask("mail-from", "ann@a.example")
        await peer.ask("rcpt-to", "joe@example.test")
        lines = await peer.message([f"X-Do: {order}", "", "body"])
        assert lines[-1] == said
        assert ("X-Spam: yes" in lines) is marked
        assert await peer.ask("mail-from", "ann@a.example") == PROCEED
        await peer.ask("rcpt-to", "joe@example.test")
        assert (await peer.message(["Subject: next", "", "x"]))[-1] == PROCEED


async def test_sessions_do_not_wait_for_each_other(door: tuple[Doorman, Address]) -> None:
    async with smtpd(door[1]) as peer:
        await peer.connect(session="1")
        await peer.connect(session="2")
        peer.reader.feed_data(b"filter|0.7|1.5|smtp-in|mail-from|1|7f|nap@a.example\n")
        assert await peer.ask("mail-from", "ann@a.example", session="2") == PROCEED
        assert await peer.hear() == b"filter-result|1|7f|proceed\n"


@pytest.mark.parametrize(
    ("away", "connect", "rest"),
    [(PROCEED, PROCEED, PROCEED), (AWAY, AWAY.replace("reject|451", "disconnect|421"), AWAY)],
)
async def test_a_daemon_that_is_away(tmp_path: Path, away: str, connect: str, rest: str) -> None:
    async with smtpd(UnixAddress(str(tmp_path / "none")), away=away) as peer:
        assert await peer.connect() == connect
        assert await peer.ask("mail-from", "ann@a.example") == rest
        assert await peer.ask("rcpt-to", "joe@example.test") == rest
        assert await peer.message(["Subject: hi", "", "..body"]) == [
            "Subject: hi",
            "",
            "..body",
            rest,
        ]


@pytest.mark.parametrize("away", [PROCEED, AWAY])
async def test_a_daemon_that_hangs_up_with_the_message(tmp_path: Path, away: str) -> None:
    """Each of its connections is cut when the message is whole.

    The message comes back as it was.
    """

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readexactly(5)
            data = await reader.readexactly(int.from_bytes(head[:4], "big") - 1)
            if head[4:] == b"E":
                writer.close()
                return
            if head[4:] in b"OCMR":
                said = b"O" + data if head[4:] == b"O" else b"c"
                writer.write(len(said).to_bytes(4, "big") + said)

    async with (
        await asyncio.start_unix_server(cut, tmp_path / "door"),
        smtpd(UnixAddress(str(tmp_path / "door")), away=away) as peer,
    ):
        assert await peer.connect() == PROCEED
        assert await peer.ask("mail-from", "ann@a.example") == PROCEED
        assert await peer.message(["Subject: hi", "", "body"]) == ["Subject: hi", "", "body", away]


@pytest.mark.parametrize(
    "answer",
    [
        b"",  # silence
        b"\0\0\0\0",
        b"\xff\xff\xff\xffO",
        b"\0\0\0\rO\0\0\0\x06\0\0\0\0\0\0\0\0",  # agrees to nothing
        b"220 mx.test ESMTP\r\n",
        b"\0\0\0\x01c",
    ],
)
async def test_what_is_no_milter_of_ours_is_a_daemon_that_is_away(
    tmp_path: Path, answer: bytes
) -> None:
    async def rubbish(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await reader.read()
        writer.close()

    async with (
        await asyncio.start_unix_server(rubbish, tmp_path / "door"),
        smtpd(UnixAddress(str(tmp_path / "door")), away=PROCEED, patience_s=0.5) as peer,
    ):
        assert await peer.connect() == PROCEED
        assert await peer.ask("mail-from", "ann@a.example") == PROCEED


@pytest.mark.parametrize("size", [1, 2, 7, 64])
async def test_any_cut_of_smtpds_bytes_gives_the_same_answers(
    door: tuple[Doorman, Address], size: int
) -> None:
    """All that smtpd says of a session in pieces; what is answered is what whole lines get."""
    lines = (
        b"report|0.7|1.5|smtp-in|link-connect|ab|a.example|fail|192.0.2.9:4711|192.0.2.25:25\n"
        b"filter|0.7|1.5|smtp-in|connect|ab|7f|a.example|192.0.2.9\n"
        b"filter|0.7|1.5|smtp-in|mail-from|ab|7f|ann@a.example\n"
        b"filter|0.7|1.5|smtp-in|rcpt-to|ab|7f|refuse@a.example\n"
        b"filter|0.7|1.5|smtp-in|data-line|ab|7f|X-Do: accept\n"
        b"filter|0.7|1.5|smtp-in|data-line|ab|7f|.\n"
        b"filter|0.7|1.5|smtp-in|commit|ab|7f|\n"
    )
    async with smtpd(door[1]) as peer:
        for place in range(0, len(lines), size):
            peer.reader.feed_data(lines[place : place + size])
            await asyncio.sleep(0)
        said = [await peer.hear() for _ in range(5)]
    assert said == [
        b"filter-result|ab|7f|proceed\n",
        b"filter-result|ab|7f|proceed\n",
        b"filter-result|ab|7f|reject|550 5.7.1 refused by the door\n",
        b"filter-dataline|ab|7f|X-Do: accept\nfilter-dataline|ab|7f|\nfilter-dataline|ab|7f|.\n",
        b"filter-result|ab|7f|proceed\n",
    ]


@pytest.mark.parametrize(
    "line", [b"EHLO x\r\n", b"filter|0.7\n", b"x" * 70_000, b"y" * 70_000 + b"\n"]
)
async def test_who_does_not_speak_the_protocol_is_left(tmp_path: Path, line: bytes) -> None:
    peer = Smtpd("0.7")
    peer.reader.feed_data(line)
    with pytest.raises(PeerError):
        await OpenSmtpdFilter(
            lambda: MilterClient.to(UnixAddress(str(tmp_path / "none"))),
            peer.said.put_nowait,
            AWAY,
            1.0,
        ).run(peer.reader)
