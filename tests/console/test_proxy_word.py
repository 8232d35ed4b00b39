"""Whom a proxy says is signed in: believed of a proxy alone, and as long as it says so."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from oborona.console.desk_client import DeskClient
from oborona.console.server import ConsoleServer
from oborona.people.rights import Role
from tests.console.stub_desk import DeskRefusalError, StubDesk, person, token_of

pytestmark = [pytest.mark.asyncio(loop_scope="session")]

WORD = (("X-Remote-User", "admin"), ("X-Proxy-Secret", "s3cret"))
Answer = tuple[int, str]


class ProxiedConsole:
    """A console on loopback, and the proxy's side of it."""

    def __init__(self, desk: StubDesk, port: int) -> None:
        self.desk = desk
        self._port = port

    async def open(self, path: str, headers: Sequence[tuple[str, str]] = ()) -> Answer:
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
            http.get(
                f"http://127.0.0.1:{self._port}{path}", headers=headers, allow_redirects=False
            ) as answer,
        ):
            return answer.status, answer.headers.get("Set-Cookie", "")

    @property
    def asked(self) -> list[object]:
        return [dict(call.asked) for call in self.desk.calls if call.name == "login.proxy"]


@asynccontextmanager
async def proxied(
    folder: Path, *, proxies: str = "", remote_user: bool = True, allowed: str = ""
) -> AsyncIterator[ProxiedConsole]:
    desk = StubDesk(folder / "desk.sock")
    desk.answers["login.proxy"] = {"token": token_of(Role.ADMIN), "device": "d"}
    await desk.start()
    client = DeskClient(desk.path)
    server = ConsoleServer(client, proxies=proxies, remote_user=remote_user, allowed=allowed)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        await server.start(listening)
        yield ProxiedConsole(desk, listening.getsockname()[1])
        await server.drain(0.1)
    await client.close()
    await desk.stop()


async def test_a_proxy_of_this_machine_is_believed(tmp_path: Path) -> None:
    async with proxied(tmp_path) as console:
        status, cookie = await console.open("/sign-in?next=/me", WORD)
        assert (status, token_of(Role.ADMIN) in cookie) == (303, True)
        assert console.asked == [{"user": "admin", "secret": "s3cret", "device": ""}]


@pytest.mark.parametrize(
    "headers",
    [
        (), WORD[:1], WORD[1:], (*WORD, ("X-Remote-User", "other")),
        (*WORD, ("X-Proxy-Secret", "other")), (("X-Remote-User", "  "), WORD[1]),
    ],
    ids=str,
)  # fmt: skip
async def test_half_a_word_is_none(tmp_path: Path, headers: Sequence[tuple[str, str]]) -> None:
    async with proxied(tmp_path) as console:
        assert await console.open("/sign-in", headers) != (303, "")
        assert console.asked == []


async def test_who_is_no_proxy_says_nothing(tmp_path: Path) -> None:
    async with proxied(tmp_path, proxies="192.0.2.7/32") as console:
        assert (await console.open("/sign-in", WORD))[0] == 200
        assert console.asked == []


async def test_without_the_setting_nobody_does(tmp_path: Path) -> None:
    async with proxied(tmp_path, remote_user=False) as console:
        assert (await console.open("/sign-in", WORD))[0] == 200
        assert console.asked == []


async def test_who_is_refused_hears_it(tmp_path: Path) -> None:
    async with proxied(tmp_path) as console:
        for status, shown in ((401, 403), (403, 403), (429, 429)):
            console.desk.answers["login.proxy"] = DeskRefusalError(status, "no")
            assert (await console.open("/sign-in", WORD))[0] == shown


async def test_a_session_lasts_as_long_as_the_word(tmp_path: Path) -> None:
    async with proxied(tmp_path) as console:
        token = token_of(Role.ADMIN)
        console.desk.people[token] = person(Role.ADMIN, way="proxy")
        cookie = ("Cookie", f"__Host-oborona={token}")
        assert (await console.open("/me", (cookie, *WORD)))[0] == 200
        assert (await console.open("/me", (cookie,)))[0] == 303
        other = (("X-Remote-User", "support"), WORD[1])
        assert (await console.open("/me", (cookie, *other)))[0] == 303


async def test_networks_that_may_not_connect_do_not(tmp_path: Path) -> None:
    async with proxied(tmp_path, allowed="192.0.2.0/24") as console:
        with pytest.raises(aiohttp.ClientError):
            await console.open("/sign-in")
