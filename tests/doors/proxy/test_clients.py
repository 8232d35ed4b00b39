"""Whose mail it is: what mail servers say of their clients, what the next hop hears of them, who
logs in, and what is said in private.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from oborona.types import Client as Judged
from tests.doors.proxy.scripted import (
    MESSAGE,
    OFFERS,
    PATIENCE_S,
    Behind,
    Client,
    Sessions,
    proxy,
    send,
    until,
)
from tests.peers.certificate import write_certificate

XCLIENT: Final = "XCLIENT NAME ADDR PORT PROTO HELO LOGIN"
XFORWARD: Final = "XFORWARD NAME ADDR PORT PROTO HELO IDENT SOURCE"
PLAIN: Final = base64.b64encode(b"\0joe\0secret").decode()


def clients(sessions: Sessions) -> list[Judged]:
    """Return whom the session was told of, in order."""
    return [one[1] for one in sessions.told if one[0] == "connect"]


async def test_the_next_hop_hears_who_the_client_is_before_he_says_a_word() -> None:
    hop = Behind(offers=(*OFFERS, XCLIENT, XFORWARD))
    async with proxy(hop, trusted="") as opened:
        client = await opened.connect(None)
        assert await client.answer() == "220 hop.test ESMTP again"
        hello = (await client.ask("EHLO c"))[0]
        assert "XCLIENT" not in hello
        assert "XFORWARD" not in hello
        await send(client, MESSAGE, "joe@x.test")
        assert hop.commands[0] == b"EHLO mx.example.test"
        name, address, port = hop.commands[1].split()[1:]
        assert (name, address, port[:5]) == (b"NAME=client.test", b"ADDR=127.0.0.1", b"PORT=")
        assert hop.of(b"XFORWARD") == []


async def test_a_client_whom_the_next_hop_does_not_want_hears_so() -> None:
    async with proxy(
        Behind(offers=(XCLIENT,), says={"xclient": b"554 5.7.1 not you"}), trusted=""
    ) as opened:
        client = await opened.connect(None)
        assert await client.answer() == "554 5.7.1 not you"
        assert await client.gone()


async def test_a_next_hop_that_only_logs_hears_it_with_each_message() -> None:
    hop = Behind(offers=(XFORWARD,))
    async with proxy(hop, trusted="") as opened:
        client = await opened.connect("c.test")
        await send(client, MESSAGE, "joe@x.test")
        await send(client, MESSAGE, "joe@x.test")
        first, second = hop.of(b"XFORWARD")
        assert first == second
        words = first.split()
        assert words[1:3] == [b"NAME=client.test", b"ADDR=127.0.0.1"]
        assert words[4:] == [b"PROTO=ESMTP", b"HELO=c.test", b"SOURCE=REMOTE"]


async def test_strangers_speak_for_themselves() -> None:
    hop, sessions = Behind(offers=(XCLIENT, XFORWARD)), Sessions()
    async with proxy(hop, sessions, trusted="192.0.2.0/24") as opened:
        client = await opened.connect()
        before = len(hop.commands)
        assert [
            one[:9] for one in await client.ask("XCLIENT ADDR=192.0.2.9", "XFORWARD ADDR=192.0.2.9")
        ] == ["550 5.7.0"] * 2
        assert len(hop.commands) == before
        await send(client, MESSAGE, "joe@x.test")
        assert [one.ip for one in clients(sessions)] == ["127.0.0.1"]


async def test_a_mail_server_speaks_for_one_client_after_the_other() -> None:
    hop, sessions = Behind(offers=(XFORWARD,)), Sessions()
    async with proxy(hop, sessions) as opened:
        client = await opened.connect("front.test")
        told = await client.ask(
            "XFORWARD NAME=a.test ADDR=192.0.2.1 PORT=99",
            "XFORWARD PROTO=ESMTP HELO=h.test IDENT=4F1 SOURCE=REMOTE",
        )
        assert told == ["250 2.0.0 OK"] * 2
        await send(client, MESSAGE, "joe@x.test")
        await client.ask("XFORWARD NAME=[UNAVAILABLE] ADDR=IPv6:2001:DB8::1 SOURCE=LOCAL")
        await send(client, MESSAGE, "joe@x.test")
        await send(client, MESSAGE, "joe@x.test")  # it holds for one message
        assert clients(sessions) == [
            Judged(ip="192.0.2.1", name="a.test", port=99), Judged(ip="2001:db8::1"), Judged(ip="127.0.0.1", port=clients(sessions)[2].port),
        ]  # fmt: skip
        assert [one[1] for one in sessions.told if one[0] == "helo"] == [
            "h.test",
            "front.test",
            "front.test",
        ]
        assert {"i": "4F1"} in [one[1] for one in sessions.told if one[0] == "learn"]
        assert hop.of(b"XFORWARD") == [
            (
                b"XFORWARD NAME=a.test ADDR=192.0.2.1 PORT=99 PROTO=ESMTP HELO=h.test "
                b"IDENT=4F1 SOURCE=REMOTE"
            ),
            b"XFORWARD NAME=[UNAVAILABLE] ADDR=IPv6:2001:DB8::1 SOURCE=LOCAL",
        ]


async def test_a_client_is_said_anew_where_the_message_is() -> None:
    from oborona.doors.reply import SessionReply

    hop, sessions = (
        Behind(offers=(XFORWARD,)),
        Sessions(content=SessionReply(removed=("trap@x.test",))),
    )
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        await client.ask("XFORWARD ADDR=192.0.2.1")
        await send(client, MESSAGE, "joe@x.test", "trap@x.test")
        verbs = [one.split()[0] for one in hop.commands]
        assert verbs == [
            b"EHLO",
            b"XFORWARD",
            b"MAIL",
            b"RCPT",
            b"RCPT",
            b"RSET",
            b"XFORWARD",
            b"MAIL",
            b"RCPT",
            b"DATA",
        ]


@pytest.mark.parametrize("offers", [(XCLIENT,), (XFORWARD,), ()])
async def test_a_mail_server_becomes_its_client(offers: tuple[str, ...]) -> None:
    hop, sessions = Behind(offers=offers), Sessions()
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        (answer,) = await client.ask("XCLIENT NAME=a.test ADDR=192.0.2.1 LOGIN=joe DESTPORT=587")
        assert answer == (
            "220 hop.test ESMTP again" if offers == (XCLIENT,) else "220 hop.test ESMTP"
        )
        assert (await client.ask("MAIL FROM:<a@b>"))[0].startswith("503")  # it is all new
        await client.ask("EHLO a.test")
        await send(client, MESSAGE, "joe@x.test")
        assert clients(sessions) == [Judged(ip="192.0.2.1", name="a.test", login="joe")]
        said = [one for one in hop.commands if one[:1] == b"X"]
        if offers == (XCLIENT,):
            assert said == [b"XCLIENT NAME=a.test ADDR=192.0.2.1 LOGIN=joe"]
        elif offers:
            assert said[0].startswith(b"XFORWARD NAME=a.test ADDR=192.0.2.1 ")
        else:
            assert said == []


@pytest.mark.parametrize(
    "said",
    [
        "",
        "ADDR",
        "ADDR=nonsense",
        "ADDR=192.0.2.1 ADDR=192.0.2.2",
        "COLOUR=red",
        "ADDR=192.0.2.1+0D+0ARSET",
        "NAME=a\rb",
        "PORT=70000",
        "PROTO=HTTP",
        "NAME=" + "a" * 300,
    ],
)
async def test_what_is_no_attribute_is_refused(said: str) -> None:
    hop = Behind(offers=(XCLIENT, XFORWARD))
    async with proxy(hop) as opened:
        client = await opened.connect()
        assert [one[:3] for one in await client.ask(f"XFORWARD {said}", f"XCLIENT {said}")] == [
            "501",
            "501",
        ]
        await client.ask("MAIL FROM:<a@b>")
        assert [
            one[:3] for one in await client.ask("XFORWARD ADDR=192.0.2.1", "XCLIENT ADDR=192.0.2.1")
        ] == [
            "503",
            "503",
        ]
        assert [one for one in hop.commands if one[:1] == b"X"] == []


@pytest.mark.parametrize(
    ("ask", "turns", "login"),
    [
        (f"AUTH PLAIN {PLAIN}", [], "joe"),
        ("AUTH plain", [PLAIN], "joe"),
        ("AUTH LOGIN", ["am9l", "c2VjcmV0"], "joe"),
        ("AUTH CRAM-MD5", [base64.b64encode(b"joe smith 0123").decode()], "joe smith"),
        (
            "AUTH XOAUTH2 "
            + base64.b64encode(b"user=joe@x.test\x01auth=Bearer t\x01\x01").decode(),
            [],
            "joe@x.test",
        ),
    ],
)
async def test_whom_the_next_hop_lets_in_the_session_knows(
    ask: str, turns: list[str], login: str
) -> None:
    hop, sessions = Behind(offers=("AUTH PLAIN LOGIN GSSAPI CRAM-MD5 XOAUTH2",)), Sessions()
    async with proxy(hop, sessions, trusted="") as opened:
        client = await opened.connect(None)
        await client.answer()
        assert "250 AUTH PLAIN LOGIN CRAM-MD5 XOAUTH2" in (await client.ask("EHLO c"))[0].split(
            "\n"
        )
        for number, word in enumerate([ask, *turns]):
            hop.says = {"auth": b"334 Z28="} if number < len(turns) else {}
            if number:  # what comes behind AUTH is no command of its own to the next hop
                hop.says = {
                    word.lower(): b"334 Z28=" if number < len(turns) else b"235 2.7.0 welcome"
                }
            (answer,) = await client.ask(word)
        assert answer == "235 2.7.0 welcome"
        assert hop.commands[-1] == (turns or [ask])[-1].encode()
        await send(client, MESSAGE, "joe@x.test")
        assert {"auth_authen": login} in [one[1] for one in sessions.told if one[0] == "learn"]
        assert sessions.stages().count("connect") == 1
        assert (await client.ask(f"AUTH PLAIN {PLAIN}"))[0].startswith("503")


async def test_whom_the_next_hop_does_not_let_in_is_a_stranger() -> None:
    hop, sessions = Behind(offers=("AUTH PLAIN",), says={"auth": b"535 5.7.8 no"}), Sessions()
    async with proxy(hop, sessions, trusted="") as opened:
        client = await opened.connect()
        assert await client.ask(f"AUTH PLAIN {PLAIN}") == ["535 5.7.8 no"]
        for said in ("AUTH GSSAPI", "AUTH PLAIN !", "AUTH PLAIN a b", "AUTH", "AUTH PLAIN \0"):
            assert (await client.ask(said))[0][:3] in ("504", "501")
        assert len(hop.of(b"AUTH")) == 1
        await send(client, MESSAGE, "joe@x.test")
        assert not [one for one in sessions.told if one[0] == "learn" and "auth_authen" in one[1]]


async def test_a_turn_that_is_none_gives_up() -> None:
    hop = Behind(offers=("AUTH PLAIN",), says={"auth": b"334 ", "*": b"501 5.7.0 given up"})
    async with proxy(hop) as opened:
        client = await opened.connect()
        assert await client.ask("AUTH PLAIN") == ["334 "]
        assert await client.ask("RSET\rMAIL") == ["501 5.7.0 given up"]
        assert hop.commands[-1] == b"*"


async def test_a_turn_without_end_ends_the_connection() -> None:
    hop = Behind(offers=("AUTH PLAIN",), says={"auth": b"334 "})
    async with proxy(hop) as opened:
        client = await opened.connect()
        await client.ask("AUTH PLAIN")
        client.write(b"x" * 400_000 + b"\r\nMAIL FROM:<a@b>\r\n")
        assert await client.gone()
        await until(lambda: not hop.open)
        assert hop.of(b"MAIL") == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost and its key, in one file."""
    return write_certificate(tmp_path_factory.mktemp("certificate") / "both.pem")


