"""A next hop that goes, hangs or talks rubbish at any step, and clients who do: no message is said
to be taken that the next hop did not take.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any, Final

import pytest

from oborona.doors.proxy.connection import LINGER_S
from oborona.doors.reply import SessionReply, refusal_reply
from oborona.doors.smtp import connection
from tests.doors.delivery.scripted import Client
from tests.doors.proxy.scripted import MESSAGE, Behind, Door, Sessions, proxy, send, until

QUICK: Final[dict[str, Any]] = {"connect_s": 0.3, "command_s": 1.0, "deadline_s": 1.0}
STEPS: Final = ("greeting", "hello", "mail", "rcpt", "data", "content", "final")
RUBBISH: Final = (b"garbage", b"354 what", b"999 x", b"250-a\r\n251 b", b"x" * 10_000, b"\0")


async def whole(opened: Door) -> list[str]:
    """Try to send a message; return everything that was said until the last word or the end."""
    client = await opened.connect(None)
    said = [await client.answer()]
    for command in ("EHLO c", "MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>", "DATA"):
        if said[-1][:1] not in ("2", "3"):
            return said
        said += await client.ask(command)
    if said[-1].startswith("354"):
        client.write(MESSAGE + b".\r\n")
        said.append(await client.answer())
    return said


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("way", ["hangs_up", "hangs"])
async def test_a_next_hop_that_goes_at_any_step_costs_a_later_try(step: str, way: str) -> None:
    hop = Behind()
    setattr(hop, way, step)
    async with proxy(hop, **QUICK) as opened:
        said = await whole(opened)
        behind_content = step in ("data", "content", "final")
        assert said[-1].startswith("451 4.3.0 " if behind_content else "421 4.3.0 ")
        assert hop.taken == []
        assert "lost" in opened.noted
        hop.hangs = hop.hangs_up = ""
        assert (await whole(opened))[-1].startswith("250 2.0.0 taken")
        await until(lambda: hop.open <= (way == "hangs") + 1)


async def test_after_a_loss_behind_the_content_the_connection_ends_with_the_next_command() -> None:
    hop = Behind(hangs_up="final")
    async with proxy(hop) as opened:
        client = await opened.connect()
        assert (await send(client, MESSAGE, "joe@x.test"))[-1].startswith("451 4.3.0 ")
        assert (await client.ask("NOOP"))[0].startswith("421 4.3.0 ")
        assert await client.gone()


async def test_nobody_there() -> None:
    async with proxy(None) as opened:
        assert (await whole(opened)) == ["421 4.3.0 Mail server is not there, try again later"]


@pytest.mark.parametrize("words", RUBBISH)
@pytest.mark.parametrize("step", [one for one in STEPS if one != "content"])
async def test_rubbish_is_never_taken_for_an_answer(words: bytes, step: str) -> None:
    hop = Behind(says={step: words})
    async with proxy(hop, **QUICK) as opened:
        said = await whole(opened)
        if (step, words) == ("data", b"354 what"):
            assert said[-1].startswith("250 2.0.0 taken")
            return
        assert said[-1].startswith(("451 4.3.0 ", "421 4.3.0 "))
        assert hop.taken == []


@pytest.mark.parametrize("step", STEPS)
async def test_a_next_hop_that_closes_down_says_so_to_the_client(step: str) -> None:
    if step == "content":
        return
    hop = Behind(says={step: b"421 4.3.2 closing down"})
    async with proxy(hop) as opened:
        client = await opened.connect(None)
        client.write(b"")
        said = await client.answer()
        commands = ["EHLO c", "MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>", "DATA"]
        while not said.startswith("421") and commands:
            said = (await client.ask(commands.pop(0)))[0]
        if said.startswith("354"):
            client.write(MESSAGE + b".\r\n")
            said = await client.answer()
        assert said == "421 4.3.2 closing down"
        assert await client.gone()
        assert hop.taken == []


async def test_a_next_hop_that_leaves_between_two_commands() -> None:
    hop = Behind(unasked={"hello": b"421 4.4.2 you are slow"})
    async with proxy(hop) as opened:
        client = await opened.connect()
        await asyncio.sleep(0.05)
        assert await client.ask("MAIL FROM:<a@b>") == ["421 4.4.2 you are slow"]
        assert await client.gone()


@pytest.mark.parametrize("step", ["greeting", "mail", "rcpt", "data"])
async def test_an_answer_that_nobody_asked_for_answers_nothing(step: str) -> None:
    hop = Behind(unasked={step: b"250 2.0.0 for the next one"})
    async with proxy(hop, **QUICK) as opened:
        said = await whole(opened)
        if step == "data":  # it cannot be told from the last word
            assert said[-1] == "250 2.0.0 for the next one"
            return
        assert said[-1].startswith(("421 4.3.0 ", "451 4.3.0 "))


async def test_one_recipients_answers_stand_when_the_rest_is_lost() -> None:
    hop = Behind(final={b"b@x.test": b"garbage"})
    async with proxy(hop, protocol="lmtp") as opened:
        client = await opened.connect()
        await client.ask(
            "MAIL FROM:<a@b>",
            "RCPT TO:<a@x.test>",
            "RCPT TO:<b@x.test>",
            "RCPT TO:<c@x.test>",
            "DATA",
        )
        client.write(MESSAGE + b".\r\n")
        said = [await client.answer() for _ in range(3)]
        assert said[0] == "250 2.0.0 taken <a@x.test>"
        assert all(one.startswith("451 4.3.0 ") for one in said[1:])


@pytest.mark.parametrize(
    "end",
    [
        b"",
        b"Subject: x\r\n\r\nhalf",
        b"Subject: x\r\n\r\nhalf\r\n.",
        b"Subject: x\r\n\r\nhalf\r\n.\r",
    ],
)
async def test_half_a_message_goes_nowhere(end: bytes) -> None:
    hop, sessions = Behind(), Sessions()
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>", "DATA")
        client.write(end)
        client.writer.write_eof()
        assert await client.gone()
        await until(lambda: not opened.server.sessions and not hop.open)
        assert (hop.of(b"DATA"), hop.taken, sessions.messages, sessions.closed) == ([], [], [], 1)


@pytest.mark.parametrize("step", ["data", "content"])
async def test_a_client_who_goes_before_the_end_takes_his_message_along(step: str) -> None:
    hop = Behind(hangs=step)
    async with proxy(hop) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>", "DATA")
        client.write(MESSAGE + b".\r\n")
        await until(lambda: hop.of(b"DATA"))
        client.writer.transport.abort()
        await until(lambda: not opened.server.sessions)
        assert hop.taken == []


async def test_a_client_who_goes_while_he_is_judged_takes_his_message_along() -> None:
    hop, sessions = Behind(), Sessions(content=None)
    async with proxy(hop, sessions, guard_s=60.0) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>", "DATA")
        client.write(MESSAGE + b".\r\n")
        await until(lambda: sessions.messages)
        client.writer.transport.abort()
        await until(lambda: not opened.server.sessions and not hop.open)
        assert (hop.of(b"DATA"), sessions.closed) == ([], 1)


async def test_a_disk_without_room_puts_the_message_off(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hop = Behind()
    async with proxy(hop, spool=tmp_path / "gone") as opened:
        client = await opened.connect()
        large = b"Subject: x\r\n\r\n" + b"y" * 1_000_000 + b"\r\n"
        assert (await send(client, large, "joe@x.test"))[
            -1
        ] == "452 4.3.1 No room for a message now"
        assert "a message can't be kept" in caplog.text
        assert (await send(client, MESSAGE, "joe@x.test"))[-1].startswith("250 2.0.0 taken")


async def test_a_silent_client_is_left() -> None:
    hop = Behind()
    async with proxy(hop, idle_s=0.2) as opened:
        client = await opened.connect()
        assert (await client.answer()).startswith("421 4.4.2 ")
        assert await client.gone()
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>", "DATA")
        client.write(b"Subject: half")
        assert await client.gone()
        client = await opened.connect()
        client.write(b"NOO")
        assert await client.gone()
        await until(lambda: not hop.open)


async def test_a_client_who_waits_for_a_slow_next_hop_is_not_taken_for_a_silent_one() -> None:
    hop, sessions = Behind(), Sessions()
    async with proxy(hop, sessions, idle_s=0.2, command_s=5.0) as opened:

        async def slow(*_: object) -> SessionReply:
            await asyncio.sleep(0.5)
            return SessionReply()

        sessions.end_of_message = slow  # type: ignore[assignment,method-assign]
        client = await opened.connect()
        assert (await send(client, MESSAGE, "joe@x.test"))[-1].startswith("250 2.0.0 taken")


async def answer_to(client: Client, piece: bytes) -> str:
    """Send a piece of content again and again; return what is said to it in the end."""
    await client.ask("MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>", "DATA")

    async def drip() -> None:
        while True:
            client.write(piece)
            await asyncio.sleep(0.02)

    dripping = asyncio.create_task(drip())
    try:
        return await client.answer()
    finally:
        dripping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await dripping


async def test_content_that_trickles_for_ever_ends() -> None:
    hop = Behind()
    async with proxy(hop, transfer_s=0.3) as opened:
        client = await opened.connect()
        assert await answer_to(client, b"x\r\n") == "421 4.4.2 Content took too long"
        await until(lambda: not hop.open)
        assert hop.of(b"DATA") == []


async def test_content_that_drips_ends_long_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sends an octet now and then holds its connection for a minute, and not for as
    long as a large message may take.
    """
    hop = Behind()
    async with proxy(hop, min_data_rate=1000) as opened:
        client = await opened.connect()
        with monkeypatch.context() as hurried:
            hurried.setattr(connection, "SLOW_AFTER_S", 0.2)
            assert await answer_to(client, b"x") == "421 4.4.2 Content took too long"
        await until(lambda: not hop.open)
        brisk = await opened.connect()
        assert (await send(brisk, MESSAGE, "joe@x.test"))[-1].startswith("250 2.0.0 taken")


