"""Greylisting: who is put off, who never is, and when he comes through."""

from __future__ import annotations

import pytest

from oborona.authentication.model import AuthIdentity, AuthResult, DkimSignature, Spf
from oborona.counters.memory import MemoryCounters
from oborona.errors import StoreError
from oborona.message.shingles import Hasher, ShingleType, envelope_shingles
from oborona.policy.accounting import read_counts, record_greylisted
from oborona.policy.counts import MessageCounts, shingles_to_read
from oborona.policy.evidence import SenderEvidence
from oborona.policy.greylist import GREYLISTED, GreylistReply, check_greylist
from oborona.policy.tables import GreylistTable
from oborona.types import Action, Amounts, Client, CountedPieces, CounterPrefix, Envelope, Verdict

NOW = 1_795_170_000.0
BEFORE = NOW - 2 * 86_400  # what came within the last day makes nobody known
HASHER = Hasher(b"k" * 32)
ON = GreylistTable(enabled=True, score=60, known_after=3)
NOBODY, NOTHING = AuthIdentity(), MessageCounts()
ENVELOPE = Envelope(
    client=Client(ip="192.0.2.7"), sender="ann@a.example", recipients=("bob@b.example",)
)
SIGNED = AuthIdentity(dkim=(DkimSignature(result=AuthResult.PASS, domain="bank.example"),))


def verdict(score: float, action: Action = Action.ACCEPT) -> Verdict:
    return Verdict(action=action, score=score, line=100.0, decided_by="below-threshold")


async def ask(
    counters: MemoryCounters, *, now: float = NOW, score: float = 70.0, action: Action = Action.ACCEPT,
    table: GreylistTable = ON, envelope: Envelope = ENVELOPE, identity: AuthIdentity = NOBODY, known: MessageCounts = NOTHING,
) -> GreylistReply | None:  # fmt: skip
    return await check_greylist(
        verdict(score, action), envelope, SenderEvidence(identity=identity), known,
        counters=counters, hasher=HASHER, table=table, now=now,
    )  # fmt: skip


async def test_grey_mail_of_a_stranger_comes_through_in_a_later_bucket() -> None:
    counters = MemoryCounters()
    first = await ask(counters)
    assert first is not None
    assert first.verdict.action is Action.TEMPFAIL
    assert first.verdict.decided_by == GREYLISTED
    record_greylisted(first.shingle, counters, now=NOW)
    assert await ask(counters, now=NOW + 1) is not None, "at once is too early"
    assert await ask(counters, now=NOW + 601) is None
    assert await ask(counters, now=NOW + 13 * 86_400) is None
    assert await ask(counters, now=NOW + 15 * 86_400) is not None, "forgotten after two weeks"


async def test_another_address_of_the_farm_may_try_again_another_sender_may_not() -> None:
    counters = MemoryCounters()
    first = await ask(counters)
    assert first is not None
    record_greylisted(first.shingle, counters, now=NOW)
    farm = Envelope(client=Client(ip="192.0.2.99"), sender="ann@a.example")
    other = Envelope(client=Client(ip="192.0.2.7"), sender="eve@a.example")
    assert await ask(counters, now=NOW + 700, envelope=farm) is None
    assert await ask(counters, now=NOW + 700, envelope=other) is not None


@pytest.mark.parametrize(
    ("score", "action", "table"),
    [
        (59.9, Action.ACCEPT, ON),
        (120.0, Action.SPAM, ON),
        (300.0, Action.REJECT, ON),
        (70.0, Action.ACCEPT, GreylistTable()),
    ],
)
async def test_only_grey_mail_is_put_off_and_only_where_it_is_switched_on(
    score: float, action: Action, table: GreylistTable
) -> None:
    assert await ask(MemoryCounters(), score=score, action=action, table=table) is None


@pytest.mark.parametrize(
    "envelope",
    [
        Envelope(client=Client(ip="192.0.2.7"), sender="ann@a.example", login="ann"),
        Envelope(client=Client(ip="192.0.2.7"), sender="ann@a.example", own=True),
        Envelope(client=Client(ip="10.0.0.7"), sender="ann@a.example"),
        Envelope(client=Client(ip="127.0.0.1"), sender="ann@a.example"),
        Envelope(sender="ann@a.example"),
    ],
)
async def test_our_own_people_are_never_put_off(envelope: Envelope) -> None:
    assert await ask(MemoryCounters(), envelope=envelope) is None


