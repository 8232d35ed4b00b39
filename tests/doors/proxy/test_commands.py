"""What a client says goes on, what the next hop says comes back, and nothing is said that the next
hop did not mean.
"""

from __future__ import annotations

import asyncio
import logging

import pytest

from oborona.config import ProxySettings
from oborona.doors.proxy.server import check_openable
from oborona.errors import ConfigError
from tests.doors.proxy.scripted import MESSAGE, Behind, Sessions, proxy, send, until


async def test_a_message_goes_on_as_it_came_and_the_next_hop_answers() -> None:
    hop, sessions = (
        Behind(says={"final": b"250-2.0.0 first\r\n250 2.0.0 queued as \xd0\xb4"}),
        Sessions(),
    )
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        assert await send(client, MESSAGE, "joe@x.test", "eve@x.test") == [
            "250 2.1.0 OK",
            "250 2.1.5 OK",
            "250 2.1.5 OK",
            "250-2.0.0 first\n250 2.0.0 queued as д",
        ]
        assert hop.taken == [
            (b"MAIL FROM:<ann@a.example>", [b"joe@x.test", b"eve@x.test"], MESSAGE)
        ]
        assert sessions.stages() == ["connect", "helo", "mail", "rcpt", "rcpt", "content"]
        assert sessions.messages[0].raw == MESSAGE
        assert await client.ask("QUIT") == ["221 2.0.0 hop says goodbye"]
        assert await client.gone()
    assert opened.noted == ["passed"]
    assert (hop.connections, sessions.made, sessions.closed) == (1, 1, 1)


async def test_the_session_hears_who_it_is_and_what_he_says() -> None:
    sessions = Sessions()
    async with proxy(Behind(), sessions, trusted="") as opened:
        client = await opened.connect("mail.a.example")
        await send(
            client, MESSAGE, "joe@x.test", mail="MAIL FROM:<ann@a.example> SIZE=100 BODY=8BITMIME"
        )
        learned = sessions.told[0]
        assert learned == ("learn", {"daemon_port": str(opened.port)})
        connect = sessions.told[1][1]
        assert (connect.ip, connect.name) == ("127.0.0.1", "client.test")
        assert sessions.told[2:5] == [
            ("helo", "mail.a.example"),
            ("mail", "ann@a.example", ("SIZE=100", "BODY=8BITMIME")),
            ("rcpt", "joe@x.test", ()),
        ]


async def test_several_messages_of_one_connection() -> None:
    hop, sessions = Behind(), Sessions()
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        for number in range(3):
            assert (await send(client, MESSAGE, f"{number}@x.test"))[-1].startswith(
                "250 2.0.0 taken"
            )
    assert [one[1] for one in hop.taken] == [[b"0@x.test"], [b"1@x.test"], [b"2@x.test"]]
    assert hop.connections == 1
    assert sessions.stages().count("connect") == 1


async def test_what_the_next_hop_offers_is_offered_as_far_as_it_can_be_passed_on() -> None:
    async with proxy(Behind(), trusted="", max_message_bytes=2_000_000) as opened:
        client = await opened.connect(None)
        assert await client.answer() == "220 hop.test ESMTP"
        assert (await client.ask("EHLO c"))[0].split("\n") == [
            "250-hop.test Hello", "250-PIPELINING", "250-SIZE 1000000", "250-8BITMIME", "250-SMTPUTF8", "250-DSN", "250 ENHANCEDSTATUSCODES",
        ]  # fmt: skip
    async with proxy(
        Behind(offers=("AUTH GSSAPI",)), trusted="", max_message_bytes=65_536
    ) as opened:
        client = await opened.connect(None)
        await client.answer()
        assert (await client.ask("EHLO c"))[0].split("\n")[1:] == [
            "250-PIPELINING",
            "250 SIZE 65536",
        ]
        assert (await client.ask("HELO c")) == ["250 2.0.0 fine"]


