"""The console before a real desk: first link, second step, a new person, a key, and its calls."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pyotp
import pytest
import pytest_asyncio

from oborona import state_files
from oborona.console.desk_client import DeskClient
from oborona.console.server import ConsoleServer
from oborona.daemon.state import prepare_state
from oborona.desk.configured_site import SiteSource
from oborona.desk.followed_site import FollowedSite
from oborona.desk.process import desk_server
from oborona.people.link_book import LinkBook
from oborona.people.rights import Role
from oborona.people.store import PeopleStore, new_person
from tests.console.page_request import FROM_HERE

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "four words that nobody guesses"
TOKEN = re.compile(r'name="token" value="([^"]*)"')
FIELD = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')


class Pages:
    """A browser without its eyes: keeps cookies, sends forms as pages have them."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self.http, self.url, self.text = http, url, ""
        self.cookies: dict[str, str] = {}

    async def _took(self, answer: aiohttp.ClientResponse) -> int:
        self.text = await answer.text()
        for name, morsel in answer.cookies.items():
            self.cookies[name] = morsel.value
        if answer.status == 303:
            return await self.open(answer.headers["Location"])
        return answer.status

    async def open(self, path: str) -> int:
        async with self.http.get(
            self.url + path, headers=self._headers(), allow_redirects=False
        ) as answer:
            return await self._took(answer)

    async def send(self, path: str, **fields: str) -> int:
        found = TOKEN.search(self.text)
        assert found, self.text
        fields = {"token": found[1], **fields}
        async with self.http.post(
            self.url + path, data=fields, headers=FROM_HERE | self._headers(), allow_redirects=False
        ) as answer:
            return await self._took(answer)

    def kept(self) -> dict[str, str]:
        """Return the hidden fields of the form in the middle of the page."""
        main = self.text.partition("<main")[2].partition("</main>")[0]
        return {name: value for name, value in FIELD.findall(main) if name != "token"}

    def _headers(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}


class RealSite(NamedTuple):
    url: str
    state: Path
    http: aiohttp.ClientSession


@pytest_asyncio.fixture
async def site(tmp_path: Path) -> AsyncIterator[RealSite]:
    state = tmp_path / "state"
    state.mkdir()
    prepare_state(state)
    overrides = {"paths.state": str(state), "console.second_step": "required"}
    followed = FollowedSite(SiteSource(ROOT / "etc/oborona.toml", overrides), lambda _: None)
    desk = desk_server(followed)
    client = DeskClient(tmp_path / "desk.sock")
    console = ConsoleServer(client)
    with socket.socket(socket.AF_UNIX) as door, socket.create_server(("127.0.0.1", 0)) as pages:
        door.bind(str(tmp_path / "desk.sock"))
        door.listen()
        door.setblocking(False)
        await desk.start(door)
        await console.start(pages)
        jar = aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(cookie_jar=jar) as http:
            yield RealSite(f"http://127.0.0.1:{pages.getsockname()[1]}", state, http)
        await console.drain(0.1)
        await client.close()
        await desk.drain(1)


def first_link(state: Path) -> str:
    nothing = frozenset[str]()
    with PeopleStore(state / state_files.PEOPLE) as store:
        admin = new_person(
            "anna", roles=frozenset({Role.ADMIN}), domains=nothing, addresses=nothing,
            language="", made_by="test", now=time.time(),
        )  # fmt: skip
        return LinkBook(store).make(store.add(admin), time.time())


