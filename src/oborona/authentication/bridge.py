"""Synchronous code that asks the DNS, run on an event loop without holding it up.

The code runs in a greenlet of its own. When it asks, the greenlet stands still, the coroutine that
started it awaits the answer, and then the code goes on where it stood. To the code it looks like a
call that waits; to the event loop like any other await.

Limits: the code must not keep `ask` beyond its own end, and what it does between two questions
holds the loop up as any code does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

from oborona.dns import DnsAnswer, DnsAsker, DnsType

Ask = Callable[[str, DnsType], DnsAnswer]
"""What the code calls: name and kind of record to answer, as `oborona.dns.DnsAsker.ask`."""

T = TypeVar("T")


async def run(function: Callable[[Ask], T], asker: DnsAsker) -> T:
    """Call a synchronous function whose questions are put to the asker, and return what it returns.

    Args:
        function: called once with an `Ask`, in the caller's context (contextvars are shared, as in
            a plain call).
        asker: answers the questions, one after the other.

    Guaranteed: when this ends, in whatever way, the function has ended too. When the wait for an
        answer ends in an
    error (cancellation above all), the function sees that error where it asked, can only clean up
    (every further question raises the same error), and the error goes on to the caller even if the
    function swallowed it.

    Raises: what the function raises; what ended a wait.
    """
    ended: list[BaseException] = []

    def ask(name: str, kind: DnsType) -> DnsAnswer:
        if ended:
            raise ended[0]
        waiting = getcurrent().parent
        assert waiting is not None  # it has one: the greenlet below
        answer: DnsAnswer = waiting.switch((name, kind))
        return answer

    code = greenlet(function)
    code.gr_context = getcurrent().gr_context
    passed: Any = code.switch(ask)
    while not code.dead:
        name, kind = passed
        try:
            answer = await asker.ask(name, kind)
        except BaseException as error:
            ended.append(error)
            code.parent = getcurrent()
            code.throw(error)  # comes back when the function has ended
            raise
        code.parent = getcurrent()  # who drives the coroutine now need not be who started it
        passed = code.switch(answer)
    result: T = passed
    return result
