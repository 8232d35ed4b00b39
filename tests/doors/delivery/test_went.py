"""Where each copy went is told, for who looks at the message again."""

from __future__ import annotations

import pytest

from oborona.journal.entry import CopyDelivery
from oborona.types import Action
from tests.doors.delivery.scripted import NOW, Hop, Written, door
from tests.doors.delivery.test_verdicts import AMY, EVE, IDENT, JOE, LISTS, SPAM, judged, letter


async def test_each_copy_that_was_taken_is_told_with_its_folder() -> None:
    one, told = judged(Action.SPAM, SPAM), list[CopyDelivery]()
    hop = Hop(final={EVE.encode(): b"452 4.2.2 <eve@x.test> is full"})
    async with door(hop, persons=LISTS, entries=Written(one), went=told.append) as opened:
        await (await opened.connect()).send(letter(one), JOE, AMY, EVE, "alias-of-bob@x.test")
    assert [(one.recipient, one.spam) for one in told] == [
        (JOE, False),  # he allows her
        (AMY, True),
        # the mailbox, whatever name the sender knew; Eve's is to come again
        ("alias-of-bob@x.test", True),
    ]
    assert {(one.id, one.time) for one in told} == {(IDENT, NOW)}


@pytest.mark.parametrize("signed", ["", "0000000000000.AAAAAAAAAAAAAAAA"])
async def test_what_we_have_not_judged_is_not_told(signed: str) -> None:
    one, told = judged(Action.ACCEPT, ()), list[CopyDelivery]()
    message = letter(one, signed=signed) if signed else b"From: a@a.example\r\n\r\nhello\r\n"
    async with door(Hop(), went=told.append) as opened:
        await (await opened.connect()).send(message, JOE)
    assert told == []


async def test_what_cannot_be_told_is_delivered_all_the_same() -> None:
    one, hop = judged(Action.ACCEPT, ()), Hop()

    def closed(_: CopyDelivery) -> None:
        raise RuntimeError("the journal is closed")

    async with door(hop, entries=Written(one), went=closed) as opened:
        [answer] = await (await opened.connect()).send(letter(one), JOE)
    assert answer.startswith("250")
    assert list(hop.received()) == [JOE.encode()]