@pytest.mark.parametrize(
    ("identity", "kind", "piece"),
    [
        (SIGNED, ShingleType.DKIM_DOMAIN, "bank.example"),
        (
            AuthIdentity(spf=Spf(result=AuthResult.PASS, domain="a.example")),
            ShingleType.MAIL_FROM_DOMAIN,
            "a.example",
        ),
        (AuthIdentity(), ShingleType.CLIENT_IP, "192.0.2.7"),
    ],
)
async def test_an_identity_with_good_mail_is_known_and_a_login_code_comes_through_at_once(
    identity: AuthIdentity, kind: ShingleType, piece: str
) -> None:
    counters = MemoryCounters()
    shingle = HASHER.shingle(kind, piece)

    async def known() -> MessageCounts:
        return (await read_counts(counters, (shingle,), NOW))[0]

    assert await ask(counters, identity=identity, known=await known()) is not None
    counters.add(CountedPieces(shingles=(shingle,), pairs=()), Amounts(seen=9, spam=7), BEFORE)
    assert await ask(counters, identity=identity, known=await known()) is not None, (
        "two good ones are no history"
    )
    counters.add(CountedPieces(shingles=(shingle,), pairs=()), Amounts(seen=9), NOW)
    assert await ask(counters, identity=identity, known=await known()) is not None, (
        "nor is what came today"
    )
    counters.add(CountedPieces(shingles=(shingle,), pairs=()), Amounts(seen=1), BEFORE)
    assert await ask(counters, identity=identity, known=await known()) is None


async def test_a_mail_server_whose_bounces_were_good_is_known_by_its_name() -> None:
    bounce = Envelope(
        client=Client(ip="192.0.2.7"), helo="MX.a.example.", recipients=("bob@b.example",)
    )
    passed = AuthIdentity(spf=Spf(result=AuthResult.PASS, domain="mx.a.example"))
    counters = MemoryCounters()
    pieces = envelope_shingles(bounce, HASHER)

    async def put_off(now: float) -> GreylistReply | None:
        known, _ = await read_counts(counters, shingles_to_read(pieces), now)
        return await ask(counters, now=now, envelope=bounce, identity=passed, known=known)

    first = await put_off(NOW)
    assert first is not None
    for number in range(ON.known_after):
        assert await put_off(NOW) is not None, f"{number} good ones are no history"
        counters.add(pieces, Amounts(seen=1), BEFORE)
    assert await put_off(NOW) is None
    assert await put_off(NOW + 15 * 86_400) is not None
    record_greylisted(first.shingle, counters, now=NOW)
    assert await ask(counters, now=NOW + 700, envelope=bounce, identity=passed) is None


async def test_if_the_counters_are_away_nothing_is_put_off() -> None:
    class Away(MemoryCounters):
        async def read(self, *_: object, **__: object) -> list[list[list[int]]]:
            raise StoreError("away")

    assert await ask(Away()) is None


async def test_its_memory_is_apart_from_the_counts_of_mail() -> None:
    counters = MemoryCounters()
    first = await ask(counters)
    assert first is not None
    record_greylisted(first.shingle, counters, now=NOW)
    assert (await counters.read([first.shingle], NOW, CounterPrefix.IN))[0][3][0] == 0
    assert (await counters.read([first.shingle], NOW, CounterPrefix.GREY))[0][3][0] == 1


async def test_one_known_signature_is_enough_whoever_else_signed() -> None:
    counters = MemoryCounters()
    bank, mailer = (
        HASHER.shingle(ShingleType.DKIM_DOMAIN, name) for name in ("bank.example", "mailer.example")
    )
    counters.add(CountedPieces(shingles=(bank,), pairs=()), Amounts(seen=5), BEFORE)
    counters.add(CountedPieces(shingles=(mailer,), pairs=()), Amounts(seen=2, spam=2), BEFORE)
    signatures = tuple(
        DkimSignature(result=AuthResult.PASS, domain=name)
        for name in ("mailer.example", "bank.example")
    )
    known, _ = await read_counts(counters, (mailer, bank), NOW)
    assert await ask(counters, identity=AuthIdentity(dkim=signatures), known=known) is None
