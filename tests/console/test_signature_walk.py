"""Signatures and a case with all its effects, on pages before a real desk, without a script."""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from oborona import state_files
from oborona.console.desk_client import DeskClient
from oborona.console.server import ConsoleServer
from oborona.desk.followed_site import FollowedSite
from oborona.desk.process import desk_server
from oborona.feedback.events.model import EventKind
from oborona.people.link_book import LinkBook
from oborona.people.rights import Role
from oborona.people.store import PeopleStore, new_person
from oborona.recheck.moves import MoveStore
from oborona.stores.pins.store import PinStore
from oborona.stores.signatures.rows import SignatureState
from oborona.stores.signatures.store import SignatureStore
from tests.cli.journaled import LOTTERY
from tests.console.test_with_desk import PASSWORD, Pages
from tests.desk.spoken_site import ANN, SpokenSite
from tests.desk.test_campaign_effects import SIGNED

pytestmark = pytest.mark.asyncio


@pytest.fixture
def site(tmp_path: Path) -> SpokenSite:
    """One has complained of a message with links."""
    spoken = SpokenSite(tmp_path, [SIGNED])
    spoken.say(spoken.lottery, ANN, EventKind.COMPLAINT, raw=LOTTERY)
    return spoken


@pytest_asyncio.fixture
async def pages(site: SpokenSite, tmp_path: Path) -> AsyncIterator[Pages]:
    """Pages as an analyst sees them who is signed in."""
    nothing = frozenset[str]()
    with PeopleStore(site.state / state_files.PEOPLE) as store:
        analyst = new_person(
            "kim", roles=frozenset({Role.ANALYST}), domains=nothing, addresses=nothing,
            language="", made_by="test", now=time.time(),
        )  # fmt: skip
        link = f"/link/{LinkBook(store).make(store.add(analyst), time.time())}"
    desk = desk_server(FollowedSite(site.site.source, lambda _: None))
    client = DeskClient(tmp_path / "desk.sock")
    console = ConsoleServer(client)
    with socket.socket(socket.AF_UNIX) as door, socket.create_server(("127.0.0.1", 0)) as listener:
        door.bind(str(tmp_path / "desk.sock"))
        door.listen()
        door.setblocking(False)
        await desk.start(door)
        await console.start(listener)
        jar = aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(cookie_jar=jar) as http:
            opened = Pages(http, f"http://127.0.0.1:{listener.getsockname()[1]}")
            await opened.open(link)
            assert await opened.send(link, password=PASSWORD, again=PASSWORD) == 200
            yield opened
        await console.drain(0.1)
        await client.close()
        await desk.drain(1)


async def do(pages: Pages, path: str, reason: str, **more: str) -> int:
    """Send the form of a preview."""
    fields = {name: unescape(value) for name, value in pages.kept().items()}
    return await pages.send(path, **fields | more, step="do", reason=reason)


def active(site: SpokenSite) -> list[tuple[str, str]]:
    with SignatureStore(site.state / state_files.SIGNATURES) as store:
        records = [record.signature for record in store.all(SignatureState.ACTIVE)]
    return [(one.value, one.mode) for one in records]


async def test_signatures_are_tried_added_imported_and_taken_back(
    site: SpokenSite, pages: Pages
) -> None:
    await pages.open("/signatures/new")
    form = {"value": "one.example", "kind": "domain", "flag": "spam", "days": "30", "mode": "live"}
    assert await pages.send("/signatures/add", **form) == 200
    assert "1 have it, 1 of these were let in" in pages.text
    assert active(site) == []
    assert await do(pages, "/signatures/add", "a campaign") == 200
    assert active(site) == [("one.example", "live")]
    undo = {name: unescape(value) for name, value in pages.kept().items()}
    await pages.open("/signatures")
    assert "one.example" in pages.text
    assert await pages.open("/signature/s1") == 200
    assert await pages.send("/signatures/mode", name="s1", mode="shadow") == 200
    await do(pages, "/signatures/mode", "not sure")
    assert active(site) == [("one.example", "shadow")]
    await pages.send("/signatures/undo", **undo)
    assert await do(pages, "/signatures/undo", "a mistake") == 200
    assert active(site) == []

    lines = 'blue "parrot" prize\r\n# x\r\nx\r\ngreen parrot prize\r\n'
    await pages.open("/signatures/new")
    await pages.send("/signatures/import", text=lines, kind="phrase", flag="spam")
    assert "line:3:" in unescape(pages.text)
    assert await do(pages, "/signatures/import", "a list") == 422
    assert "nothing was added" in pages.text
    assert await do(pages, "/signatures/import", "a list", skip="1") == 200
    assert [value for value, _ in active(site)] == ['blue "parrot" prize', "green parrot prize"]
    await pages.open("/signatures?as=lines")
    assert len(pages.text.splitlines()) == 2


async def test_a_case_is_decided_with_all_effects_and_undone(
    site: SpokenSite, pages: Pages
) -> None:
    await pages.open("/case/1")
    assert 'value="domain:any:one.example"' in pages.text
    ticked = {
        "verdict": "spam", "teach": "1", "withdraw": "1", "signature[]": "domain:any:one.example",
        "signature_mode": "live", "signature_days": "30", "pin[]": "198.51.100.0/24",
        "pin_days": "7", "recheck": "1",
    }  # fmt: skip
    assert await pages.send("/case/1/decide", **ticked) == 200
    assert "1 delivered message judged again: 1 copy to move" in pages.text
    assert active(site) == []
    assert await do(pages, "/case/1/decide", "a fraud") == 200
    assert active(site) == [("one.example", "live")]
    with PinStore(site.state / state_files.PINS) as pins:
        assert [(pin.name, pin.flag) for pin in pins.all(0)] == [("198.51.100.0/24", "bad")]
    await pages.open("/case/1")
    assert "Reputation set:" in pages.text
    await pages.send("/case/1/undecide")
    assert await do(pages, "/case/1/undecide", "it is a shop") == 200
    assert pages.text.count("taken back") >= 3
    assert active(site) == []
    with PinStore(site.state / state_files.PINS) as pins:
        assert pins.all(0) == []
    with MoveStore(site.state / state_files.MOVES) as moves:
        assert [move.state for move in moves.since(0)] == ["undone"]