async def test_parameters_go_on_where_they_were_offered() -> None:
    hop = Behind()
    async with proxy(hop) as opened:
        client = await opened.connect()
        mail = "MAIL FROM: <ann@a.example> size=5 BODY=8BITMIME SMTPUTF8 RET=HDRS ENVID=a+20b"
        rcpt = 'rcpt to:<"Joe  S"@X.Test> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;joe@x.test'
        assert [one[:3] for one in await client.ask(mail, rcpt)] == ["250", "250"]
        assert hop.commands[-2:] == [
            b"MAIL FROM:<ann@a.example> SIZE=5 BODY=8BITMIME SMTPUTF8 RET=HDRS ENVID=a+20b",
            b'RCPT TO:<"Joe  S"@X.Test> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;joe@x.test',
        ]
    hop = Behind(offers=())
    async with proxy(hop) as opened:
        client = await opened.connect()
        for words in (
            "BODY=8BITMIME",
            "SMTPUTF8",
            "RET=FULL",
            "AUTH=<>",
            "BODY=BINARYMIME",
            "REQUIRETLS",
        ):
            assert (await client.ask(f"MAIL FROM:<a@b> {words}"))[0].startswith("555 5.5.4 ")
        await client.ask("MAIL FROM:<a@b> SIZE=5")
        assert hop.commands[-1] == b"MAIL FROM:<a@b>"  # we said SIZE, it did not
        assert (await client.ask("RCPT TO:<a@x.test> NOTIFY=NEVER"))[0].startswith("555 5.5.4 ")


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("LHLO x", "502"), ("DATA", "503"), ("RCPT TO:<a@x.test>", "503"), ("MAIL FROM:a@b", "501"), ("MAIL TO:<a@b>", "501"), ("MAIL", "501"),
        ("MAIL FROM:<a@b> SIZE=x", "501"), ("MAIL FROM:<a@b> SIZE=99999999999999", "552"), ("AUTH PLAIN AGEAYg==", "504"), ("STARTTLS", "502"),
        ("BDAT 5 LAST", "500"), ("\0", "500"), ("", "500"), ("NOOP", "250"), ("NOOP x y", "250"), ("RSET", "250"), ("RSET x", "501"), ("EXPN all", "502"),
        ("MAIL FROM:<a\rb@c>", "501"), ("X" * 5000, "500"), ("MAIL FROM:<" + "a" * 200_000 + ">", "500"), ("VRFY joe", "250"), ("HELP", "250"),
        ("EHLO", "501"), ("EHLO a b", "501"), ("EHLO a\rb", "501"), ("VRFY a\rRSET", "501"), ("DATA now", "501"), ("ETRN x", "500"), ("XCLIENT ADDR=x", "501"),
    ],
)  # fmt: skip
async def test_commands_out_of_turn_or_shape_are_refused_and_the_door_stays(
    command: str, answer: str
) -> None:
    hop = Behind()
    async with proxy(hop) as opened:
        client = await opened.connect()
        assert (await client.ask(command))[0].startswith(answer)
        assert all(b"\r" not in one for one in hop.commands)
        assert (await send(client, MESSAGE, "a@x.test"))[-1].startswith("250 2.0.0 taken")


async def test_order_is_kept() -> None:
    async with proxy(Behind()) as opened:
        client = await opened.connect(None)
        await client.answer()
        assert (await client.ask("MAIL FROM:<a@b>"))[0].startswith("503")
        await client.ask("EHLO c")
        assert [
            one[:3] for one in await client.ask("MAIL FROM:<a@b>", "MAIL FROM:<a@b>", "DATA")
        ] == [
            "250",
            "503",
            "554",
        ]
        assert [one[:3] for one in await client.ask("RSET", "RCPT TO:<a@x>")] == ["250", "503"]
        assert [
            one[:3] for one in await client.ask("MAIL FROM:<a@b>", "EHLO c", "MAIL FROM:<a@b>")
        ] == ["250"] * 3


async def test_a_client_may_say_everything_at_once() -> None:
    hop = Behind()
    async with proxy(hop) as opened:
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
    assert [one[1] for one in hop.taken] == [[b"one@x.test"], [b"two@x.test"]]


@pytest.mark.parametrize(
    ("said", "last"),
    [
        (b"FROB\r\n" * 5, "502 5.5.1 Too many unrecognized"),
        (b"QUIT\r\n", "221 2.0.0 hop says goodbye"),
    ],
)
async def test_nothing_goes_on_behind_a_goodbye(said: bytes, last: str) -> None:
    hop, sessions = Behind(), Sessions()
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        client.write(said + b"MAIL FROM:<hidden@b>\r\n")
        while not (answer := await client.answer()).startswith(last):
            assert answer.startswith("500 ")
        assert await client.gone()
        await until(lambda: not opened.server.sessions and not hop.open)
    assert [one for one in hop.commands if b"hidden" in one] == []
    assert "mail" not in sessions.stages()


async def test_recipients_whom_the_next_hop_does_not_take_are_not_named_to_the_session() -> None:
    hop = Behind(rcpt={b"no@x.test": b"550 5.1.1 nobody"})
    sessions = Sessions()
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        assert (await send(client, MESSAGE, "no@x.test", "joe@x.test"))[1] == "550 5.1.1 nobody"
        assert [one[1] for one in sessions.told if one[0] == "rcpt"] == ["joe@x.test"]
        assert hop.taken[0][1] == [b"joe@x.test"]
        assert (await send(client, MESSAGE, "no@x.test"))[1:] == [
            "550 5.1.1 nobody",
            "554 5.5.1 No valid recipients",
        ]
    assert len(sessions.messages) == 1


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("mail", b"550 5.7.1 not you"),
        ("data", b"451 4.3.0 not now"),
        ("final", b"554 5.7.1 no\r\n"[:-2]),
        ("rcpt", b"452 4.2.2 full"),
    ],
)
async def test_what_the_next_hop_refuses_is_refused(step: str, words: bytes) -> None:
    hop, sessions = Behind(says={step: words}), Sessions()
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        answers = await send(client, MESSAGE, "joe@x.test")
        assert words.decode() in answers
        assert not any(one.startswith("250 2.0.0") for one in answers)
        hop.says = {}
        assert (await send(client, MESSAGE, "joe@x.test"))[-1].startswith("250 2.0.0 taken")


