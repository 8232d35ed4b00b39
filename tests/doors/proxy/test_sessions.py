"""What a session says is done, at every stage: refused, put off, thrown away, marked, and without
those who get no copy.
"""

from __future__ import annotations

import pytest

from oborona.doors.guard import NO_ANSWER
from oborona.doors.reply import (
    BUSY,
    AddHeader,
    RemoveHeader,
    ReplyAction,
    SessionReply,
    refusal_reply,
)
from tests.doors.proxy.scripted import MESSAGE, Behind, Sessions, proxy, send, until

REFUSED = refusal_reply(550, "5.7.1", "Message refused\nas spam")
LATER = refusal_reply(451, "4.7.1", "Try again later")


async def test_a_client_who_is_refused_sees_no_next_hop() -> None:
    hop, sessions = (
        Behind(),
        Sessions(connect=refusal_reply(554, "5.7.1", "Client refused, reference 1")),
    )
    async with proxy(hop, sessions, trusted="") as opened:
        client = await opened.connect(None)
        assert await client.answer() == "554 5.7.1 Client refused, reference 1"
        assert await client.gone()
        await until(lambda: sessions.closed)
        assert (hop.connections, opened.noted) == (0, ["refused"])
        sessions.replies = {"connect": LATER}
        client = await opened.connect(None)
        assert await client.answer() == "421 4.7.1 Try again later"


async def test_a_client_of_a_trusted_one_is_refused_with_each_message() -> None:
    hop, sessions = Behind(), Sessions(connect=refusal_reply(554, "5.7.1", "Client refused"))
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        for _ in range(2):
            assert await client.ask("MAIL FROM:<a@b>") == ["554 5.7.1 Client refused"]
        assert (sessions.stages(), hop.of(b"MAIL")) == (["connect"], [])


@pytest.mark.parametrize("stage", ["helo", "mail"])
async def test_a_sender_who_is_refused_is_not_named_to_the_next_hop(stage: str) -> None:
    hop, sessions = Behind(), Sessions(**{stage: refusal_reply(550, "5.7.1", "Sender refused")})
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        answers = await client.ask("MAIL FROM:<a@b>", "MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>")
        assert [one[:9] for one in answers] == ["550 5.7.1", "550 5.7.1", "503 5.5.1"]
        assert hop.of(b"MAIL") == []
        sessions.replies = {}
        assert (await send(client, MESSAGE, "joe@x.test"))[-1].startswith("250 2.0.0 taken")


async def test_a_sender_whom_the_next_hop_does_not_take_is_no_message_to_the_session() -> None:
    hop, sessions = Behind(says={"mail": b"550 5.1.8 no such domain"}), Sessions()
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        assert await client.ask("MAIL FROM:<a@b>") == ["550 5.1.8 no such domain"]
        assert sessions.aborts == 1


@pytest.mark.parametrize("reply", [refusal_reply(550, "5.7.1", "Recipient refused"), LATER])
async def test_nothing_is_handed_on_to_a_recipient_who_is_refused(reply: SessionReply) -> None:
    hop, sessions = Behind(), Sessions(**{"rcpt no@x.test": reply})
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        answers = await send(client, MESSAGE, "joe@x.test", "no@x.test")
        assert [one[:3] for one in answers] == ["250", "250", str(reply.code), "250"]
        assert hop.taken == [(b"MAIL FROM:<ann@a.example>", [b"joe@x.test"], MESSAGE)]
        answers = await send(client, MESSAGE, "no@x.test")
        assert answers[-1] == "554 5.5.1 No valid recipients"
        assert len(hop.taken) == 1
        # who goes on without them takes nobody along
        assert (await client.ask("RSET"))[0].startswith("250")
        assert (await send(client, MESSAGE, "eve@x.test"))[-1].startswith("250")
        assert hop.taken[1][1] == [b"eve@x.test"]


@pytest.mark.parametrize(
    ("reply", "answer", "noted"),
    [
        (REFUSED, "550-5.7.1 Message refused\n550 5.7.1 as spam", "refused"),
        (LATER, "451 4.7.1 Try again later", "refused"),
        (BUSY, "451 4.3.2 Too busy, try again later", "busy"),
        (SessionReply(answer=ReplyAction.REJECT), "550 5.7.1 Refused", "refused"),
        (SessionReply(answer=ReplyAction.TEMPFAIL), "451 4.7.1 Try again later", "refused"),
        (NO_ANSWER, "451 4.3.0 Service unavailable, try again later", "failed"),
        (SessionReply(answer=ReplyAction.DISCARD), "250 2.0.0 Message taken", "discarded"),
    ],
)
@pytest.mark.parametrize("protocol", ["smtp", "lmtp"])
async def test_what_is_decided_of_a_message_holds_and_the_next_hop_gets_none(
    reply: SessionReply, answer: str, noted: str, protocol: str
) -> None:
    hop, sessions = Behind(), Sessions(content=reply)
    async with proxy(hop, sessions, protocol=protocol) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>", "RCPT TO:<eve@x.test>", "DATA")
        client.write(MESSAGE + b".\r\n")
        for _ in range(2 if protocol == "lmtp" else 1):
            assert await client.answer() == answer
        assert (hop.of(b"DATA"), hop.taken, opened.noted) == ([], [], [noted])
        # what the next hop holds of it is taken back before the next one
        sessions.replies = {}
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<ann@x.test>", "DATA")
        client.write(MESSAGE + b".\r\n")
        assert (await client.answer()).startswith("250 2.0.0 taken")
        assert [one[1] for one in hop.taken] == [[b"ann@x.test"]]


