"""The door between a mail server and a next hop that both may do anything: each recipient gets one
last word, and nobody is told a lie.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from oborona.doors.delivery.handover import DELIVERIES, NEXT_HOP
from tests.doors.delivery.scripted import STEPS, Hop, door, until

MESSAGE = b"Subject: x\r\nMessage-ID: <1@a.example>\r\n\r\nhello\r\n"
THREE = ("a@x.test", "b@x.test", "c@x.test")
LATER = "451 4.4.2 No answer of the mailbox host, reference "


async def test_each_recipient_gets_the_next_hops_own_words_in_order() -> None:
    hop = Hop(
        rcpt={b"b@x.test": b"550 5.1.1 <b@x.test> User doesn't exist"},
        final={b"c@x.test": b"452-4.2.2 <c@x.test> Quota exceeded\r\n452 4.2.2 \xd0\xb4\xd0\xb0"},
    )
    async with door(hop) as opened:
        client = await opened.connect()
        assert await client.send(MESSAGE, *THREE) == [
            "250 2.0.0 <a@x.test> Saved",
            "550 5.1.1 <b@x.test> User doesn't exist",
            "452-4.2.2 <c@x.test> Quota exceeded\n452 4.2.2 да",
        ]
        assert hop.received() == {b"a@x.test": MESSAGE}
        assert DELIVERIES.values == {
            ("unjudged", "2xx"): 1,
            ("unjudged", "5xx"): 1,
            ("unjudged", "4xx"): 1,
        }
        # and again on the same connection
        assert (await client.send(MESSAGE, "d@x.test"))[0].startswith("250 ")


@pytest.mark.parametrize("step", [*STEPS, "final 1"])
@pytest.mark.parametrize("way", ["hangs_up", "hangs"])
async def test_a_next_hop_that_goes_in_any_phase_leaves_the_others_answers_standing(
    step: str, way: str
) -> None:
    hop = Hop(
        rcpt={b"a@x.test": b"550 5.1.1 no"}
        if step not in ("greeting", "lhlo", "mail", "rcpt")
        else {}
    )
    setattr(hop, way, step)
    async with door(hop, connect_s=0.3, deadline_s=1.0) as opened:
        client = await opened.connect()
        answers = await client.send(MESSAGE, *THREE)
        kept = 1 if hop.rcpt else 0
        done = 1 if step == "final 1" else 0
        assert answers[:kept] == ["550 5.1.1 no"] * kept
        assert [one[:4] for one in answers[kept : kept + done]] == ["250 "] * done
        assert all(one.startswith(LATER) for one in answers[kept + done :])
        assert len(hop.received()) == done
        # the mail server comes again, with those who were put off
        hop.hangs_up = hop.hangs = ""
        again = await client.send(MESSAGE, *THREE[kept + done :])
        assert all(one.startswith("250 ") for one in again)
        assert len(hop.received()) == 3 - kept


@pytest.mark.parametrize(
    "words", [b"garbage", b"250", b"354 what", b"999 x", b"250-a\r\n251 b", b"x" * 10_000, b"\0"]
)
@pytest.mark.parametrize("step", ["greeting", "lhlo", "mail", "rcpt", "data", "final"])
async def test_garbage_of_a_next_hop_is_never_taken_for_a_delivery(words: bytes, step: str) -> None:
    good = {
        ("lhlo", b"250"),
        ("mail", b"250"),
        ("rcpt", b"250"),
        ("data", b"354 what"),
        ("final", b"250"),
    }
    hop = Hop(says={step: words})
    async with door(hop, deadline_s=2.0) as opened:
        (answer,) = await (await opened.connect()).send(MESSAGE, "a@x.test")
        assert answer.startswith("250" if (step, words) in good else LATER)


async def test_nobody_at_the_next_hop_puts_everybody_off() -> None:
    async with door(None) as opened:
        answers = await (await opened.connect()).send(MESSAGE, *THREE)
        assert all(one.startswith(LATER) for one in answers)
        assert len({one.rpartition(" ")[2] for one in answers}) == 1, "one message, one reference"
        assert NEXT_HOP.values == {("connect", "lost"): 1}


@pytest.mark.parametrize("refusal", [b"550 5.7.1 not you", b"421 4.3.2 going down"])
@pytest.mark.parametrize("step", ["mail", "data"])
@pytest.mark.parametrize("offers", [(), ("PIPELINING",)])
async def test_what_the_next_hop_says_of_the_message_it_says_of_everybody(
    refusal: bytes, step: str, offers: tuple[str, ...]
) -> None:
    hop = Hop(offers=offers, says={step: refusal})
    async with door(hop) as opened:
        answers = await (await opened.connect()).send(MESSAGE, *THREE)
        assert answers == [refusal.decode()] * 3
        assert hop.copies == []
        assert b"RSET" in hop.commands


async def test_nothing_is_sent_to_a_next_hop_that_takes_nobody() -> None:
    hop = Hop(says={"rcpt": b"550 5.1.1 no such user"})
    async with door(hop) as opened:
        assert (
            await (await opened.connect()).send(MESSAGE, *THREE) == ["550 5.1.1 no such user"] * 3
        )
        assert b"DATA" not in hop.commands


@pytest.mark.parametrize(
    ("offers", "mail", "told"),
    [
        (("SIZE 100", "8BITMIME", "SMTPUTF8"), "MAIL FROM:<ann@a.example> SIZE=9 BODY=8BITMIME SMTPUTF8", b" SIZE=%d BODY=8BITMIME SMTPUTF8"),
        (("SIZE",), "MAIL FROM:<ann@a.example> BODY=8BITMIME", b" SIZE=%d"),
        ((), "MAIL FROM:<ann@a.example> SIZE=5", b""),
        (("8BITMIME",), "mail from:<ann@a.example> body=7bit", b""),
    ],
)  # fmt: skip
async def test_the_next_hop_is_told_what_it_offers_to_hear(
    offers: tuple[str, ...], mail: str, told: bytes
) -> None:
    hop = Hop(offers=offers)
    async with door(hop) as opened:
        assert (await (await opened.connect()).send(MESSAGE, "a@x.test", mail=mail))[0].startswith(
            "250 "
        )
        told = told % len(MESSAGE) if b"%" in told else told
        assert hop.copies[0][0] == b"MAIL FROM:<ann@a.example>" + told


async def test_a_message_in_utf8_is_for_next_hops_that_know_it() -> None:
    async with door(Hop()) as opened:
        client = await opened.connect()
        (answer,) = await client.send(
            MESSAGE, "вася@x.test", mail="MAIL FROM:<ann@a.example> SMTPUTF8"
        )
        assert answer.startswith("553 5.6.7 ")
    hop = Hop(offers=("SMTPUTF8",))
    async with door(hop) as opened:
        client = await opened.connect()
        await client.send(MESSAGE, "вася@x.test", mail="MAIL FROM:<аня@a.example> SMTPUTF8")
        assert hop.received() == {"вася@x.test".encode(): MESSAGE}


async def test_addresses_go_on_as_they_were_written() -> None:
    hop = Hop()
    async with door(hop) as opened:
        client = await opened.connect()
        await client.send(MESSAGE, '"Joe  Smith"@X.Test', "joe+Box@x.test", mail="MAIL FROM:<>")
        assert hop.commands[1:4] == [
            b"MAIL FROM:<>", b'RCPT TO:<"Joe  Smith"@X.Test>', b"RCPT TO:<joe+Box@x.test>",
        ]  # fmt: skip


async def test_a_mail_server_may_say_everything_at_once() -> None:
    hop = Hop()
    async with door(hop) as opened:
        client = await opened.connect()
        one = b"MAIL FROM:<a@b>\r\nRCPT TO:<%b@x.test>\r\nDATA\r\n" + MESSAGE + b".\r\n"
        client.write(one % b"one" + one % b"two" + b"QUIT\r\n")
        answers = [await client.answer() for _ in range(9)]
        assert [one[:3] for one in answers] == [
            "250",
            "250",
            "354",
            "250",
            "250",
            "250",
            "354",
            "250",
            "221",
        ]
        assert await client.gone()
        assert set(hop.received()) == {b"one@x.test", b"two@x.test"}


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_dots_and_broken_lines_arrive_as_lines_in_any_pieces(size: int) -> None:
    hop = Hop()
    content = b"Subject: x\r\n\r\n.dot\r\n..\r\n\n.\n\r\nQUIT\r\n" + b"y" * 1200 + b"\r\n"
    wire = content.replace(b"\r\n.", b"\r\n..") + b".\r\n"
    async with door(hop) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<a@x.test>", "DATA")
        for place in range(0, len(wire), size):
            client.write(wire[place : place + size])
            if size < 1000 and place % 100 == 0:
                await asyncio.sleep(0)
        assert (await client.answer()).startswith("250 ")
        (copy,) = hop.received().values()
        assert copy.replace(b"\r\n..", b"\r\n.") == content.replace(b"\r\n\n.\n", b"\r\n\r\n.\r\n")


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("EHLO x", "500"), ("HELO x", "500"), ("VRFY a@x.test", "252"), ("DATA", "503"), ("RCPT TO:<a@x.test>", "503"), ("MAIL FROM:a@b", "501"),
        ("MAIL TO:<a@b>", "501"), ("MAIL", "501"), ("MAIL FROM:<a@b> ORCPT=x", "555"), ("MAIL FROM:<a@b> BODY=BINARYMIME", "555"),
        ("MAIL FROM:<a@b> SIZE=x", "501"), ("MAIL FROM:<a@b> SIZE=99999999999999", "552"), ("AUTH PLAIN x", "5"), ("STARTTLS", "454"),
        ("BDAT 5 LAST", "500"), ("\0", "500"), ("", "500"), ("NOOP", "250"), ("RSET", "250"), ("MAIL FROM:<a\rb@c>", "501"), ("X" * 5000, "500"),
        ("MAIL FROM:<" + "a" * 200_000 + ">", "500"),
    ],
)  # fmt: skip
async def test_commands_out_of_turn_or_shape_are_refused_and_the_door_stays(
    command: str, answer: str
) -> None:
    hop = Hop()
    async with door(hop) as opened:
        client = await opened.connect()
        assert (await client.ask(command))[0].startswith(answer)
        assert (await client.send(MESSAGE, "a@x.test"))[0].startswith("250 ")


async def test_who_says_no_lhlo_is_not_served() -> None:
    async with door(Hop()) as opened:
        client = await opened.connect()
        assert (await client.ask("MAIL FROM:<a@b>", "MAIL FROM:<a@b>"))[1].startswith("503")
        assert (await client.ask("DATA"))[0].startswith("503")
        assert (await client.ask("RCPT TO:<a@x.test> NOTIFY=NEVER"))[0].startswith("555")
        assert (await client.ask("RSET", "RCPT TO:<a@x.test>"))[1].startswith("503")


async def test_garbage_without_end_ends_the_connection() -> None:
    async with door(Hop()) as opened:
        client = await opened.connect()
        client.write(b"\xff\xfe\r\n" * 10 + b"GARBAGE\r\n" * 20)
        assert await client.gone()


async def test_too_many_recipients_come_again_with_the_rest() -> None:
    hop = Hop()
    async with door(hop, max_recipients=2) as opened:
        client = await opened.connect()
        replies = await client.ask(
            "MAIL FROM:<a@b>", *(f"RCPT TO:<{one}>" for one in THREE), "DATA"
        )
        assert [one[:9] for one in replies[1:4]] == ["250 2.1.5", "250 2.1.5", "452 4.5.3"]
        client.write(MESSAGE + b".\r\n")
        assert [(await client.answer())[:3] for _ in range(2)] == ["250", "250"]


async def test_a_message_over_the_limit_is_refused_whole_and_the_next_one_is_not() -> None:
    hop = Hop()
    async with door(hop, max_message_bytes=65_536) as opened:
        client = await opened.connect()
        large = b"Subject: x\r\n\r\n" + b"y" * 70 * 1000 + b"\r\n"
        assert await client.send(large, *THREE) == ["552 5.3.4 Message is too large"] * 3
        assert hop.connections == 0
        assert (await client.send(MESSAGE, "a@x.test"))[0].startswith("250 ")


async def test_a_disk_without_room_puts_everybody_off(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hop = Hop()
    async with door(hop, spool=tmp_path / "gone") as opened:
        client = await opened.connect()
        large = b"Subject: x\r\n\r\n" + b"y" * 1_000_000 + b"\r\n"
        assert await client.send(large, *THREE) == ["452 4.3.1 No room for a message now"] * 3
        assert hop.connections == 0
        assert "a message can't be kept" in caplog.text
        assert (await client.send(MESSAGE, "a@x.test"))[0].startswith("250 ")


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
    hop = Hop()
    async with door(hop) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<a@x.test>", "DATA")
        client.write(end)
        client.writer.write_eof()
        assert await client.gone()
        await until(lambda: not opened.server.sessions)
        assert hop.connections == 0


async def test_a_mail_server_that_goes_before_the_end_takes_its_message_along() -> None:
    hop = Hop(hangs="rcpt")
    async with door(hop) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<a@x.test>", "DATA")
        client.write(MESSAGE + b".\r\n")
        await until(lambda: hop.commands)
        client.writer.transport.abort()
        await until(lambda: not opened.server.sessions)
        assert hop.copies == []


async def test_a_silent_mail_server_is_left() -> None:
    async with door(Hop(), idle_s=0.2) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<a@x.test>", "DATA")
        client.write(b"Subject: half")
        assert await client.gone()


async def test_a_stop_lets_a_message_finish_and_ends_who_waits_for_nothing() -> None:
    hop = Hop(hangs="final")
    async with door(hop) as opened:
        idle, busy = await opened.connect(), await opened.connect()
        await busy.ask("MAIL FROM:<a@b>", "RCPT TO:<a@x.test>", "DATA")
        busy.write(MESSAGE + b".\r\n")
        await until(lambda: b"DATA" in hop.commands)
        draining = asyncio.create_task(opened.server.drain(10.0))
        assert await idle.gone()
        assert not draining.done()
        draining.cancel()


async def test_a_stop_waits_for_the_answer_and_then_ends_the_connection() -> None:
    hop = Hop()
    async with door(hop) as opened:
        busy = await opened.connect()
        await busy.ask("MAIL FROM:<a@b>", "RCPT TO:<a@x.test>", "DATA")
        draining = asyncio.create_task(opened.server.drain(10.0))
        await asyncio.sleep(0.05)
        busy.write(MESSAGE + b".\r\n")
        assert (await busy.answer()).startswith("250 ")
        assert await busy.gone()
        await draining


async def test_more_connections_than_allowed_wait() -> None:
    async with door(Hop(), max_connections=1) as opened:
        first = await opened.connect()
        waiting = asyncio.create_task(opened.connect())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await first.ask("QUIT")
        second = await waiting
        assert (await second.send(MESSAGE, "a@x.test"))[0].startswith("250 ")


async def test_one_line_in_the_log_for_each_message(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with door(Hop(rcpt={b"b@x.test": b"550 5.1.1 no"})) as opened:
        await (await opened.connect()).send(MESSAGE, *THREE)
    (line,) = [one for one in caplog.records if one.getMessage() == "delivery"]
    fields = line.__dict__["fields"]
    assert fields["recipients"] == 3
    assert fields["answers"] == {"250": 2, "550": 1}
    assert [one for one in caplog.records if one.name == "mail.log"] == []


async def test_a_fault_of_ours_in_a_message_never_turns_its_content_into_commands(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fault(*_: object) -> bytes:
        raise ValueError("a bug")

    hop = Hop()
    evil = (
        b"Subject: x\r\n\r\nRSET\r\nMAIL FROM:<a@b>\r\nRCPT TO:<evil@x.test>\r\nDATA\r\nx\r\n.\r\n"
    )
    async with door(hop) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<a@x.test>", "DATA")
        with monkeypatch.context() as broken:
            broken.setattr("oborona.doors.smtp.connection.DotUnstuffer.feed", fault)
            client.write(evil)
            assert await client.gone()
            await until(lambda: not opened.server.sessions)
        assert hop.connections == 0
        assert "a bug" in caplog.text
        assert (await (await opened.connect()).send(MESSAGE, "a@x.test"))[0].startswith("250 ")


async def test_a_fault_of_ours_after_the_message_takes_no_answer_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fault(*_: object, **__: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr("oborona.doors.delivery.handover.event", fault)
    async with door(Hop()) as opened:
        assert (await (await opened.connect()).send(MESSAGE, "a@x.test"))[0].startswith("250 ")
    assert "a bug" in caplog.text
