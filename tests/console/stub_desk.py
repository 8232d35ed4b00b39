"""A desk that answers what a test says, for faults and states that the real one can't be made to
show in time.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from aiohttp import web

from oborona.people.rights import ROLE_RIGHTS, Role

PASSWORD: Final = "correct horse battery staple"
NOW: Final = 1_795_862_400.0  # 2026-11-28 10:40:00 UTC

Answer = Any
"""JSON, or a function of what is asked, or an exception."""


class DeskRefusalError(Exception):
    """What the stub answers instead: a status, a text, further members."""

    def __init__(self, status: int, text: str, **more: object) -> None:
        super().__init__(text)
        self.status = status
        self.body = {"error": text, **more}


class DeskCall(NamedTuple):
    """A call that came."""

    name: str
    asked: Mapping[str, Any]
    token: str
    address: str
    agent: str


def person(role: Role, **more: object) -> dict[str, object]:
    """Return a person as `me.show` tells one: named as their role."""
    return {
        "name": role.value,
        "roles": [role.value],
        "rights": sorted(ROLE_RIGHTS[role]),
        "scope": None,
        "language": "",
        "fresh": True,
        "node": "mx1.shop.example",
        "policy": "8121c0de",
        **more,
    }


def token_of(role: Role) -> str:
    """Return the token of a session that is always there."""
    return f"session-{role.value}"


class StubDesk:
    """Answers calls; `calls` has all that came, `answers` what is answered by name.

    Args:
        path: of its socket file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.calls: list[DeskCall] = []
        self.answers: dict[str, Answer] = {}
        self.people: dict[str, dict[str, object]] = {}
        self.reset()

    def reset(self) -> None:
        """Be as new."""
        self.calls.clear()
        self.people = {token_of(role): person(role) for role in Role}
        self.answers = {
            "me.sessions": {"sessions": SESSIONS},
            "me.end_session": {"ended": 1},
            "login.password": self._password,
            "login.link": {"token": token_of(Role.ADMIN), "device": "device-2"},
            "login.leave": {},
        }

    async def start(self) -> None:
        """Listen."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/{name}", self._serve)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.UnixSite(self._runner, str(self.path)).start()

    async def stop(self) -> None:
        """Be away."""
        await self._runner.cleanup()
        self.path.unlink(missing_ok=True)

    async def _serve(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        call = DeskCall(
            name,
            await request.json(),
            token,
            request.headers.get("X-Client-Address", ""),
            request.headers.get("X-Client-Agent", ""),
        )
        self.calls.append(call)
        try:
            answer = self._answer(call)
            return web.json_response(await answer if inspect.isawaitable(answer) else answer)
        except DeskRefusalError as refusal:
            return web.json_response(refusal.body, status=refusal.status)

    def _answer(self, call: DeskCall) -> Any:
        if not call.name.startswith(("login.", "digest.")) and call.token not in self.people:
            raise DeskRefusalError(401, "no session of this token")
        if call.name == "me.show" and "me.show" not in self.answers:
            return self.people[call.token]
        if call.name not in self.answers:
            raise DeskRefusalError(404, f"no call {call.name}")
        answer = self.answers[call.name]
        if isinstance(answer, Exception):
            raise answer
        return answer(call.asked) if callable(answer) else answer

    def _password(self, asked: Mapping[str, Any]) -> dict[str, object]:
        if asked["password"] != PASSWORD or asked["name"] not in {role.value for role in Role}:
            raise DeskRefusalError(401, "name, password or code is wrong")
        role = Role(asked["name"])
        return {"token": token_of(role), "device": "device-1", "caller": person(role)}


async def hang(_: object = None) -> None:
    """Answer never."""
    await asyncio.sleep(3600)


SESSIONS: Final[list[dict[str, object]]] = [
    {
        "id": 17,
        "made": NOW - 7200,
        "last": NOW - 12,
        "address": "192.0.2.7",
        "agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        "this": True,
    },
    {
        "id": 16,
        "made": NOW - 90_000,
        "last": NOW - 80_000,
        "address": "2001:db8::7",
        "agent": "\u202egnp.exe <script>alert(1)</script>",
        "this": False,
    },
]