async def test_what_the_next_hop_thinks_of_us_the_client_hears() -> None:
    async with proxy(Behind(says={"greeting": b"554 5.7.1 no service"})) as opened:
        client = await opened.connect(None)
        assert await client.answer() == "554 5.7.1 no service"
        assert await client.gone()
    async with proxy(Behind(says={"hello": b"550 5.7.1 not with that name"})) as opened:
        client = await opened.connect(None)
        await client.answer()
        assert await client.ask("EHLO c") == ["550 5.7.1 not with that name"]
        assert (await client.ask("MAIL FROM:<a@b>"))[0].startswith("503")


async def test_too_many_recipients_come_again_with_the_rest() -> None:
    hop = Behind()
    async with proxy(hop, max_recipients=2) as opened:
        client = await opened.connect()
        answers = await send(client, MESSAGE, "a@x.test", "b@x.test", "c@x.test")
        assert [one[:9] for one in answers[1:4]] == ["250 2.1.5", "250 2.1.5", "452 4.5.3"]
        assert hop.taken[0][1] == [b"a@x.test", b"b@x.test"]


async def test_a_message_over_the_limit_is_refused_whole_and_the_next_one_is_not() -> None:
    hop, sessions = Behind(), Sessions()
    async with proxy(hop, sessions, max_message_bytes=65_536) as opened:
        client = await opened.connect()
        large = b"Subject: x\r\n\r\n" + b"y" * 70 * 1000 + b"\r\n"
        assert (await send(client, large, "joe@x.test"))[-1] == "552 5.3.4 Message is too large"
        assert (hop.of(b"DATA"), sessions.messages, sessions.aborts) == ([], [], 1)
        assert (await send(client, MESSAGE, "joe@x.test"))[-1].startswith("250 2.0.0 taken")


async def test_lmtp_has_an_answer_for_each_recipient() -> None:
    hop = Behind(final={b"b@x.test": b"452 4.2.2 full"}, rcpt={b"no@x.test": b"550 5.1.1 nobody"})
    async with proxy(hop, protocol="lmtp") as opened:
        client = await opened.connect()
        assert (await client.ask("EHLO x"))[0].startswith("502")
        await client.ask(
            "MAIL FROM:<a@b>",
            "RCPT TO:<a@x.test>",
            "RCPT TO:<no@x.test>",
            "RCPT TO:<b@x.test>",
            "DATA",
        )
        client.write(MESSAGE + b".\r\n")
        assert [await client.answer() for _ in range(2)] == [
            "250 2.0.0 taken <a@x.test>",
            "452 4.2.2 full",
        ]
        assert hop.taken == [(b"MAIL FROM:<a@b>", [b"a@x.test"], MESSAGE)]


async def test_a_stop_waits_for_the_answer_and_ends_who_waits_for_nothing() -> None:
    async with proxy(Behind()) as opened:
        idle, busy = await opened.connect(), await opened.connect()
        await busy.ask("MAIL FROM:<a@b>", "RCPT TO:<a@x.test>", "DATA")
        draining = asyncio.create_task(opened.server.drain(10.0))
        assert (await idle.answer()).startswith("421 4.3.2 ")
        assert await idle.gone()
        busy.write(MESSAGE + b".\r\n")
        assert (await busy.answer()).startswith("250 2.0.0 taken")
        assert (await busy.answer()).startswith("421 4.3.2 ")
        await draining


async def test_a_full_door_says_so() -> None:
    async with proxy(Behind(), max_connections=1) as opened:
        await opened.connect()
        second = await opened.connect(None)
        assert await second.answer() == "421 4.3.2 Too busy, try again later"
        assert await second.gone()


async def test_one_line_in_the_log_for_each_message(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with proxy(Behind()) as opened:
        await send(await opened.connect(), MESSAGE, "joe@x.test")
    (line,) = [one for one in caplog.records if one.getMessage() == "passed"]
    assert line.__dict__["fields"]["answer"] == "250 2.0.0 taken <joe@x.test>"
    assert [one for one in caplog.records if one.name == "mail.log"] == []


async def test_nothing_is_left_behind() -> None:
    hop = Behind()
    async with proxy(hop) as opened:
        for _ in range(3):
            client = await opened.connect()
            client.writer.close()
        await until(lambda: not hop.open and not opened.server.sessions)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"next_hop": "inet:25@127.0.0.1"}, "is the proxy itself"),
        ({"certificate": "/nowhere.pem"}, "No such file"),
        ({"certificate": __file__}, "PEM"),
    ],
)
def test_a_door_that_leads_nowhere_is_not_opened(settings: dict[str, str], why: str) -> None:
    asked = ProxySettings(listen="inet:127.0.0.1:25", **settings)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=why):
        check_openable(asked)
