"""Every page on a site where nothing has run yet: none says that something is broken."""

from __future__ import annotations

import re
import socket
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp
import pytest
import pytest_asyncio

from oborona import state_files
from oborona.accounts.store.accounts import AccountStore
from oborona.console.desk_client import DeskClient
from oborona.console.page_list import load_pages
from oborona.console.server import ConsoleServer
from oborona.console.visit import SESSION
from oborona.daemon.state import prepare_state
from oborona.desk.configured_site import SiteSource
from oborona.desk.followed_site import FollowedSite
from oborona.desk.process import desk_server
from oborona.people.rights import Role
from oborona.people.session_book import SessionBook
from oborona.people.store import PeopleStore, new_person

ROOT: Final = Path(__file__).resolve().parents[2]
PARTS: Final = {"entity": "192.0.2.1", "name": "anna", "id": "06PW8V5A3K7QX"}
"""What stands in parts of paths; of others, a word that names nothing."""
NAMED: Final = frozenset({200, 303, 403, 404, 410, 422})
"""What is there, leads on, is not theirs, or was never there."""


class NewSite(NamedTuple):
    """A console before a desk whose state folder holds people alone."""

    url: str
    state: Path
    tokens: dict[Role, str]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def new_site() -> AsyncIterator[NewSite]:
    with tempfile.TemporaryDirectory(prefix="oborona-new-") as folder:
        state, door = Path(folder) / "state", Path(folder) / "desk.sock"
        state.mkdir()
        prepare_state(state)
        now, tokens = time.time(), dict[Role, str]()
        with PeopleStore(state / state_files.PEOPLE) as store:
            sessions = SessionBook(store, step_required=False)
            for role in (Role.ADMIN, Role.READER):
                person = store.add(
                    new_person(
                        f"a-{role}", roles=frozenset({role}), domains=frozenset(),
                        addresses=frozenset({"a@example.org"} if role is Role.READER else ()),
                        language="", made_by="test", now=now,
                    )
                )  # fmt: skip
                tokens[role] = sessions.begin(person, "127.0.0.1", "a test", now)
        overrides = {"paths.state": str(state), "console.second_step": "optional"}
        source = SiteSource(ROOT / "etc/oborona.toml", overrides)
        desk, client = desk_server(FollowedSite(source, lambda _: None)), DeskClient(door)
        console = ConsoleServer(client)
        with (
            socket.socket(socket.AF_UNIX) as listener,
            socket.create_server(("127.0.0.1", 0)) as at,
        ):
            listener.bind(str(door))
            listener.listen()
            listener.setblocking(False)
            await desk.start(listener)
            await console.start(at)
            yield NewSite(f"http://127.0.0.1:{at.getsockname()[1]}", state, tokens)
            await console.drain(0.1)
            await client.close()
            await desk.drain(1)


def paths() -> list[str]:
    declared = (one.path for one in load_pages() if one.method == "GET" and not one.signed)
    return sorted(path for path in declared if path != "/try/page")  # of tests


async def opened(site: NewSite, role: Role, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
        http.get(
            site.url + path,
            headers={"Cookie": f"{SESSION}={site.tokens[role]}"},
            allow_redirects=False,
        ) as answer,
    ):
        return answer.status, (await answer.text()).partition("<main")[2]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", paths())
async def test_no_page_of_a_new_site_says_that_something_is_broken(
    new_site: NewSite, path: str
) -> None:
    filled = re.sub(r"\{(\w+)\}", lambda part: PARTS.get(part[1], "x"), path)
    for role in new_site.tokens:
        status, text = await opened(new_site, role, filled)
        assert status in NAMED, text
        assert "Not available now" not in text


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/entities", "counts begin with the first message"),
        ("/entity/192.0.2.1", "Never seen here"),
        ("/audit/chain", "Nobody has done anything here yet"),
        ("/accounts", "No account was imported yet"),
        ("/account/ann", "No account was imported yet"),
        ("/incidents", "No account was imported yet"),
        ("/moves", "Nothing was moved yet"),
        ("/charts", "There are no charts yet: the keeper draws them"),
    ],
)
async def test_what_is_empty_says_how_it_gets_filled(
    new_site: NewSite, path: str, words: str
) -> None:
    (new_site.state / state_files.AUDIT).unlink(missing_ok=True)  # that others looked at pages
    status, text = await opened(new_site, Role.ADMIN, path)
    assert (status, words in text) == (200, True), text


@pytest.mark.asyncio(loop_scope="module")
async def test_a_row_that_was_noted_of_a_log_that_is_gone_is_told(new_site: NewSite) -> None:
    (new_site.state / state_files.AUDIT).unlink(missing_ok=True)
    status, text = await opened(new_site, Role.ADMIN, f"/audit/chain?anchor=7:{'0' * 64}")
    assert status == 422
    assert "nothing was done here yet that the audit log holds" in text


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ("PRAGMA user_version = 9999", "written by a newer Oborona"),
        ("", "A store is damaged"),
    ],
)
async def test_a_store_that_is_broken_or_newer_is_told_as_that(
    new_site: NewSite, spoil: str, words: str
) -> None:
    path = new_site.state / state_files.ACCOUNTS
    try:
        if spoil:
            with AccountStore(path), closing(sqlite3.connect(path)) as db:
                db.execute(spoil)
        else:
            path.write_bytes(b"no file of SQLite" * 100)
        status, text = await opened(new_site, Role.ADMIN, "/account/ann")
        assert status == 503
        assert words in text
        assert "can&#39;t be reached" not in text
        assert str(path) in text, "who mends it wants to know which"
    finally:
        for part in path.parent.glob(f"{path.name}*"):
            part.unlink()
