"""Signing in at the desk, as a console does: a link, a password, a code, and what follows."""

import json
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pyotp
import pytest
import pytest_asyncio

from oborona import state_files
from oborona.desk.configured_site import SiteSource
from oborona.desk.followed_site import FollowedSite
from oborona.desk.process import desk_server
from oborona.people import session_book
from oborona.people.link_book import LinkBook
from oborona.people.person import Person
from oborona.people.rights import Role
from oborona.people.store import PeopleStore, new_person

PASSWORD = "four words that nobody guesses"
ROOT = Path(__file__).resolve().parents[2]


def _new(name: str, *roles: Role) -> Person:
    nothing = frozenset[str]()
    return new_person(
        name, roles=frozenset(roles), domains=nothing, addresses=nothing, language="",
        made_by="test", now=time.time(),
    )  # fmt: skip


class SignedDesk:
    def __init__(self, session: aiohttp.ClientSession, state: Path) -> None:
        self.session, self.state = session, state

    async def call(self, name: str, /, token: str = "", **told: object) -> tuple[int, Any]:
        headers = {"X-Client-Address": "192.0.2.1", "X-Client-Agent": "a browser"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        async with self.session.post(
            f"http://desk/v1/{name}", json=told, headers=headers
        ) as answer:
            return answer.status, await answer.json()

    def link(self, name: str, *roles: Role) -> str:
        with PeopleStore(self.state / state_files.PEOPLE) as store:
            person = store.find(name) or store.add(_new(name, *roles))
            return LinkBook(store).make(person, time.time())


@pytest_asyncio.fixture
async def desk(tmp_path: Path) -> AsyncIterator[SignedDesk]:
    state = tmp_path / "state"
    state.mkdir()
    source = SiteSource(ROOT / "etc/oborona.toml", {"paths.state": str(state)})
    server = desk_server(FollowedSite(source, lambda _text: None))
    path = tmp_path / "desk.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)
        await server.start(listener)
        async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session:
            yield SignedDesk(session, state)
        await server.drain(2)


async def followed(desk: SignedDesk, link: str) -> Any:
    """Follow a link with the password; its field has the name of the token that calls show."""
    body = {"token": link, "password": PASSWORD}
    async with desk.session.post("http://desk/v1/login.link", json=body) as answer:
        return answer.status, await answer.json()


@pytest.mark.asyncio
async def test_a_link_begins_a_session_once(desk: SignedDesk) -> None:
    link = desk.link("anna", Role.ADMIN)
    status, started = await followed(desk, link)
    assert status == 200, started
    assert (started["caller"]["name"], started["caller"]["roles"]) == ("anna", ["admin"])
    assert started["caller"]["policy"]
    assert (await desk.call("me.show", started["token"]))[1] == started["caller"]
    assert (await followed(desk, link))[0] == 404
    assert await desk.call("login.leave", started["token"]) == (200, {"ended": True})
    assert (await desk.call("me.show", started["token"]))[0] == 401


@pytest.mark.asyncio
async def test_a_wrong_password_and_a_wrong_name_are_told_the_same(desk: SignedDesk) -> None:
    await followed(desk, desk.link("anna", Role.ADMIN))
    told = [
        await desk.call("login.password", name=name, password="something else")
        for name in ("anna", "nobody")
    ]
    assert told[0] == told[1] == (401, {"error": "name, password or code is wrong"})
    status, started = await desk.call("login.password", name="anna", password=PASSWORD)
    assert status == 200
    _, tries = await desk.call("me.attempts", started["token"])
    assert [one["outcome"] for one in tries["attempts"]][:2] == ["done", "wrong"]


@pytest.mark.asyncio
async def test_a_second_step_is_begun_confirmed_and_asked_for(desk: SignedDesk) -> None:
    _, started = await followed(desk, desk.link("anna", Role.ADMIN))
    token = started["token"]
    status, begun = await desk.call("me.begin_step", token)
    assert (status, begun["uri"].startswith("otpauth://totp/")) == (200, True)
    codes = pyotp.TOTP(begun["secret"])
    assert (await desk.call("me.confirm_step", token, code="000000"))[0] in {200, 422}
    assert (await desk.call("me.confirm_step", token, code=codes.now()))[0] in {200, 422}
    status, words = await desk.call("login.password", name="anna", password=PASSWORD)
    assert (status, words["needs"]) == (401, "code")
    later = codes.at(time.time() + 30)
    status, _ = await desk.call("login.password", name="anna", password=PASSWORD, code=later)
    assert status == 200
    # a link gives no session to who has a second step
    status, started = await followed(desk, desk.link("anna"))
    assert (status, started["token"], started["caller"]) == (200, "", None)
    assert started["device"]


@pytest.mark.asyncio
async def test_acts_that_hurt_want_the_password_once_more(
    desk: SignedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, started = await followed(desk, desk.link("anna", Role.ADMIN))
    token = started["token"]
    order = {"name": "bert", "roles": ["support"], "reason": "he is new"}
    monkeypatch.setattr(session_book, "FRESH_S", -1.0)
    status, words = await desk.call("people.add", token, **order)
    assert (status, words["needs"]) == (403, "password")
    monkeypatch.setattr(session_book, "FRESH_S", 600.0)
    assert (await desk.call("me.confirm", token, password="wrong words of mine"))[0] == 401
    assert await desk.call("me.confirm", token, password=PASSWORD) == (200, {"fresh": True})
    status, _ = await desk.call("people.add", token, **order)
    assert status == 200
    assert (await desk.call("people.list", token))[0] == 200


@pytest.mark.asyncio
async def test_ones_own_sessions_are_listed_and_ended(desk: SignedDesk) -> None:
    _, started = await followed(desk, desk.link("anna", Role.READER))
    _, second = await desk.call("login.password", name="anna", password=PASSWORD)
    _, listed = await desk.call("me.sessions", started["token"])
    assert len(listed["sessions"]) == 2
    (other,) = (one["ident"] for one in listed["sessions"] if one["ident"] != listed["here"])
    assert (await desk.call("me.end_session", started["token"], ident=other))[0] == 200
    assert (await desk.call("me.show", second["token"]))[0] == 401
    assert (await desk.call("me.end_session", started["token"], ident=other))[0] == 404
    assert await desk.call("me.language", started["token"], language="ru") == (
        200,
        {"language": "ru"},
    )
    assert (await desk.call("me.language", started["token"], language="xx"))[0] == 422
    assert (await desk.call("people.list", started["token"]))[0] == 403


@pytest.mark.asyncio
@pytest.mark.parametrize("body", [b"{", b"[]", b'{"name": "a"}', b'{"x": 1}', b"\xff", b"null"])
async def test_what_is_no_login_is_refused(desk: SignedDesk, body: bytes) -> None:
    async with desk.session.post("http://desk/v1/login.password", data=body) as answer:
        assert answer.status == 422
        assert json.loads(await answer.read())["error"]
