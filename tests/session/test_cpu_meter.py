"""What one message computes is measured, and nothing else: not what others compute meanwhile, not
the time it waits.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from oborona.policy.budget import OverBudgetError
from oborona.session.cpu_meter import CpuMeter
from oborona.session.quarantine.in_flight import InFlightTable

T = TypeVar("T")


async def measured(meter: CpuMeter, work: Coroutine[Any, Any, T]) -> T:
    return await InFlightTable().steps(0, work, meter)


def burn(cpu_s: float) -> None:
    until = time.thread_time() + cpu_s
    while time.thread_time() < until:
        pass


async def test_waiting_and_others_work_are_not_counted() -> None:
    async def work() -> str:
        burn(0.02)
        await asyncio.sleep(0.05)
        burn(0.02)
        return "done"

    async def other() -> None:
        await asyncio.sleep(0.01)
        burn(0.2)

    meter = CpuMeter(10.0)
    beside = asyncio.create_task(other())
    assert await measured(meter, work()) == "done"
    await beside
    assert 0.04 <= meter.spent_s < 0.12


async def test_it_ends_where_it_asks_after_its_limit_and_may_have_as_much_again() -> None:
    meter = CpuMeter(0.05)
    ends = []

    async def work() -> None:
        for _ in range(2):
            try:
                while True:
                    burn(0.005)
                    await asyncio.sleep(0)
                    meter.check()
            except OverBudgetError as spent:
                ends.append(str(spent))
                meter.again()

    await measured(meter, work())
    assert ends == ["over 0.05 s of CPU"] * 2
    assert 0.1 <= meter.spent_s < 0.3


async def test_a_limit_within_one_turn_is_seen_there() -> None:
    meter = CpuMeter(0.02)

    async def work() -> None:
        meter.check()
        burn(0.03)
        meter.check()

    with pytest.raises(OverBudgetError):
        await measured(meter, work())


async def test_exceptions_and_cancellations_reach_the_work_and_come_out_of_it() -> None:
    heard = []

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            heard.append("cancelled")
            await asyncio.sleep(0)  # tidies up in its own time
            raise

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await measured(CpuMeter(1.0), work())
    assert heard == ["cancelled"]

    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    with pytest.raises(KeyError):
        await measured(CpuMeter(1.0), fails())


async def test_a_future_that_fails_is_the_works_to_catch() -> None:
    failing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(failing.set_exception, ValueError("no"))

    async def work() -> str:
        try:
            await failing
        except ValueError:
            return "caught"
        return "missed"

    assert await measured(CpuMeter(1.0), work()) == "caught"