@pytest.mark.asyncio
async def test_from_the_first_link_to_a_call_of_a_program(site: RealSite) -> None:
    pages = Pages(site.http, site.url)
    link = f"/link/{first_link(site.state)}"
    await pages.open(link)
    await pages.send(link, password=PASSWORD, again=PASSWORD)
    # who must enrol is there, whatever they open
    for path in ("/", "/people", "/me", "/audit"):
        await pages.open(path)
        assert "This site wants one of every administrator" in pages.text
    await pages.send("/me/step")
    step = pages.kept()
    await pages.send("/me/step/confirm", code="000000x", **step)
    assert "That is not the code of now." in pages.text
    await pages.send("/me/step/confirm", code=pyotp.TOTP(step["secret"]).now(), **pages.kept())
    assert "Remove it" in pages.text
    assert await pages.open("/me") == 200
    assert "this one" in pages.text
    assert await pages.open("/me/tries") == 200
    assert "signed in" in pages.text

    # a new person: tried, then done, and the link is shown once
    await pages.open("/people/new")
    form = {"name": "sue", "role-support": "1", "domains": "example.org", "language": "en"}
    assert await pages.send("/people/add", **form) == 200
    with PeopleStore(site.state / state_files.PEOPLE) as store:
        assert store.find("sue") is None
    order = pages.kept()
    # ten minutes later the password is asked for, and nothing is lost
    with PeopleStore(site.state / state_files.PEOPLE) as store, store.transaction() as db:
        db.execute("UPDATE session SET fresh = fresh - 700")
    assert await pages.send("/people/add", **order, step="do", reason="she begins") == 403
    assert "Your password once more" in pages.text
    kept = {name: value.replace("&amp;", "&") for name, value in pages.kept().items()}
    assert await pages.send("/me/confirm", password="wrong words of hers", **kept) == 403
    assert await pages.send("/me/confirm", password=PASSWORD, **kept) == 200
    assert 'value="she begins"' in pages.text
    order = pages.kept()
    assert await pages.send("/people/add", **order, step="do", reason="she begins") == 200
    hers = re.search(r"/link/[\w-]+", pages.text)
    assert hers
    assert await pages.send("/people/add", **order, step="do", reason="she begins") == 422
    assert "its answer was told once" in pages.text

    # she uses it; her second step is her own affair
    sue = Pages(site.http, site.url)
    await sue.open(hers[0])
    assert await sue.send(hers[0], password=PASSWORD, again=PASSWORD) == 200, sue.text
    assert await sue.open("/people") == 403

    # turned off, and taken back from the log
    await pages.open("/people/sue")
    await pages.send("/people/off", name="sue")
    await pages.send("/people/off", **pages.kept(), step="do", reason="she left")
    assert "Undo" in pages.text
    await pages.open("/audit")
    assert "she left" in pages.text
    number = re.search(r'name="number" value="(\d+)"', pages.text)
    assert number
    await pages.send("/audit/undo", number=number[1])
    assert "people.off" in pages.text
    await pages.send("/audit/undo", **pages.kept(), step="do", reason="she is back")
    assert "Done" in pages.text
    assert await pages.open("/audit/chain") == 200
    assert "Whole until its last row." in pages.text

    # a key, and a program with it
    await pages.open("/keys")
    await pages.send("/keys/add", name="nightly", days="2", domains="", **{"right-people-see": "1"})
    await pages.send("/keys/add", **pages.kept(), step="do", reason="a list each night")
    key = re.search(r"obk_[a-z0-9]+", pages.text)
    assert key
    headers = {"Authorization": f"Bearer {key[0]}"}
    async with site.http.post(f"{site.url}/v1/people.list", json={}, headers=headers) as answer:
        told = await answer.json()
    assert [one["name"] for one in told["people"]] == ["anna", "sue"]
    async with site.http.get(f"{site.url}/v1/openapi.json", headers=headers) as answer:
        assert "/v1/people.list" in (await answer.json())["paths"]
    async with site.http.post(
        f"{site.url}/v1/people.off", json={"name": "sue", "reason": "x"}, headers=headers
    ) as answer:
        assert answer.status == 403

    # another password: all sessions end; with the code she is in again
    await pages.open("/me/password")
    await pages.send("/me/password", password=f"{PASSWORD} again", again=f"{PASSWORD} again")
    assert "Sign in" in pages.text
    await pages.send("/sign-in", name="anna", password=f"{PASSWORD} again")
    assert "with the six digits of your app" in pages.text
