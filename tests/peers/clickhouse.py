"""ClickHouse's HTTP interface, before the engine itself in this process: answers, errors, and what
a server or something between it and us can do to an answer.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web

from tests.accounts.flows import chdb_engine

VERSION = "26.9.2.1"
_PARAMETER = "param_"
_ERROR = re.compile(r"Code: (\d+)")


Fault = str | tuple[int, Mapping[str, str], bytes]


@dataclass
class ClickHouse:
    """A server on a port of loopback.

    Attributes:
        user, password: whom it knows.
        fault: in place of an answer to other queries than that for the time: status, headers and
            body, "cut", "endless row", "silent", or "" for none.
        asked: the parameters of all queries.
    """

    user: str = "default"
    password: str = ""
    fault: Fault = ""
    asked: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    ahead_s: int = 0

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,))
        self._thread.start()
        ready.wait()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve(ready))
        self._loop.close()

    async def _serve(self, ready: threading.Event) -> None:
        self._stop = asyncio.Event()
        application = web.Application(client_max_size=1 << 20)
        application.router.add_post("/", self._answer)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        port = int(self.url.rpartition(":")[2] or 0)  # the same again, after it was away
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.query))
        known = (
            request.headers.get("X-ClickHouse-User", "default"),
            request.headers.get("X-ClickHouse-Key", ""),
        )
        if known != (self.user, self.password):
            return _refusal(403, 516, f"{known[0]}: Authentication failed: password is incorrect")
        sql = (await request.read()).decode()
        if "now()" in sql:
            sql = sql.replace("now()", f"now() + {self.ahead_s}")
        elif self.fault:
            return await self._faulty(request)
        parameters = {
            name.removeprefix(_PARAMETER): value
            for name, value in request.query.items()
            if name.startswith(_PARAMETER)
        }
        try:
            # the engine has one session, for one query at a time
            octets = chdb_engine.answer(sql, parameters)
        except RuntimeError as error:
            words = str(error)
            code = _ERROR.search(words)
            return _refusal(
                404 if "UNKNOWN_TABLE" in words else 500, int(code[1]) if code else 0, words
            )
        return web.Response(body=octets, headers={"X-ClickHouse-Format": "JSONCompactEachRow"})

    async def _faulty(self, request: web.Request) -> web.StreamResponse:
        if isinstance(self.fault, tuple):
            status, headers, body = self.fault
            return web.Response(status=status, headers=headers, body=body)
        response = web.StreamResponse()
        await response.prepare(request)
        if self.fault == "silent":
            await self._stop.wait()
        elif self.fault == "cut":
            await response.write(b"[281473902969345, 1, 1")
            assert request.transport is not None
            request.transport.abort()
        elif self.fault == "endless row":
            for _ in range(100):
                await response.write(b"1" * 65_536)
        return response


def _refusal(status: int, code: int, words: str) -> web.Response:
    text = f"Code: {code}. DB::Exception: {words} (version {VERSION} (official build))\n"
    return web.Response(
        status=status, text=text, headers={"X-ClickHouse-Exception-Code": str(code)}
    )
