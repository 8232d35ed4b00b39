"""Equal questions at a time, and what ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from oborona.dns import DnsAnswer, DnsOutcome, DnsType
from oborona.resolver import Resolver, ResolverAddress
from oborona.resolver.chain import CnameChain
from tests.peers.dns import Fault, Zones

Make = Callable[..., Resolver]


@pytest.fixture(autouse=True)
def fill(zones: Zones) -> None:
    zones.add({"example.test": {"A": "192.0.2.1"}, "other.test": {"A": "192.0.2.2"}})
    zones.delay("example.test", 0.1)


async def test_equal_questions_share_an_answer(make: Make, zones: Zones) -> None:
    zones.ttl = 0  # usable for those who share it, and not kept
    async with make() as resolver:
        answers = await asyncio.gather(
            *(resolver.ask(f"{'eE'[n % 2]}xample.test", DnsType.A) for n in range(50))
        )
        first = DnsAnswer(outcome=DnsOutcome.FOUND, records=("192.0.2.1",))
        assert answers == [first] + [msgspec.structs.replace(first, again=True)] * 49
        assert zones.count("example.test") == 1
        assert resolver.stats.shared == 49
        assert resolver.known("example.test", DnsType.A) is None
        await resolver.ask("example.test", DnsType.A)
        assert zones.count("example.test") == 2


async def test_who_is_cancelled_leaves_the_others_their_answer(make: Make, zones: Zones) -> None:
    async with make() as resolver:
        first, second, third = (
            asyncio.create_task(resolver.ask("example.test", DnsType.A)) for _ in range(3)
        )
        await asyncio.sleep(0.01)
        first.cancel()
        third.cancel()
        assert (await second).outcome is DnsOutcome.FOUND
        assert first.cancelled()
        assert third.cancelled()
        assert zones.count("example.test") == 1


async def test_an_answer_nobody_waits_for_is_kept(make: Make, zones: Zones) -> None:
    async with make() as resolver:
        only = asyncio.create_task(resolver.ask("example.test", DnsType.A))
        await asyncio.sleep(0.01)
        only.cancel()
        await asyncio.sleep(0.2)
        assert resolver.known("example.test", DnsType.A) is not None
    assert zones.count("example.test") == 1


async def test_many_different_questions_at_a_time(make: Make, zones: Zones) -> None:
    zones.add({f"n{number}.test": {"A": f"192.0.2.{number % 250}"} for number in range(150)})
    async with make(timeout_s=30.0) as resolver:
        answers = await asyncio.gather(
            *(resolver.ask(f"n{number}.test", DnsType.A) for number in range(150))
        )
    assert [answer.names for answer in answers] == [
        (f"192.0.2.{number % 250}",) for number in range(150)
    ]


async def test_more_questions_than_may_be_under_way_wait_within_their_time(
    make: Make, zones: Zones
) -> None:
    zones.delay("*.slow.test", 0.2)
    async with make(timeout_s=30.0, under_way=2) as resolver:
        slow = [
            asyncio.create_task(resolver.ask(f"{number}.slow.test", DnsType.A))
            for number in range(2)
        ]
        await asyncio.sleep(0)
        late = asyncio.create_task(resolver.ask("other.test", DnsType.A))
        await asyncio.sleep(0.05)
        assert zones.count("other.test") == 0
        assert (await late).names == ("192.0.2.2",)
        assert {(await one).outcome for one in slow} == {DnsOutcome.NO_NAME}
    zones.fault("*", Fault.HANG)
    async with make(timeout_s=1.0, under_way=2) as resolver:
        crowd = [asyncio.create_task(resolver.ask(f"{n}.crowd.test", DnsType.A)) for n in range(4)]
        await asyncio.sleep(0.5)
        assert {one.name for one in zones.asked if "crowd" in one.name} == {
            "0.crowd.test",
            "1.crowd.test",
        }
        answers = await asyncio.gather(*crowd)
        assert [answer.why for answer in answers[:2]] == ["timeout", "timeout"]
        assert {answer.why for answer in answers[2:]} <= {"busy", "timeout"}


async def test_closing_ends_what_is_under_way(make: Make, zones: Zones) -> None:
    zones.fault("hang.test", Fault.HANG)
    zones.fault("cut.test", Fault.CUT_OFF)
    resolver = make(timeout_s=60.0)
    await resolver.ask("other.test", DnsType.A)
    under_way = [
        asyncio.create_task(resolver.ask(name, DnsType.A)) for name in ("hang.test", "cut.test")
    ]
    await asyncio.sleep(0.2)
    await resolver.close()
    closed = DnsAnswer(outcome=DnsOutcome.TEMPERROR, why="closed")
    assert await asyncio.wait_for(asyncio.gather(*under_way), 10) == [closed, closed]
    assert await resolver.ask("new.test", DnsType.A) == closed
    assert (await resolver.ask("other.test", DnsType.A)).names == ("192.0.2.2",)  # kept
    await resolver.close()


async def test_closing_what_never_asked() -> None:
    await Resolver([ResolverAddress("127.0.0.1")]).close()


async def test_a_fault_of_ours_reaches_all_who_wait(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError

    async with make() as resolver:
        monkeypatch.setattr(CnameChain, "follow", broken)
        told: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _loop, context: told.append(context)
        )
        waiting = [resolver.ask("other.test", DnsType.A) for _ in range(2)]
        faults = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(fault) for fault in faults] == [ZeroDivisionError, ZeroDivisionError]
        only = asyncio.create_task(resolver.ask("example.test", DnsType.A))
        await asyncio.sleep(0.01)
        only.cancel()
        await asyncio.sleep(0.3)
        assert [type(context["exception"]) for context in told] == [ZeroDivisionError]
