"""Time-lines of who stands behind a message: whose are looked at, how often, and what they tell
that totals do not.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from oborona.counters.memory import MemoryCounters
from oborona.counters.window import Timeline
from oborona.errors import StoreError
from oborona.message.hashing import Hasher, ShingleType
from oborona.policy import histories as module
from oborona.policy.counts import MessageCounts
from oborona.policy.facts import Facts
from oborona.policy.histories import LEAST_SEEN, Histories, Judgements, judge_histories
from oborona.policy.reputation_facts import ReputationInputs, with_reputation
from oborona.reputation.flag import ReputationFlag
from oborona.types import Amounts, CountedPieces, CounterPrefix, ProvedIdentity, Shingle

NOW = 1_795_170_000.0
DAY_S = 86_400
HASHER = Hasher(b"k" * 32)
ANN = ProvedIdentity(author="ann@a.example", author_domain="a.example", sender="bounce@a.example")
AUTHOR, DOMAIN, SENDER = (
    HASHER.shingle(kind, piece)
    for kind, piece in (
        (ShingleType.AUTHOR, ANN.author),
        (ShingleType.AUTHOR_DOMAIN, ANN.author_domain),
        (ShingleType.PROVED_SENDER, ANN.sender),
    )
)


class Watched(MemoryCounters):
    """Counters that remember whose time-lines were read, or do not answer."""

    def __init__(self, *, away: bool = False) -> None:
        super().__init__()
        self.away = away
        self.asked: list[tuple[Shingle, CounterPrefix]] = []

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[Timeline]:
        if self.away:
            raise StoreError("away")
        self.asked += [(shingle, prefix) for shingle in shingles]
        return await super().timelines(shingles, now, prefix)


def mail(counters: MemoryCounters, amounts: Amounts, days: Sequence[float], *of: Shingle) -> None:
    for ago in days:
        counters.add(
            CountedPieces(shingles=of or (AUTHOR, DOMAIN), pairs=()), amounts, NOW - ago * DAY_S
        )


async def judged(
    counters: MemoryCounters, histories: Histories, who: ProvedIdentity = ANN, *, now: float = NOW
) -> tuple[Judgements, tuple[str, ...]]:
    asked = (AUTHOR, DOMAIN, SENDER)
    known = MessageCounts(asked, await counters.read(asked, now))
    return await judge_histories(counters, known, who, HASHER, histories, now=now)


async def test_who_has_little_of_a_past_is_not_looked_at() -> None:
    counters = Watched()
    mail(counters, Amounts(seen=LEAST_SEEN - 1), [3])
    assert await judged(counters, Histories()) == ({}, ())
    assert not counters.asked
    mail(counters, Amounts(seen=1), [2])
    found, _ = await judged(counters, Histories())
    assert set(found) == {ShingleType.AUTHOR, ShingleType.AUTHOR_DOMAIN}
    assert {shingle for shingle, prefix in counters.asked if prefix is CounterPrefix.FIRST} == {
        AUTHOR,
        DOMAIN,
    }


async def test_an_envelope_sender_is_looked_at_where_nobody_else_is_proved() -> None:
    counters = Watched()
    mail(counters, Amounts(seen=50), [1, 2, 3], SENDER)
    assert set((await judged(counters, Histories()))[0]) == set()
    assert set((await judged(counters, Histories(), ProvedIdentity(sender=ANN.sender)))[0]) == {
        ShingleType.PROVED_SENDER
    }


async def test_a_judgement_is_kept_while_little_changes() -> None:
    counters, pasts = Watched(), Histories()
    mail(counters, Amounts(seen=100, reads=50), [1, 2, 3, 5])
    first, _ = await judged(counters, pasts)
    counters.asked.clear()
    mail(counters, Amounts(seen=50), [0])
    assert (await judged(counters, pasts))[0] == first
    assert not counters.asked
    mail(counters, Amounts(complaints=1), [0])
    await judged(counters, pasts)
    assert counters.asked, "the first word against it is news"
    counters.asked.clear()
    mail(counters, Amounts(seen=400), [0])
    await judged(counters, pasts)
    assert counters.asked, "so is much more mail"
    counters.asked.clear()
    await judged(counters, pasts, now=NOW + 600)
    assert counters.asked, "and ten minutes later anything may be"


async def test_a_small_past_is_looked_at_again_when_it_has_grown_by_twenty() -> None:
    """A quarter of 20 is 5: whoever has so little of a past would be looked at for every fifth
    message.
    """
    counters, pasts = Watched(), Histories()
    mail(counters, Amounts(seen=LEAST_SEEN), [2])
    await judged(counters, pasts)
    counters.asked.clear()
    mail(counters, Amounts(seen=20), [0])
    await judged(counters, pasts)
    assert not counters.asked
    mail(counters, Amounts(seen=1), [0])
    await judged(counters, pasts)
    assert counters.asked


async def test_an_author_is_judged_alike_whether_or_not_his_domain_was_looked_at_before() -> None:
    """What lies around him is part of his judgement.

    A busy domain has been judged when he writes.
    """
    counters, pasts = Watched(), Histories()
    bob = HASHER.shingle(ShingleType.AUTHOR, "bob@a.example")
    mail(counters, Amounts(seen=400, spam=390), [1, 2, 3], bob, DOMAIN)
    mail(counters, Amounts(seen=10, spam=1), [1, 2, 3])
    asked = (bob, DOMAIN)
    known = MessageCounts(asked, await counters.read(asked, NOW))
    await judge_histories(
        counters,
        known,
        ProvedIdentity(author="bob@a.example", author_domain="a.example"),
        HASHER,
        pasts,
        now=NOW,
    )
    alone, _ = await judged(counters, Histories())
    assert (await judged(counters, pasts))[0] == alone
    assert "its neighbours: " in alone[ShingleType.AUTHOR].say


async def test_a_burst_after_a_quiet_past_is_seen() -> None:
    """Totals of two weeks are good still; the hour is not."""
    counters = Watched()
    mail(counters, Amounts(seen=200, reads=80), range(1, 11))
    warm, _ = await judged(counters, Histories())
    mail(counters, Amounts(seen=300, spam=250, complaints=20), [0])
    burst, _ = await judged(counters, Histories())
    assert warm[ShingleType.AUTHOR].trust > 30
    assert burst[ShingleType.AUTHOR].trust < 0
    assert burst[ShingleType.AUTHOR].flag in (
        ReputationFlag.POOR,
        ReputationFlag.UNKNOWN,
        ReputationFlag.BAD,
    )


async def test_a_store_that_does_not_answer_leaves_base_records() -> None:
    counters = Watched(away=True)
    mail(counters, Amounts(seen=100), [1, 2])
    found, faults = await judged(counters, Histories())
    assert (found, faults) == ({}, ("counters: away",))


async def test_no_more_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    counters, pasts = Watched(), Histories()
    names = [f"a{n}@a.example" for n in range(4)]
    for name in names:
        mail(counters, Amounts(seen=40), [1], HASHER.shingle(ShingleType.ACCOUNT, name))
    for name in names:
        asked = (HASHER.shingle(ShingleType.ACCOUNT, name),)
        known = MessageCounts(asked, await counters.read(asked, NOW))
        found, _ = await judge_histories(
            counters, known, ProvedIdentity(account=name), HASHER, pasts, now=NOW
        )
        assert set(found) == {ShingleType.ACCOUNT}
    assert len(pasts) == 2


async def test_what_a_name_that_was_warmed_up_gains() -> None:
    """Fresh and proved, ten days of mail that is read, a burst, the first words against it:
    docs/senders/karma.md.
    """
    counters = Watched()

    async def karma() -> float:
        asked = (AUTHOR, DOMAIN)
        known = MessageCounts(asked, await counters.read(asked, NOW))
        judgements, _ = await judge_histories(counters, known, ANN, HASHER, Histories(), now=NOW)
        return with_reputation(
            Facts(known=known), ReputationInputs(ANN, HASHER, judgements=judgements)
        ).karma

    mail(counters, Amounts(seen=LEAST_SEEN - 1), [0.02])
    assert await karma() == 0, "of today alone"
    mail(counters, Amounts(seen=1000), [0.02])
    assert await karma() < 10, "in an hour"
    counters = Watched()
    mail(counters, Amounts(seen=20, reads=20), range(1, 11))
    assert await karma() > 50
    mail(counters, Amounts(seen=1000), [0.01])
    assert await karma() < 20, "the burst is no good mail yet, and a change"
    mail(counters, Amounts(complaints=5), [0])
    assert await karma() < 0
