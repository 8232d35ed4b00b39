"""A desk that answers what a test says, for faults and states that the real one can't be made to
show in time.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from aiohttp import web

from oborona.desk.passkeys.own_passkeys import OwnPasskeyList
from oborona.desk.people.views import PasskeyView
from oborona.desk.signed_caller import SessionStart, SignedCaller
from oborona.people.caller import Scope
from oborona.people.login_try import AttemptOutcome, LoginTry
from oborona.people.login_way import LoginWay
from oborona.people.rights import ROLE_RIGHTS, Role, needs_reason
from oborona.people.session_book import PersonSession

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
    caller = SignedCaller(
        name=role.value,
        roles=[role],
        rights=sorted(ROLE_RIGHTS[role]),
        reasons=sorted(
            right for right in ROLE_RIGHTS[role] if needs_reason(frozenset({role}), right)
        ),
        scope=Scope(),
        language="",
        fresh=True,
        second_step=False,
        passkeys=False,
        must_enrol=False,
        way=LoginWay.PASSWORD,
        node="mx1.shop.example",
        policy="8121c0de",
    )
    return {**msgspec.to_builtins(caller), **more}


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
            "me.sessions": {"here": HERE, "sessions": msgspec.to_builtins(SESSIONS)},
            "me.end_session": lambda asked: {"ended": asked["ident"]},
            "me.attempts": {"attempts": msgspec.to_builtins(TRIES)},
            "me.confirm": self._confirm,
            "me.password": {"changed": True},
            "me.language": lambda asked: {"language": asked["language"]},
            "me.begin_step": {"secret": SECRET, "uri": STEP_URI},
            "me.confirm_step": {"confirmed": True},
            "me.drop_step": {"dropped": True},
            "me.passkeys": msgspec.to_builtins(PASSKEYS),
            "login.password": self._password,
            "login.link": started(token_of(Role.ADMIN), "device-2"),
            "login.leave": {"ended": True},
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
        if (
            not call.name.startswith(("login.", "digest.", "senders."))
            and call.token not in self.people
        ):
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
        return started(token_of(role), "device-1") | {"caller": person(role)}

    def _confirm(self, asked: Mapping[str, Any]) -> dict[str, object]:
        if asked["password"] != PASSWORD:
            raise DeskRefusalError(401, "name, password or code is wrong")
        return {"fresh": True}


def started(token: str, device: str) -> dict[str, Any]:
    """Return what a login is answered with."""
    told: dict[str, Any] = msgspec.to_builtins(
        SessionStart(token=token, device=device, caller=None)
    )
    return told


async def hang(_: object = None) -> None:
    """Answer never."""
    await asyncio.sleep(3600)


SECRET: Final = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
STEP_URI: Final = f"otpauth://totp/mx1.shop.example:admin?secret={SECRET}&issuer=mx1.shop.example"
HERE: Final = "s17"
FIREFOX: Final = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
STRANGE: Final = "\u202egnp.exe <script>alert(1)</script>"
SESSIONS: Final = [
    PersonSession(
        ident=HERE,
        made=NOW - 7200,
        last=NOW - 12,
        fresh=NOW - 700,
        place="192.0.2.7",
        agent=FIREFOX,
        way=LoginWay.PASSWORD,
    ),
    PersonSession(
        ident="s16",
        made=NOW - 90_000,
        last=NOW - 80_000,
        fresh=NOW - 90_000,
        place="2001:db8::7",
        agent=STRANGE,
        way=LoginWay.PASSWORD,
    ),
]
PASSKEYS: Final = OwnPasskeyList(
    passkeys=[
        PasskeyView(ident="p1", name="telephone <b>", made=NOW - 90_000, last=NOW - 60),
        PasskeyView(ident="p2", name="key", made=NOW - 80_000, last=0),
    ]
)
TRIES: Final = [
    LoginTry(at=NOW - 7200, place="192.0.2.7", agent=FIREFOX, outcome=AttemptOutcome.DONE),
    LoginTry(at=NOW - 9000, place="2001:db8::66", agent=STRANGE, outcome=AttemptOutcome.CODE),
]
