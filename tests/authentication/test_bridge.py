"""Synchronous code on the event loop: answers, errors, cancellation, contexts, nesting."""

import asyncio
import gc
from collections.abc import Coroutine
from contextvars import ContextVar
from functools import partial

import pytest
from greenlet import getcurrent, greenlet

from oborona.authentication.bridge import Ask, run
from oborona.dns import DnsAnswer, DnsOutcome, DnsType
from tests.asking import Table

ZONE = {"a.test": {"A": "192.0.2.1"}, "b.test": {"A": "192.0.2.2"}}


class Slow:
    """Answers when told to."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.waiting = 0

    async def asked(self, times: int) -> None:
        """Wait until so many wait for an answer."""
        while self.waiting < times:  # noqa: ASYNC110 - the loop is this test's own
            await asyncio.sleep(0)

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        self.waiting += 1
        try:
            await self.go.wait()
        finally:
            self.waiting -= 1
        return DnsAnswer(outcome=DnsOutcome.FOUND, records=(name,))


def greenlets() -> int:
    gc.collect()
    return sum(isinstance(one, greenlet) and not one.dead for one in gc.get_objects())


async def test_answers_reach_the_code_in_order() -> None:
    def code(ask: Ask) -> list[str]:
        return [
            *ask("a.test", DnsType.A).names,
            *ask("b.test", DnsType.A).names,
            ask("c.test", DnsType.A).outcome,
        ]

    assert await run(code, Table(ZONE)) == ["192.0.2.1", "192.0.2.2", "nxdomain"]


async def test_code_that_asks_nothing() -> None:
    assert await run(lambda _ask: 7, Table()) == 7


@pytest.mark.parametrize("questions", [0, 1])
async def test_errors_of_the_code_reach_the_caller(questions: int) -> None:
    def code(ask: Ask) -> None:
        for _ in range(questions):
            ask("a.test", DnsType.A)
        raise ZeroDivisionError

    before = greenlets()
    with pytest.raises(ZeroDivisionError):
        await run(code, Table(ZONE))
    assert greenlets() == before


async def test_many_at_once_keep_their_own_answers() -> None:
    slow = Slow()

    async def one(number: int) -> bool:
        name = f"{number}.test"
        return (
            await run(lambda ask: [ask(name, DnsType.A).names for _ in range(3)], slow)
            == [(name,)] * 3
        )

    tasks = [asyncio.create_task(one(number)) for number in range(200)]
    await slow.asked(len(tasks))
    slow.go.set()
    assert all(await asyncio.gather(*tasks))


async def test_the_loop_goes_on_while_the_code_waits() -> None:
    slow = Slow()
    task = asyncio.create_task(run(lambda ask: ask("a.test", DnsType.A).names, slow))
    await slow.asked(1)
    assert not task.done()
    slow.go.set()
    assert await task == ("a.test",)


async def test_cancellation_ends_the_code() -> None:
    slow, seen = Slow(), []

    def code(ask: Ask) -> None:
        try:
            ask("a.test", DnsType.A)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        finally:
            seen.append("cleaned up")

    before = greenlets()
    task = asyncio.create_task(run(code, slow))
    await slow.asked(1)
    assert greenlets() == before + 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled", "cleaned up"]
    assert slow.waiting == 0
    assert greenlets() == before


async def test_cancellation_cannot_be_swallowed() -> None:
    """pyspf has bare `except:` around questions."""
    slow, asked = Slow(), []

    def code(ask: Ask) -> str:
        for name in ("a.test", "b.test", "c.test"):
            try:
                ask(name, DnsType.A)
            except:  # noqa: E722
                asked.append(name)
        return "done"

    task = asyncio.create_task(run(code, slow))
    await slow.asked(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asked == ["a.test", "b.test", "c.test"]  # it ended, and nobody was asked again
    assert slow.waiting == 0


async def test_a_deadline_around_it_holds() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await run(lambda ask: ask("a.test", DnsType.A), Slow())


async def test_a_coroutine_thrown_away_ends_its_code() -> None:
    ended = []

    def code(ask: Ask) -> None:
        try:
            ask("a.test", DnsType.A)
        finally:
            ended.append(True)

    before = greenlets()
    coroutine = run(code, Slow())
    coroutine.send(None)  # up to the first wait
    coroutine.close()
    assert ended == [True]
    assert greenlets() == before


async def test_errors_of_an_asker_that_breaks_its_promise() -> None:
    class Broken:
        async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
            raise OSError(name)

    with pytest.raises(OSError, match=r"a\.test"):
        await run(lambda ask: ask("a.test", DnsType.A), Broken())


async def test_context_variables_are_those_of_the_caller() -> None:
    variable: ContextVar[str] = ContextVar("variable")
    variable.set("outer")

    def code(ask: Ask) -> list[str]:
        seen = [variable.get()]
        ask("a.test", DnsType.A)
        seen.append(variable.get())
        variable.set("inner")
        return seen

    assert await run(code, Table(ZONE)) == ["outer", "outer"]
    assert variable.get() == "inner"


async def test_one_inside_the_asker_of_another() -> None:
    table = Table(ZONE)

    class Nested:
        async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
            return await run(lambda ask: ask(name, kind), table)

    assert (await run(lambda ask: ask("a.test", DnsType.A).names, Nested())) == ("192.0.2.1",)


async def test_a_coroutine_started_in_one_greenlet_and_ended_in_another() -> None:
    """As libraries do that drive coroutines from greenlets of their own.

    The one that started it lives on, at its own work.
    """
    slow = Slow()
    for ending in ("answer", "close"):
        coroutine = run(lambda ask: ask("a.test", DnsType.A).names, slow)
        starter = greenlet(partial(_start, coroutine))
        assert starter.switch() == "started"
        if ending == "answer":
            slow.go.set()
            with pytest.raises(StopIteration) as end:
                coroutine.send(None)
            assert end.value.value == ("a.test",)
            slow.go.clear()
        else:
            coroutine.close()
        assert starter.switch("go on") == "ended by go on"


def _start(coroutine: Coroutine[object, None, object]) -> object:
    coroutine.send(None)
    above = getcurrent().parent
    assert above is not None
    return f"ended by {above.switch('started')}"