async def in_private(client: Client, certificate: Path) -> bytes:
    """Go on with TLS; return the certificate that was shown."""
    context = ssl.create_default_context(cafile=certificate)
    await client.writer.start_tls(context, server_hostname="localhost")
    shown: bytes = client.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return shown


async def test_a_client_goes_on_in_private(certificate: Path) -> None:
    hop, sessions = Behind(offers=("AUTH PLAIN", "SIZE 1000000")), Sessions()
    async with proxy(hop, sessions, trusted="", certificate=str(certificate)) as opened:
        client = await opened.connect(None)
        await client.answer()
        hello = (await client.ask("EHLO c"))[0].split("\n")
        assert hello[-1] == "250 STARTTLS"
        assert not [one for one in hello if "AUTH" in one]
        assert (await client.ask(f"AUTH PLAIN {PLAIN}"))[0].startswith("538")
        assert (await client.ask("STARTTLS x"))[0].startswith("501")
        # what is said in the open behind STARTTLS is not heard
        client.write(b"STARTTLS\r\nMAIL FROM:<evil@x>\r\n")
        assert (await client.answer()).startswith("220 ")
        await in_private(client, certificate)
        assert (await client.ask("MAIL FROM:<a@b>"))[0].startswith("503")
        hello = (await client.ask("EHLO c"))[0].split("\n")
        assert "250 AUTH PLAIN" in hello
        assert (await client.ask("STARTTLS"))[0].startswith("503")
        assert (await client.ask(f"AUTH PLAIN {PLAIN}")) == ["235 2.7.0 welcome"]
        large = b"Subject: x\r\n\r\n" + b"y" * 998 + b"\r\n" + (b"z" * 998 + b"\r\n") * 800
        assert (await send(client, large, "joe@x.test"))[-1].startswith("250 2.0.0 taken")
        assert hop.taken[0][2] == large
        assert not [one for one in hop.commands if b"evil" in one or b"STARTTLS" in one]
        assert (await client.ask("QUIT")) == ["221 2.0.0 hop says goodbye"]


