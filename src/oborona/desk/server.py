"""The desk's door: calls by HTTP on a socket file.

    POST /v1/NAME           a call (`oborona.desk.call`), told and answered in JSON
    GET  /v1/openapi.json   what there is to be called

    Authorization: Bearer TOKEN     whose call it is; pages show the token of a session
    X-Client-Address, X-Client-Agent  of who asked the program that asks us

Calls run on a few threads of their own, none of which mail waits for.  An ask that is not done in
time is answered with 503 and goes on to its end; where all threads are taken by such, the next is
told to come again.  Errors are {"error": "..."}; of a fault of ours the log has more.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from aiohttp import web

from oborona.desk.call import Call, CallError
from oborona.desk.call_runner import CallRunner
from oborona.desk.open_call import OpenCall, SignInNeededError
from oborona.doors.web import (
    JSON,
    SERVER,
    HttpLimits,
    WebServer,
    bearer_token,
    error_answer,
    json_answer,
    read_body,
)
from oborona.errors import OboronaError, StoreAbsent, StoreError
from oborona.people.caller import Caller
from oborona.telemetry.log import event

THREADS: Final = 4
WAITING: Final = 32  # calls that may wait for a thread
ASK_S: Final = 10.0  # asks keep shorter times of their own, and say how far they came
ACT_S: Final = 120.0
MAX_BODY: Final = 32 * 1024 * 1024  # a message that is uploaded, as base64
CONNECTIONS: Final = 100
PREFIX: Final = "/v1/"
DESCRIPTION: Final = "/v1/openapi.json"
BUSY: Final = "busy"
SLOW: Final = "slow"
"""Why there is no answer, beside what errors of stores say of themselves (`StoreError.why`)."""

log = logging.getLogger("oborona.desk")


class DeskServer(WebServer):
    """Serves calls on one listening socket.

    Args:
        runner: runs them.
        caller_of: token, place, agent → whose it is; None = nobody's. On any thread.
        calls: by name.
        open_calls: name → a call that needs no right.
        description: of the API, in JSON.
        limits: of a connection.
    """

    def __init__(
        self,
        runner: CallRunner,
        caller_of: Callable[[str, str, str], Caller | None],
        *,
        calls: Mapping[str, Call],
        open_calls: Mapping[str, OpenCall],
        description: bytes,
        limits: HttpLimits = HttpLimits(),  # noqa: B008 - frozen
    ) -> None:
        self.counted = Counter[str]()
        super().__init__(
            limits=limits,
            tokens=None,
            max_connections=CONNECTIONS,
            log=log,
            note=self._count,
        )
        self._runner = runner
        self._caller_of = caller_of
        self._calls = calls
        self._open_calls = open_calls
        self._description = description
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="call")
        self._waiting = 0

    def _count(self, word: str) -> None:
        self.counted[word] += 1

    async def drain(self, grace_s: float) -> None:
        """Accept no more, and wait for calls that have begun."""
        await super().drain(grace_s)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path == DESCRIPTION:
            if request.method != "GET":
                return error_answer(405, "GET", Allow="GET")
            return _json(200, self._description)
        name = path.removeprefix(PREFIX)
        if not path.startswith(PREFIX) or (
            name not in self._calls and name not in self._open_calls
        ):
            return error_answer(404, "there is no such call")
        if request.method != "POST":
            return error_answer(405, "POST", Allow="POST")
        body = await read_body(request, MAX_BODY, self.limits.read_s)
        if isinstance(body, web.Response):
            return body
        place = _header(request, "X-Client-Address")
        agent = _header(request, "X-Client-Agent")
        token = bearer_token(request)
        if (open_call := self._open_calls.get(name)) is not None:
            return await self._on_thread(
                name,
                ACT_S,
                lambda: _answer(name, lambda: open_call.run(body, token, place, agent)),
            )
        call = self._calls[name]

        def run() -> bytes:
            caller = self._caller_of(token, place, agent) if token else None
            if caller is None:
                raise SignInNeededError("sign in")
            return self._runner.run(call, caller, body)

        within_s = ACT_S if call.acts else ASK_S
        return await self._on_thread(name, within_s, lambda: _answer(name, run))

    async def _on_thread(
        self, name: str, within_s: float, run: Callable[[], web.Response]
    ) -> web.Response:
        if self._waiting >= THREADS + WAITING:
            self._count("busy")
            told = {"error": "too much at once, come again", "why": BUSY}
            return json_answer(503, told, **{"Retry-After": "1"})
        self._waiting += 1
        begun = asyncio.get_running_loop().run_in_executor(self._threads, run)
        begun.add_done_callback(self._ended)
        try:
            async with asyncio.timeout(within_s):
                return await asyncio.shield(begun)
        except TimeoutError:
            self._count("slow")
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
        return _json(200, run())
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


def _json(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, headers={"Content-Type": JSON, "Server": SERVER})


def _header(request: web.BaseRequest, name: str) -> str:
    """Return a header as text of at most 200 letters."""
    text = request.headers.get(name, "")[:200]
    return text.encode("utf-8", "backslashreplace").decode()