async def test_who_gets_no_copy_is_said_anew_without_him() -> None:
    hop, sessions = Behind(), Sessions(content=SessionReply(removed=("trap@x.test",)))
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        answers = await send(client, MESSAGE, "joe@x.test", "trap@x.test", "eve@x.test")
        assert answers[-1].startswith("250 2.0.0 taken")
        assert hop.taken == [
            (b"MAIL FROM:<ann@a.example>", [b"joe@x.test", b"eve@x.test"], MESSAGE)
        ]
        assert (await send(client, MESSAGE, "trap@x.test"))[-1] == "250 2.0.0 Message taken"
        assert len(hop.taken) == 1


async def test_who_gets_no_copy_has_an_answer_in_his_place() -> None:
    hop, sessions = Behind(), Sessions(content=SessionReply(removed=("trap@x.test",)))
    async with proxy(hop, sessions, protocol="lmtp") as opened:
        client = await opened.connect()
        await client.ask(
            "MAIL FROM:<a@b>",
            "RCPT TO:<joe@x.test>",
            "RCPT TO:<trap@x.test>",
            "RCPT TO:<eve@x.test>",
            "DATA",
        )
        client.write(MESSAGE + b".\r\n")
        assert [await client.answer() for _ in range(3)] == [
            "250 2.0.0 taken <joe@x.test>", "250 2.0.0 Message taken", "250 2.0.0 taken <eve@x.test>",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("again", "answer"),
    [
        ({"mail": b"451 4.3.0 not now"}, "451 4.3.0 not now"),
        ({"rcpt": b"550 5.1.1 nobody"}, "451 4.3.0 "),
        ({"rset": b"421 4.3.2 going"}, "421"),
    ],
)
async def test_a_next_hop_that_changes_its_mind_gets_the_message_another_time(
    again: dict[str, bytes], answer: str
) -> None:
    hop, sessions = Behind(), Sessions(content=SessionReply(removed=("trap@x.test",)))
    async with proxy(hop, sessions) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>", "RCPT TO:<trap@x.test>", "DATA")
        hop.says = again
        client.write(MESSAGE + b".\r\n")
        assert (await client.answer()).startswith(answer)
        assert hop.taken == []


async def test_headers_are_edited_and_nothing_else() -> None:
    edits = (
        RemoveHeader("X-Spam", 2),
        AddHeader("X-Last", "ja\n\tja"),
        AddHeader("X-First", "1", top=True),
    )
    hop, sessions = Behind(), Sessions(content=SessionReply(edits=edits))
    body = b"\r\n.x\r\n..\r\n\0\xff\r\n" + b"y" * 3000 + b"\r\nX-Spam: in the body\r\n\r"
    message = b"X-Spam: a\r\nSubject: x\r\nX-Spam: b\r\n" + body
    async with proxy(hop, sessions, forbid_stray=False) as opened:
        client = await opened.connect()
        await client.ask("MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>", "DATA")
        client.write(message.replace(b"\r\n.", b"\r\n..") + b"\r\n.\r\n")
        assert (await client.answer()).startswith("250 2.0.0 taken")
        want = b"X-First: 1\r\nX-Spam: a\r\nSubject: x\r\nX-Last: ja\r\n\tja\r\n" + body + b"\r\n"
        assert hop.taken[0][2] == want
        assert sessions.messages[0].headers[2] == (b"X-Spam", b" b")


@pytest.mark.parametrize("fault", [ValueError("a bug"), None])
async def test_a_message_that_a_session_fails_to_judge_is_marked_or_comes_again(
    fault: Exception | None,
) -> None:
    hop, sessions = Behind(), Sessions(content=fault)
    async with proxy(hop, sessions, guard_s=0.1) as opened:
        client = await opened.connect()
        assert (await send(client, MESSAGE, "joe@x.test"))[-1].startswith("451 4.3.0 ")
        assert not hop.taken
        sessions.replies["unjudged"] = SessionReply(edits=(AddHeader("X-Seen", "1"),))
        assert (await send(client, MESSAGE, "joe@x.test"))[-1].startswith("250 2.0.0 taken")
        assert b"\r\nX-Seen: 1\r\n" in hop.taken[0][2]
    assert opened.noted == ["failed", "passed"]


async def test_of_a_large_message_the_head_is_judged_and_all_of_it_goes_on() -> None:
    hop, sessions = Behind(), Sessions(content=SessionReply(edits=(AddHeader("X-Seen", "1"),)))
    message = b"Subject: x\r\n\r\n" + b"y" * 998 + b"\r\n" + (b"z" * 998 + b"\r\n") * 600
    async with proxy(hop, sessions, limit_bytes=65_536) as opened:
        client = await opened.connect()
        assert (await send(client, message, "joe@x.test"))[-1].startswith("250 2.0.0 taken")
        (seen,) = sessions.messages
        assert (seen.size, seen.truncated, seen.raw) == (len(message), True, message[:65_536])
        assert (
            hop.taken[0][2]
            == b"Subject: x\r\nX-Seen: 1\r\n\r\n" + message.partition(b"\r\n\r\n")[2]
        )