async def test_what_comes_with_the_end_of_the_handshake_is_heard(certificate: Path) -> None:
    async with proxy(Behind(), certificate=str(certificate)) as opened:
        client = await opened.connect()
        assert (await client.ask("STARTTLS"))[0].startswith("220 ")
        come, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = ssl.create_default_context(cafile=certificate).wrap_bio(
            come, out, server_hostname="localhost"
        )

        async def until_done(step: Callable[[], bytes | None]) -> bytes | None:
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    client.writer.write(out.read())
                    come.write(await asyncio.wait_for(client.reader.read(1 << 16), PATIENCE_S))

        await until_done(tls.do_handshake)
        tls.write(b"EHLO c\r\n")
        client.writer.write(out.read())  # the last of the handshake and the first command, at once
        said = await until_done(lambda: tls.read(1 << 16))
        assert said is not None
        assert said.startswith(b"250-hop.test")


async def test_who_speaks_no_tls_is_left(certificate: Path) -> None:
    hop = Behind()
    async with proxy(hop, certificate=str(certificate)) as opened:
        client = await opened.connect()
        assert (await client.ask("STARTTLS"))[0].startswith("220 ")
        client.write(b"EHLO c\r\nMAIL FROM:<a@b>\r\n")
        assert await client.gone()
        await until(lambda: not opened.server.sessions and not hop.open)
        assert hop.of(b"MAIL") == []


async def test_a_new_certificate_is_shown_and_a_broken_one_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_certificate(tmp_path / "both.pem")
    async with proxy(Behind(), certificate=str(path)) as opened:

        async def shown() -> bytes:
            client = await opened.connect()
            await client.ask("STARTTLS")
            return await in_private(client, good)

        good = tmp_path / "good.pem"
        good.write_bytes(path.read_bytes())
        first = await shown()
        write_certificate(path)
        good.write_bytes(path.read_bytes())
        second = await shown()
        assert first != second
        await asyncio.sleep(0.01)  # a clock of files is coarse
        path.write_text("broken")
        assert await shown() == second
        assert "the new certificate can't be read" in caplog.text
