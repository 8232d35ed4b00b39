"""The desk's door: calls by HTTP on a socket file.

    POST /v1/NAME           a call (`oborona.desk.call`), told and answered in JSON
    GET  /v1/openapi.json   what there is to be called

    Authorization: Bearer TOKEN     whose call it is; pages show the token of a session
    X-Client-Address, X-Client-Agent  of who asked the program that asks us
    X-Desk, X-Within                the other desk that is to be asked, and for how many seconds

Calls run on a few threads of their own (`call_threads`); what another desk is asked takes none.
Errors are {"error": "..."}; of a fault of ours the log has more.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from aiohttp import web

from oborona.desk.call import Call
from oborona.desk.call_runner import CallRunner
from oborona.desk.call_threads import ACT_S, ASK_S, CallThreads, json_octets
from oborona.desk.open_call import OpenCall, SignInNeededError
from oborona.doors.web import HttpLimits, WebServer, bearer_token, error_answer, read_body
from oborona.people.caller import Caller

if TYPE_CHECKING:
    from oborona.desk.peers.relay import DeskRelay

MAX_BODY: Final = 32 * 1024 * 1024  # a message that is uploaded, as base64
CONNECTIONS: Final = 100
PREFIX: Final = "/v1/"
DESCRIPTION: Final = "/v1/openapi.json"
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
        relay: to desks of other machines; None = there are none.
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
        relay: DeskRelay | None = None,
    ) -> None:
        self.threads = CallThreads()
        super().__init__(
            limits=limits,
            tokens=None,
            max_connections=CONNECTIONS,
            log=log,
            note=self._count,
        )
        self.runner = runner
        self._caller_of = caller_of
        self._calls = calls
        self._open_calls = open_calls
        self._description = description
        self._relay = relay

    @property
    def counted(self) -> Counter[str]:
        """What came to nothing, by a word."""
        return self.threads.counted

    def _count(self, word: str) -> None:
        self.counted[word] += 1

    @property
    def in_use(self) -> bool:
        """Whether anybody is connected, or a call goes on for whoever was."""
        return super().in_use or self.threads.in_use

    async def drain(self, grace_s: float) -> None:
        """Accept no more, and wait for calls that have begun."""
        await super().drain(grace_s)
        self.threads.shut()
        if self._relay is not None:
            await self._relay.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path == DESCRIPTION:
            if request.method != "GET":
                return error_answer(405, "GET", Allow="GET")
            return json_octets(200, self._description)
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
            return await self.threads.run(
                name, ACT_S, lambda: open_call.run(body, token, place, agent)
            )
        call = self._calls[name]

        def caller() -> Caller:
            found = self._caller_of(token, place, agent) if token else None
            if found is None:
                raise SignInNeededError("sign in")
            return found

        within_s = ACT_S if call.acts else ASK_S
        desk = _header(request, "X-Desk")
        if not desk:
            return await self.threads.run(
                name, within_s, lambda: self.runner.run(call, caller(), body)
            )
        if self._relay is None or not self._relay.knows(desk):
            return error_answer(404, "there is no desk of that name")
        callers = list[Caller]()

        def look() -> bytes:
            callers.append(caller())
            return b"{}"

        refused = await self.threads.run(name, within_s, look)
        if not callers:
            return refused
        within_s = min(within_s, _seconds(_header(request, "X-Within"), within_s))
        return await self._relay.ask(desk, name, body, callers[0], within_s)


def _header(request: web.BaseRequest, name: str) -> str:
    """Return a header as text of at most 200 letters."""
    text = request.headers.get(name, "")[:200]
    return text.encode("utf-8", "backslashreplace").decode()


def _seconds(text: str, usual: float) -> float:
    """Return a time that somebody has, or the usual one."""
    try:
        seconds = float(text)
    except ValueError:
        return usual
    return seconds if seconds > 0 else usual  # not of what is no number
