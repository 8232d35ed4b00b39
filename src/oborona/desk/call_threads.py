"""The threads that calls run on: a few, none of which mail waits for.

An ask that is not done in time is answered with 503 and goes on to its end; where all threads are
taken by such, the next is told to come again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from aiohttp import web

from oborona.desk.call import CallError
from oborona.doors.web import JSON, SERVER, error_answer, json_answer
from oborona.errors import OboronaError, StoreAbsent, StoreError
from oborona.telemetry.log import event

THREADS: Final = 4
WAITING: Final = 32  # calls that may wait for a thread
ASK_S: Final = 10.0  # asks keep shorter times of their own, and say how far they came
ACT_S: Final = 120.0
BUSY: Final = "busy"
SLOW: Final = "slow"

log = logging.getLogger("oborona.desk")


class CallThreads:
    """Runs calls, of all doors of a desk."""

    def __init__(self) -> None:
        self.counted = Counter[str]()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="call")
        self._waiting = 0

    @property
    def in_use(self) -> bool:
        """Whether a call goes on."""
        return self._waiting > 0

    def shut(self) -> None:
        """Begin no further call."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(self, name: str, within_s: float, function: Callable[[], bytes]) -> web.Response:
        """Run a call, and return what it comes to.

        Args:
            name: of the call.
            within_s: seconds that its answer is waited for.
            function: returns JSON.
        """
        if self._waiting >= THREADS + WAITING:
            self.counted["busy"] += 1
            told = {"error": "too much at once, come again", "why": BUSY}
            return json_answer(503, told, **{"Retry-After": "1"})
        self._waiting += 1
        begun = asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: _answer(name, function)
        )
        begun.add_done_callback(self._ended)
        try:
            async with asyncio.timeout(within_s):
                return await asyncio.shield(begun)
        except TimeoutError:
            self.counted["slow"] += 1
            event(log, logging.WARNING, "a call is slow", call=name, over_s=within_s)
            told = {"error": f"{name} took more than {within_s:g} seconds", "why": SLOW}
            return json_answer(503, told)

    def _ended(self, begun: asyncio.Future[web.Response]) -> None:
        self._waiting -= 1
        if not begun.cancelled():
            begun.exception()  # taken: who waited no more has no use for it


def _answer(name: str, run: Callable[[], bytes]) -> web.Response:
    """Return what a call comes to."""
    try:
        return json_octets(200, run())
    except CallError as error:
        told: dict[str, str | float] = {"error": str(error)}
        if error.needs:
            told["needs"] = error.needs
        if error.wait_s:
            told["wait_s"] = round(error.wait_s, 1)
        return json_answer(error.status, told)
    except StoreAbsent as error:  # what would be in it is not there
        return json_answer(404, {"error": str(error), "why": error.why, "store": error.store})
    except StoreError as error:
        event(log, logging.WARNING, "a call failed", call=name, error=error)
        return json_answer(503, {"error": str(error), "why": error.why})
    except OboronaError as error:
        return error_answer(422, str(error))


def json_octets(status: int, body: bytes) -> web.Response:
    """Return an answer that is JSON already."""
    return web.Response(status=status, body=body, headers={"Content-Type": JSON, "Server": SERVER})
