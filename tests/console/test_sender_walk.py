"""A task in the browser, before a real desk: a sender pastes the reference of a refusal and
appeals, an analyst finds that in the queue and answers, and the sender reads the answer.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext

from oborona import state_files
from oborona.audit.reader import AuditQuery, AuditReader
from oborona.console.desk_client import DeskClient
from oborona.console.server import ConsoleServer
from oborona.daemon.state import prepare_state
from oborona.desk.configured_site import SiteSource
from oborona.desk.followed_site import FollowedSite
from oborona.desk.process import desk_server
from oborona.ident import to_text
from oborona.people.link_book import LinkBook
from oborona.people.rights import Role
from oborona.people.store import PeopleStore, new_person
from oborona.types import Action
from tests.console.walls import LISTENER, WalledPage
from tests.desk.messages_site import entry_of, fill, make_site

pytestmark = [pytest.mark.asyncio(loop_scope="session")]
PASSWORD = "four words that nobody guesses"
HOSTILE = "We are a bank. </pre><script>alert(1)</script>\u202e"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, for a socket file, with a journal that has a refusal."""
    made = Path(tempfile.mkdtemp(prefix="oborona-senders-"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def reference(folder: Path) -> str:
    site = make_site(folder)
    prepare_state(site.state)
    refused = entry_of(verdict=Action.REJECT, sender="ann@bank.example", decided_by="MASS_TEXT")
    fill(site, refused)
    return to_text(refused.id)


@pytest_asyncio.fixture(loop_scope="session")
async def url(folder: Path, reference: str) -> AsyncIterator[str]:
    overrides = {
        "paths.state": str(folder / "state"),
        "paths.policy": str(folder / "policy"),
        "paths.shipped_policy": "none",
        "console.senders": "true",
    }
    root = Path(__file__).resolve().parents[2]
    site = FollowedSite(SiteSource(root / "etc/oborona.toml", overrides), lambda _: None)
    desk, client = desk_server(site), DeskClient(folder / "desk.sock")
    console = ConsoleServer(client)
    with socket.socket(socket.AF_UNIX) as door, socket.create_server(("127.0.0.1", 0)) as pages:
        door.bind(str(folder / "desk.sock"))
        door.listen()
        door.setblocking(False)
        await desk.start(door)
        await console.start(pages)
        yield f"http://127.0.0.1:{pages.getsockname()[1]}"
        await console.drain(0.1)
        await client.close()
        await desk.drain(1)


@contextlib.asynccontextmanager
async def opened(browser: Browser, **options: bool) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(locale="en", **options)  # type: ignore[arg-type]
    await context.add_init_script(LISTENER)
    yield context
    await context.close()


def analyst_link(state: Path) -> str:
    nothing = frozenset[str]()
    with PeopleStore(state / state_files.PEOPLE) as store:
        anna = new_person(
            "anna", roles=frozenset({Role.ANALYST}), domains=nothing, addresses=nothing,
            language="", made_by="test", now=time.time(),
        )  # fmt: skip
        return f"/link/{LinkBook(store).make(store.add(anna), time.time())}"


async def test_a_sender_appeals_and_reads_what_an_analyst_answers(
    browser: Browser, url: str, folder: Path, reference: str
) -> None:
    async with (
        opened(browser, java_script_enabled=False) as outside,
        opened(browser) as inside,
    ):
        sender = WalledPage(await outside.new_page(), url)
        page = sender.page

        async def ask(address: str) -> str:
            await sender.open("/senders")
            line = f"550 5.7.1 Message refused as spam, reference {reference}; {url}/senders"
            await page.get_by_label("Reference, or the whole line").fill(line)
            await page.get_by_label("Address of the sender").fill(address)
            await page.get_by_role("button", name="Ask").click()
            return await page.inner_text("main")

        assert "Nothing is known under this reference" in await ask("ann@bank2.example")
        told = await ask("Ann@Bank.example")
        assert "looks like unwanted mail" in told
        assert "MASS_TEXT" not in await page.content()
        await page.get_by_label("Why it was a mistake").fill(HOSTILE)
        await page.get_by_role("button", name="Send it").click()
        assert "Your appeal waits for an answer" in await page.inner_text("main")

        walled = WalledPage(await inside.new_page(), url)
        desk, keys = walled.page, walled.page.keyboard
        await walled.open(analyst_link(folder / "state"))
        for field in await desk.locator("input[type=password]").all():
            await field.fill(PASSWORD)
        await desk.locator("main button[type=submit]").click()
        await walled.open("/queue")
        assert "1 appeal waits" in await desk.inner_text("main")
        await desk.get_by_role("link", name="1", exact=True).click()
        assert "</pre><script>alert(1)</script>" in await desk.inner_text("main")
        await desk.get_by_label("Words to the sender").fill("It was ours. <b>Sorry</b>")
        await desk.get_by_role("button", name="Pardon").click()
        await desk.get_by_role("button", name="Do it").wait_for()
        assert "Your appeal waits" in await ask("ann@bank.example")
        await keys.type("a bank that we know")  # the reason has the focus
        await keys.press("Enter")
        await desk.get_by_role("button", name="Undo").wait_for()

        told = await ask("ann@bank.example")
        assert "The refusal was a mistake." in told
        assert "It was ours. <b>Sorry</b>" in told
        assert "anna" not in told
        assert await page.get_by_role("button", name="Send it").count() == 0
        await walled.open("/queue")
        assert "appeal waits" not in await desk.inner_text("main")
        assert [await walled.open(path) for path in ("/appeals?answered=1", "/appeal/1")] == [
            200
        ] * 2
        await walled.held()
        assert sender.faults == []
    with AuditReader(folder / "state" / state_files.AUDIT) as log:
        rows = log.acts(AuditQuery(), 10)
    assert [(row.act, row.person, row.reason) for row in rows if not row.dry] == [
        ("appeals.answer", "anna", "a bank that we know"),
        ("appeals.send", "a sender", ""),
    ]
    assert re.search("ann@bank.example", rows[-1].arguments, re.IGNORECASE)
