"""SPF of one connection: what is evaluated once, and what is not kept."""

from __future__ import annotations

import asyncio

import pytest

from oborona.authentication.model import AuthResult, Spf
from oborona.dns import DnsAnswer, DnsOutcome, DnsType
from oborona.session.spf_checks import KEPT, SpfChecks
from oborona.types import Client, Envelope
from tests.asking import Table

IP = "192.0.2.1"
ZONE = Table(
    {
        "*.test": {"TXT": "v=spf1 exists:%{l}.%{h}.%{i}.on.example -all"},
        "ann.mail.test.192.0.2.1.on.example": {"A": "127.0.0.2"},
    }
)


def envelope(sender: str = "ann@a.test", helo: str = "mail.test", ip: str = IP) -> Envelope:
    return Envelope(client=Client(ip=ip), helo=helo, sender=sender)


@pytest.fixture
def checks() -> SpfChecks:
    ZONE.asked.clear()
    return SpfChecks("mx.test")


async def both(checks: SpfChecks, here: Envelope, asker: Table = ZONE) -> tuple[Spf, Spf]:
    return await checks.mail_from(here, asker), await checks.helo(here, asker)


async def test_an_identity_is_evaluated_once(checks: SpfChecks) -> None:
    first = await both(checks, envelope())
    assert [one.result for one in first] == [AuthResult.PASS, AuthResult.FAIL]
    asked = len(ZONE.asked)
    assert await both(checks, envelope()) == first
    assert len(ZONE.asked) == asked


@pytest.mark.parametrize(
    "other",
    [
        envelope("eve@a.test"),
        envelope("ann@b.test"),
        envelope(helo="x.test"),
        envelope(ip="192.0.2.2"),
    ],
)
async def test_whatever_a_record_may_look_at_makes_another_identity(
    checks: SpfChecks, other: Envelope
) -> None:
    await checks.mail_from(envelope(), ZONE)
    asked = len(ZONE.asked)
    await checks.mail_from(other, ZONE)
    assert len(ZONE.asked) > asked


async def test_a_bounce_is_not_its_helo_name(checks: SpfChecks) -> None:
    mail_from, helo = await both(checks, envelope(""))
    assert (mail_from.scope, helo.scope) == ("mfrom", "helo")


async def test_helo_is_kept_however_many_senders_come(checks: SpfChecks) -> None:
    for number in range(3 * KEPT):
        await both(checks, envelope(f"{number}@a.test"))
    assert ZONE.asked.count(("mail.test", DnsType.TXT)) == 1
    asked = len(ZONE.asked)
    await both(checks, envelope(f"{3 * KEPT - 1}@a.test"))
    assert len(ZONE.asked) == asked
    await both(checks, envelope("0@a.test"))
    assert len(ZONE.asked) > asked, "that of the first sender is gone"


async def test_what_was_not_answered_in_time_is_asked_again(checks: SpfChecks) -> None:
    broken = Table(broken=[("*", "*")])
    assert {one.result for one in await both(checks, envelope(), broken)} == {AuthResult.TEMPERROR}
    assert [one.result for one in await both(checks, envelope())] == [
        AuthResult.PASS,
        AuthResult.FAIL,
    ]


async def test_a_check_that_was_given_up_is_not_kept(checks: SpfChecks) -> None:
    class Hanging:
        async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
            await asyncio.Event().wait()
            return DnsAnswer(outcome=DnsOutcome.NO_NAME)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await checks.mail_from(envelope(), Hanging())
    assert (await checks.mail_from(envelope(), ZONE)).result is AuthResult.PASS


async def test_the_next_connection_begins_anew(checks: SpfChecks) -> None:
    await both(checks, envelope())
    asked = len(ZONE.asked)
    checks.forget()
    await both(checks, envelope())
    assert len(ZONE.asked) == 2 * asked
