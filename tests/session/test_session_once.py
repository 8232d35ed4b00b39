"""A session that is told all at once, against one that hears it word by word."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from oborona.doors.reply import BUSY, ReplyAction, SessionReply
from oborona.doors.rfc5322 import raw_message_of
from oborona.session.concurrency_limit import BUSY as TURNED_AWAY
from oborona.session.concurrency_limit import ConcurrencyLimit
from oborona.session.session import Session
from oborona.types import Action, Client, Envelope, Stage
from tests.session.test_session import GTUBE, Table

RULES = """
[[rule]]
name = "ADDRESS"
when = "client.ip == '192.0.2.66'"
score = 300
[[rule]]
name = "SENDER"
when = "sender == 'evil@a.example'"
score = 300
[[rule]]
name = "RECIPIENT"
when = "recipient == 'nobody@b.example'"
score = 300
"""
LETTER = b"From: Ann <ann@a.example>\r\nSubject: lunch\r\n\r\n"


def envelope(
    ip: str = "192.0.2.7", sender: str = "ann@a.example", to: str = "bob@b.example"
) -> Envelope:
    return Envelope(
        client=Client(ip=ip, name="a.example"),
        helo="mail.a.example",
        sender=sender,
        recipients=(to,),
        queue_id="QUEUE1",
    )


async def step_by_step(session: Session, told: Envelope, text: bytes) -> SessionReply:
    """Tell a session word by word; return its first refusal, or what it says of the message."""
    replies = [
        await session.connect(told.client),
        await session.helo(told.helo),
        await session.mail(told.sender, ()),
        await session.rcpt(told.recipients[0], ()),
    ]
    session.learn({"i": told.queue_id})
    refused = next((one for one in replies if one.answer is not ReplyAction.CONTINUE), None)
    return refused or await session.end_of_message(raw_message_of(LETTER + text, 100_000))


def said(reply: SessionReply) -> tuple[ReplyAction, int, str, str]:
    return reply.answer, reply.code, reply.enhanced, reply.text.partition(", reference")[0]


@pytest.mark.parametrize(
    "told",
    [
        envelope(),
        envelope(ip="192.0.2.66"),
        envelope(sender="evil@a.example"),
        envelope(to="nobody@b.example"),
    ],
    ids=["nothing", "client", "sender", "recipient"],
)
async def test_a_glance_says_what_the_stages_say(tmp_path: Path, told: Envelope) -> None:
    table = Table(tmp_path, RULES)
    stages = [
        await table.session.connect(told.client),
        await table.session.mail(told.sender, ()),
        await table.session.rcpt(told.recipients[0], ()),
    ]
    refused = next((said(one) for one in stages if one.answer is not ReplyAction.CONTINUE), None)
    glance = await table.session.glance(Stage.RECIPIENT, told, "")
    assert (said(glance) if glance.code else None) == refused
    assert glance.judged is not None
    assert (glance.judged.verdict.action is Action.REJECT) == (refused is not None)


async def test_a_stage_that_was_asked_about_is_not_judged_again(tmp_path: Path) -> None:
    tmp_path.joinpath("05.toml").write_text("[verdict]\nclients_at = 'connect'\n")
    table = Table(tmp_path, RULES)
    told = envelope(ip="192.0.2.66")
    assert (await table.session.glance(Stage.CONNECT, told, "")).code == 554
    first = await table.session.glance(Stage.RECIPIENT, told, "", after=Stage.SENDER)
    assert first.code == 550, "the recipient's stage knows the client too: its words are its own"


async def test_what_was_asked_about_before_anybody_is_refused_is_judged_where_he_is(
    tmp_path: Path,
) -> None:
    table = Table(tmp_path, RULES)
    told = envelope(ip="192.0.2.66")
    for stage in (Stage.CONNECT, Stage.SENDER):
        assert (await table.session.glance(stage, told, "")).answer is ReplyAction.CONTINUE
    for after in (None, Stage.CONNECT, Stage.SENDER):
        refused = await table.session.glance(Stage.RECIPIENT, told, "", after=after)
        assert said(refused)[1:] == (554, "5.7.1", "Client refused")


async def test_who_asks_behind_the_recipients_hears_it_of_client_and_sender(tmp_path: Path) -> None:
    table = Table(tmp_path, RULES)
    for told, code in ((envelope(ip="192.0.2.66"), 554), (envelope(sender="evil@a.example"), 550)):
        assert (
            await table.session.glance(Stage.SENDER, told, "", reached=Stage.CONTENT)
        ).code == code
    one_of_several = envelope(to="nobody@b.example")
    assert (
        await table.session.glance(Stage.SENDER, one_of_several, "", reached=Stage.CONTENT)
    ).code == 0


async def test_a_glance_at_connect_does_not_judge_the_sender(tmp_path: Path) -> None:
    table = Table(tmp_path, RULES)
    assert (
        await table.session.glance(Stage.CONNECT, envelope(sender="evil@a.example"), "")
    ).code == 0


@pytest.mark.parametrize("text", [b"At noon?\r\n", GTUBE + b"\r\n"], ids=["good", "gtube"])
async def test_a_whole_message_is_judged_and_journaled_as_one_that_came_in_words(
    tmp_path: Path, text: bytes
) -> None:
    by_words, at_once = Table(tmp_path / "a"), Table(tmp_path / "b")
    told = envelope()
    want = await step_by_step(by_words.session, told, text)
    reply = await at_once.session.whole(told, raw_message_of(LETTER + text, 100_000), "")
    await asyncio.sleep(0)
    assert said(reply) == said(want)
    assert reply.judged is not None
    assert want.judged is not None
    assert reply.judged.verdict == want.judged.verdict
    (left,), (right,) = by_words.journal, at_once.journal
    assert msgspec.structs.replace(left, id=0) == msgspec.structs.replace(right, id=0)


async def test_who_logged_in_and_who_came_to_a_submission_port_are_our_own_and_nobody_else(
    tmp_path: Path,
) -> None:
    table = Table(tmp_path)
    letter = raw_message_of(LETTER + b"hi\r\n", 100_000)
    who = []
    for told, port in (
        (msgspec.structs.replace(envelope(), login="ann"), ""),
        (envelope(), "587"),
        (envelope(), "25"),
        (Envelope(), ""),
    ):
        reply = await table.session.whole(told, letter, port)
        assert reply.judged is not None
        assert reply.judged.scan is not None
        who.append(reply.judged.scan.envelope)
    assert [(one.login, one.own) for one in who] == [
        ("ann", False),
        ("", True),
        ("", False),
        ("", False),
    ]
    assert msgspec.structs.replace(who[-1], own=False) == Envelope(), (
        "nothing is left of the one before"
    )


async def test_one_message_too_many_is_told_to_come_again_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    table = Table(tmp_path)
    crowd: ConcurrencyLimit = table.session._services.concurrency
    crowd.most = 0
    reply = await table.session.whole(envelope(), raw_message_of(LETTER + GTUBE, 100_000), "")
    await asyncio.sleep(0)
    assert reply.text.startswith(f"{BUSY.text}, reference ")
    assert (reply.code, reply.enhanced, reply.judged) == (451, "4.3.2", None)
    assert (table.journal, TURNED_AWAY.value(), crowd.inside) == ([], 1, 0)
    crowd.most = 1
    for _ in range(3):
        assert (
            await table.session.whole(envelope(), raw_message_of(LETTER + b"hi", 100_000), "")
        ).judged
    assert crowd.inside == 0
