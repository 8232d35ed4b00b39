"""The API by the console's address: passed on with a key, and with nothing else."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from oborona.console import api_door
from oborona.people.rights import Role
from tests.console.conftest import RunningConsole
from tests.console.page_request import cookies
from tests.console.stub_desk import DeskRefusalError, person, token_of

pytestmark = pytest.mark.asyncio(loop_scope="session")
Http = aiohttp.ClientSession
KEY = "obk_" + "a" * 32
WITH_KEY = {"Authorization": f"Bearer {KEY}"}


async def call(
    console: RunningConsole, http: Http, path: str, body: bytes = b"{}", **headers: str
) -> tuple[int, dict[str, object], aiohttp.ClientResponse]:
    console.desk.people[KEY] = person(Role.ADMIN)
    url = f"{console.url}{path}"
    async with http.post(url, data=body, headers=headers) as answer:
        text = await answer.text()
        return answer.status, json.loads(text) if text else {}, answer


async def test_a_call_is_passed_on_as_it_is(console: RunningConsole, http: Http) -> None:
    console.desk.answers["messages.find"] = lambda asked: {"asked": asked}
    status, words, answer = await call(
        console, http, "/v1/messages.find", b'{"q": "\xd0\xb6"}', **WITH_KEY,
        **{"X-Forwarded-For": "192.0.2.9", "User-Agent": "a program"},
    )  # fmt: skip
    assert (status, words) == (200, {"asked": {"q": "ж"}})
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    (came,) = console.desk.calls
    assert (came.token, came.address, came.agent) == (KEY, "192.0.2.9", "a program")


async def test_what_the_desk_refuses_comes_as_it_says(console: RunningConsole, http: Http) -> None:
    told = DeskRefusalError(422, "reason: say why", needs="reason")
    console.desk.answers["people.off"] = told
    status, words, _ = await call(console, http, "/v1/people.off", b"{}", **WITH_KEY)
    assert (status, words) == (422, {"error": "reason: say why", "needs": "reason"})


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer "},
        {"Authorization": f"Basic {KEY}"},
        {"Authorization": f"Bearer {token_of(Role.ADMIN)}"},
        {"Authorization": "Bearer obk_" + "a" * 300},
        cookies(Role.ADMIN),
        {**cookies(Role.ADMIN), "Sec-Fetch-Site": "same-origin"},
    ],
)
async def test_neither_a_cookie_nor_a_session_opens_it(
    console: RunningConsole, http: Http, headers: dict[str, str]
) -> None:
    status, _, _ = await call(console, http, "/v1/messages.find", b"{}", **headers)
    assert status == 401
    assert console.desk.calls == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/login.password", 404),
        ("POST", "/v1/me.show", 404),
        ("POST", "/v1/", 404),
        ("POST", "/v1/../people.list", 404),
        ("POST", "/v1/people.list/x", 404),
        ("POST", "/v1/people.list%0a", 404),
        ("GET", "/v1/people.list", 405),
        ("OPTIONS", "/v1/people.list", 405),
        ("POST", "/v1/openapi.json", 405),
    ],
)
async def test_what_is_no_call_is_not_passed_on(
    console: RunningConsole, http: Http, method: str, path: str, status: int
) -> None:
    body = b"" if method == "GET" else b"{}"
    async with http.request(method, console.url + path, data=body, headers=WITH_KEY) as answer:
        assert answer.status == status
    assert console.desk.calls == []


async def test_bodies_have_a_limit(
    console: RunningConsole, http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_door, "MAX_BODY", 10)
    status, _, _ = await call(console, http, "/v1/scan.try", b"x" * 11, **WITH_KEY)
    assert status == 413
    packed = {"Content-Encoding": "gzip", **WITH_KEY}
    assert (await call(console, http, "/v1/scan.try", b"x", **packed))[0] == 415


async def test_so_many_calls_go_at_once(
    console: RunningConsole, http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_door, "MAX_CALLS", 2)
    gate = asyncio.Event()

    async def wait() -> dict[str, object]:
        await gate.wait()
        return {}

    console.desk.answers["messages.find"] = lambda _: wait()
    held = [
        asyncio.create_task(call(console, http, "/v1/messages.find", b"{}", **WITH_KEY))
        for _ in range(2)
    ]
    while len(console.desk.calls) < 2:  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0.01)
    assert (await call(console, http, "/v1/messages.find", b"{}", **WITH_KEY))[0] == 503
    gate.set()
    assert [status for status, _, _ in await asyncio.gather(*held)] == [200, 200]
    assert (await call(console, http, "/v1/messages.find", b"{}", **WITH_KEY))[0] == 200