@pytest.mark.parametrize("end", [b"\r.\r", b"\r.\r\n", b"\r\n\0.\r\n", b"\n\0.\n", b"\r\r\n"])
async def test_what_another_could_take_for_an_end_goes_nowhere(end: bytes) -> None:
    """Next hops that take a bare CR for the end of a line, or drop a NUL, would read what follows
    as commands.
    """
    hop = Behind()
    async with proxy(hop) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<a@x.test>", "DATA")
        client.write(b"Subject: x\r\n\r\none" + end + b"MAIL FROM:<evil@x>\r\n.\r\n")
        assert await client.answer() == "554 5.6.0 Message has a bare CR or a NUL"
        assert not hop.taken
        assert (await send(client, MESSAGE, "joe@x.test"))[-1].startswith("250 2.0.0 taken")
        assert len(hop.taken) == 1


async def test_without_room_a_message_is_put_off_and_the_room_comes_back() -> None:
    hop = Behind()
    async with proxy(hop, room=100_000) as opened:
        client = await opened.connect()
        large = MESSAGE + b"x" * 150_000 + b"\r\n"
        assert (await send(client, large, "joe@x.test"))[
            -1
        ] == "451 4.3.2 Too busy, try again later"
        assert opened.noted[-1:] == ["busy"]
        for _ in range(3):
            assert (await send(client, MESSAGE + b"x" * 60_000 + b"\r\n", "joe@x.test"))[
                -1
            ].startswith("250 2.0.0 taken")


