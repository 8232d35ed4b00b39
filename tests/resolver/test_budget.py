"""What one message may ask, and how long it may wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from oborona.dns import DnsAnswer, DnsOutcome, DnsType
from oborona.resolver import BudgetedAsker, Resolver
from tests.peers.dns import Fault, Zones

Make = Callable[..., Resolver]
SPENT = DnsAnswer(outcome=DnsOutcome.TEMPERROR, why="budget")


@pytest.fixture(autouse=True)
def fill(zones: Zones) -> None:
    zones.add({f"n{number}.test": {"A": "192.0.2.1"} for number in range(9)})


class Known:
    """Knows nothing, and answers after a time of its own clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.asked = 0

    def clock(self) -> float:
        return self.now

    def known(self, name: str, kind: DnsType) -> DnsAnswer | None:
        return None

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        self.asked += 1
        await asyncio.sleep(0)
        self.now += float(name)
        return DnsAnswer(outcome=DnsOutcome.NO_NAME)


async def test_questions_are_counted_and_answers_at_hand_are_free(make: Make, zones: Zones) -> None:
    async with make() as resolver:
        await resolver.ask("n0.test", DnsType.A)
        asker = BudgetedAsker(resolver, questions=2, seconds=60)
        for name in ("n0.test", "n1.test", "n1.test", "no..name", "n2.test", "n0.test", "n2.test"):
            assert (await asker.ask(name, DnsType.A)).outcome is not DnsOutcome.TEMPERROR
        assert await asker.ask("n3.test", DnsType.A) == SPENT
        assert (await asker.ask("n1.test", DnsType.A)).outcome is DnsOutcome.FOUND
        # it is not kept for others
        assert (await resolver.ask("n3.test", DnsType.A)).outcome is DnsOutcome.FOUND
    assert zones.count("n3.test") == 1


async def test_no_budget_asks_nothing(make: Make, zones: Zones) -> None:
    async with make() as resolver:
        assert (
            await BudgetedAsker(resolver, questions=0, seconds=60).ask("n0.test", DnsType.A)
            == SPENT
        )
        assert (
            await BudgetedAsker(resolver, questions=9, seconds=0).ask("n0.test", DnsType.A) == SPENT
        )
    assert zones.asked == []


async def test_a_question_gets_the_time_that_is_left(make: Make, zones: Zones) -> None:
    zones.fault("hang.test", Fault.HANG)
    async with make(timeout_s=60.0) as resolver:
        asker = BudgetedAsker(resolver, questions=9, seconds=0.2)
        assert await asyncio.wait_for(asker.ask("hang.test", DnsType.A), 20) == SPENT
        assert await asker.ask("n0.test", DnsType.A) == SPENT
        patient = BudgetedAsker(resolver, questions=9, seconds=60)
        assert (await patient.ask("n0.test", DnsType.A)).outcome is DnsOutcome.FOUND


async def test_who_runs_out_of_time_leaves_the_others_their_answer(
    make: Make, zones: Zones
) -> None:
    zones.delay("n0.test", 0.3)
    async with make(timeout_s=60.0) as resolver:
        hasty = BudgetedAsker(resolver, questions=9, seconds=0.1)
        answers = await asyncio.gather(
            hasty.ask("n0.test", DnsType.A), resolver.ask("n0.test", DnsType.A)
        )
    assert answers[0] == SPENT
    assert answers[1].outcome is DnsOutcome.FOUND
    assert zones.count("n0.test") == 1


async def test_time_passes_only_while_something_is_asked() -> None:
    known = Known()
    asker = BudgetedAsker(known, questions=99, seconds=10, clock=known.clock)
    for name in ("3", "3.0", "3.00"):
        assert await asker.ask(name, DnsType.A) != SPENT
        known.now += 1000
    assert await asker.ask("3.000", DnsType.A) != SPENT  # one second was left
    assert await asker.ask("0", DnsType.A) == SPENT
    assert known.asked == 4


async def test_questions_at_a_time_wait_together() -> None:
    known = Known()
    asker = BudgetedAsker(known, questions=99, seconds=10, clock=known.clock)
    # eight seconds, not 1 + 2 + ... + 8
    await asyncio.gather(*(asker.ask("1", DnsType.A) for _ in range(8)))
    assert await asker.ask("0", DnsType.A) != SPENT


async def test_nothing_is_asked_twice() -> None:
    known = Known()
    asker = BudgetedAsker(known, questions=2, seconds=60, clock=known.clock)
    for _ in range(5):
        assert (await asker.ask("1", DnsType.A)).outcome is DnsOutcome.NO_NAME
    assert (await asker.ask("1", DnsType.TXT)).outcome is DnsOutcome.NO_NAME
    assert known.asked == 2
    assert await asker.ask("2", DnsType.A) == SPENT
    assert (await asker.ask("1", DnsType.A)).outcome is DnsOutcome.NO_NAME, "it is still known"
    other = BudgetedAsker(known, questions=2, seconds=60, clock=known.clock)
    await other.ask("1", DnsType.A)
    assert known.asked == 3, "of one message, not of all"


async def test_cancellation_passes_and_counts(make: Make, zones: Zones) -> None:
    zones.fault("hang.test", Fault.HANG)
    async with make(timeout_s=60.0) as resolver:
        asker = BudgetedAsker(resolver, questions=1, seconds=60)
        asking = asyncio.create_task(asker.ask("hang.test", DnsType.A))
        await asyncio.sleep(0.05)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asker.ask("n0.test", DnsType.A) == SPENT