async def test_what_is_read_and_not_kept_does_not_drip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message for which there is no room is read to its end, and its sender told why it is put
    off.
    """
    monkeypatch.setattr(connection, "SLOW_AFTER_S", 0.0)
    hop = Behind()
    async with proxy(hop, room=1000, min_data_rate=20_000) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>", "DATA")
        for _ in range(10):
            client.write(b"x" * 8000 + b"\r\n")
            await asyncio.sleep(0.05)
        client.write(b".\r\n")
        assert await client.answer() == "451 4.3.2 Too busy, try again later"
        assert opened.noted[-1:] == ["busy"]


async def test_strangers_get_so_many_connections_and_mail_servers_any_number() -> None:
    hop = Behind()
    async with proxy(hop, max_per_client=2, trusted="192.0.2.0/24") as opened:
        for _ in range(2):
            await opened.connect()
        third = await opened.connect(None)
        assert await third.answer() == "421 4.3.2 Too busy, try again later"
    async with proxy(hop, max_per_client=2) as opened:
        for _ in range(5):
            await opened.connect()


async def test_who_is_in_no_network_hears_nothing() -> None:
    async with proxy(Behind(), allowed="192.0.2.0/24 2001:db8::/32") as opened:
        client = await opened.connect(None)
        assert await client.reader.read() == b""
        assert opened.noted == ["foreign"]


async def test_a_client_who_reads_nothing_is_cut() -> None:
    hop = Behind(says={"help": b"\r\n".join([b"214-" + b"y" * 500] * 100 + [b"214 y"])})
    async with proxy(hop, idle_s=0.3) as opened:
        client = await opened.connect()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.write(b"HELP\r\n" * 2000)
        await until(lambda: not opened.server.sessions and not hop.open)


async def test_who_speaks_before_the_greeting_is_no_mail_server() -> None:
    hop = Behind()
    async with proxy(hop, trusted="") as opened:
        client = await opened.connect(None)
        client.write(b"EHLO early\r\nMAIL FROM:<a@b>\r\n")
        assert await client.answer() == "554 5.5.1 You spoke before the greeting"
        assert await client.gone()
        assert hop.of(b"MAIL") == []
    async with proxy(hop) as opened:  # a mail server of ours may
        client = await opened.connect(None)
        client.write(b"EHLO early\r\n")
        assert [(await client.answer())[:3] for _ in range(2)] == ["220", "250"]


async def test_garbage_without_end_ends_the_connection() -> None:
    hop = Behind()
    async with proxy(hop) as opened:
        client = await opened.connect()
        client.write(b"\xff\xfe\r\n" * 10 + b"GARBAGE\r\n" * 20)
        assert await client.gone()
        await until(lambda: not hop.open)


async def test_a_fault_of_ours_in_a_message_never_turns_its_content_into_commands(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fault(*_: object) -> bytes:
        raise ValueError("a bug")

    hop = Behind()
    evil = (
        b"Subject: x\r\n\r\nRSET\r\nMAIL FROM:<a@b>\r\nRCPT TO:<evil@x.test>\r\nDATA\r\nx\r\n.\r\n"
    )
    async with proxy(hop) as opened:
        for where in (
            "smtp.connection.DotUnstuffer.feed",
            "proxy.transaction.session_message",
            "proxy.transaction.edited_message",
        ):
            client = await opened.connect()
            await client.ask("MAIL FROM:<a@b>", "RCPT TO:<a@x.test>", "DATA")
            with monkeypatch.context() as broken:
                broken.setattr(f"oborona.doors.{where}", fault)
                client.write(evil)
                assert await client.gone()
                await until(lambda: not opened.server.sessions)
        assert hop.taken == []
        assert caplog.text.count("a bug") >= 3
        assert (await whole(opened))[-1].startswith("250 2.0.0 taken")


async def test_what_bare_line_feeds_would_smuggle_stays_content() -> None:
    hop = Behind()
    async with proxy(hop, forbid_stray=False) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<a@x.test>", "DATA")
        for end in (b"\n.\n", b"\n.\r\n", b"\r\n.\n", b"\r.\r\n"):
            client.write(b"Subject: x\r\n\r\none" + end + b"MAIL FROM:<evil@x>\r\n")
        client.write(b".\r\n")
        assert (await client.answer()).startswith("250 2.0.0 taken")
        assert len(hop.taken) == 1
        assert hop.taken[0][2].count(b"MAIL FROM:<evil@x>") == 4
        assert len(hop.of(b"MAIL")) == 1


async def test_a_fault_of_ours_between_a_command_and_its_answer_costs_the_connection_to_the_next_hop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fault(*_: object, **__: object) -> bytes:
        raise ValueError("a bug")

    hop = Behind()
    async with proxy(hop) as opened:
        client = await opened.connect()
        with monkeypatch.context() as broken:
            broken.setattr("oborona.doors.proxy.next_hop.NextHopConnection._checked_reply", fault)
            assert (await client.ask("MAIL FROM:<a@b>"))[0].startswith("451 4.3.0 ")
        assert (await client.ask("RSET"))[0].startswith("421 4.3.0 ")
        await until(lambda: not hop.open)


@pytest.mark.parametrize("hello", [None, "client.test"])
async def test_who_says_no_more_is_let_go_at_once(hello: str | None) -> None:
    """Before the greeting of a next hop that says none, and after it.

    Nobody stays whom nobody counts.
    """
    async with proxy(Behind(hangs="" if hello else "greeting")) as opened:
        client = await opened.connect(hello)
        client.writer.write_eof()
        async with asyncio.timeout(LINGER_S / 2):
            assert await client.gone()


async def test_a_message_is_given_up_by_ehlo_even_where_the_next_hop_refuses_that() -> None:
    hop = Behind()
    async with proxy(hop) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<ann@a.example>", "RCPT TO:<joe@x.test>")
        hop.says = {"hello": b"501 5.5.2 not by that name"}
        assert await client.ask("EHLO other.test") == ["501 5.5.2 not by that name"]
        hop.says = {}
        assert (await send(client, MESSAGE, "eve@x.test"))[-1].startswith("250 2.0.0 taken")
    assert [one[1] for one in hop.taken] == [[b"eve@x.test"]]


async def test_a_next_hop_that_takes_nothing_back_gets_no_message_without_the_recipient() -> None:
    hop, sessions = (
        Behind(says={"rset": b"502 5.5.1 not here"}),
        Sessions(**{"rcpt no@x.test": refusal_reply(550, "5.7.1", "No")}),
    )
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        assert (await send(client, MESSAGE, "no@x.test", "joe@x.test"))[-1].startswith("451 4.3.0 ")
    assert hop.taken == []
