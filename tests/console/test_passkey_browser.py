"""Passkeys in a real browser with a virtual authenticator, before a real desk."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, CDPSession, Page, expect

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
from tests.console.walls import LISTENER, WalledPage

pytestmark = [pytest.mark.asyncio(loop_scope="session")]

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "four words that nobody guesses"


class KeyedSite(NamedTuple):
    """A console under a name, as browsers want it for passkeys.

    Args:
        url: of it.
        state: folder of its desk.
    """

    url: str
    state: Path

    def link(self, name: str) -> str:
        nothing = frozenset[str]()
        with PeopleStore(self.state / state_files.PEOPLE) as store:
            person = new_person(
                name, roles=frozenset({Role.ADMIN}), domains=nothing, addresses=nothing,
                language="", made_by="test", now=time.time(),
            )  # fmt: skip
            return f"/link/{LinkBook(store).make(store.add(person), time.time())}"

    def write(self, sql: str) -> None:
        with PeopleStore(self.state / state_files.PEOPLE) as store, store.transaction() as db:
            db.execute(sql)


@pytest_asyncio.fixture(loop_scope="session")
async def site(tmp_path: Path) -> AsyncIterator[KeyedSite]:
    state = tmp_path / "state"
    state.mkdir()
    prepare_state(state)
    with socket.socket(socket.AF_UNIX) as door, socket.create_server(("127.0.0.1", 0)) as pages:
        url = f"http://localhost:{pages.getsockname()[1]}"
        overrides = {
            "paths.state": str(state), "console.second_step": "required", "console.url": url,
        }  # fmt: skip
        desk = desk_server(
            FollowedSite(SiteSource(ROOT / "etc/oborona.toml", overrides), lambda _: None)
        )
        client = DeskClient(tmp_path / "desk.sock")
        console = ConsoleServer(client)
        door.bind(str(tmp_path / "desk.sock"))
        door.listen()
        door.setblocking(False)
        await desk.start(door)
        await console.start(pages)
        yield KeyedSite(url, state)
        await console.drain(0.1)
        await client.close()
        await desk.drain(1)


async def authenticator(context: BrowserContext, page: Page) -> tuple[CDPSession, str]:
    """Give the browser an authenticator that checks who holds it, as a telephone does."""
    cdp = await context.new_cdp_session(page)
    await cdp.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True,
        "hasUserVerification": True, "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }  # fmt: skip
    made = await cdp.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return cdp, str(made["authenticatorId"])


async def first_sign_in(page: Page, site: KeyedSite, name: str) -> None:
    await page.goto(site.url + site.link(name))
    for label in ("New password", "The same again"):
        await page.get_by_label(label).fill(PASSWORD)
    await page.get_by_role("button", name="Set it and sign in").click()
    await expect(page.get_by_text("This site wants one of every administrator")).to_be_visible()


async def test_made_shown_alone_and_after_a_password_and_removed(
    site: KeyedSite, browser: Browser
) -> None:
    context = await browser.new_context()
    await context.add_init_script(LISTENER)
    walled = WalledPage(await context.new_page(), site.url)
    page = walled.page
    cdp, ident = await authenticator(context, page)
    await first_sign_in(page, site, "anna")
    await page.get_by_role("link", name="Passkeys").click()
    await page.get_by_label("Name").fill("my telephone")
    await page.get_by_role("button", name="Make a passkey").click()
    await expect(page.get_by_role("rowheader", name="my telephone")).to_be_visible()
    kept = (await cdp.send("WebAuthn.getCredentials", {"authenticatorId": ident}))["credentials"]
    assert (kept[0]["rpId"], kept[0]["isResidentCredential"]) == ("localhost", True)

    # in place of password and code
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_role("button", name="Sign in by a passkey").click()
    await expect(page.get_by_role("link", name="anna")).to_be_visible()

    # after the password, in place of a code
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_label("Name").fill("anna")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_text("Now show your passkey")).to_be_visible()
    await page.get_by_role("button", name="Show your passkey").click()
    await expect(page.get_by_role("link", name="anna")).to_be_visible()

    # in place of the password once more
    site.write("UPDATE session SET fresh = 0")
    await page.goto(f"{site.url}/me/passkeys")
    await page.get_by_role("button", name="Remove").click()
    await expect(page.get_by_role("heading", name="Your password once more")).to_be_visible()
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("heading", name="Passkeys")).to_be_visible()

    # who does not let the authenticator check them does not get in by it alone
    await page.get_by_role("button", name="Sign out").click()
    await cdp.send("WebAuthn.setUserVerified", {"authenticatorId": ident, "isUserVerified": False})
    await page.get_by_role("button", name="Sign in by a passkey").click()
    await expect(page.get_by_text("That did not work. Try once more.")).to_be_visible(
        timeout=30_000
    )
    await cdp.send("WebAuthn.setUserVerified", {"authenticatorId": ident, "isUserVerified": True})
    await page.get_by_role("button", name="Sign in by a passkey").click()
    await expect(page.get_by_role("link", name="anna")).to_be_visible()

    # an answer that was sent is not taken again
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data or ""))
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_role("button", name="Sign in by a passkey").click()
    await expect(page.get_by_role("link", name="anna")).to_be_visible()
    answer = next(body for body in sent if "authenticatorData" in body)
    await page.get_by_role("button", name="Sign out").click()
    token = await page.locator("form[data-passkey] [name=token]").input_value()
    body = re.sub(r"token=[^&]*", f"token={token}", answer)
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": site.url}
    again = await context.request.post(
        f"{site.url}/sign-in/passkey", data=body, headers=headers, max_redirects=0
    )
    assert again.status == 403
    assert "The passkey was not taken" in await again.text()

    # removed, it is not asked for any more
    await page.get_by_role("button", name="Sign in by a passkey").click()
    await expect(page.get_by_role("link", name="anna")).to_be_visible()
    await page.goto(f"{site.url}/me/passkeys")
    await page.get_by_role("button", name="Remove").click()
    # the session that it began stays
    await expect(page.get_by_text("The first one is made below.")).to_be_visible()
    await walled.held()
    await context.close()


async def test_without_scripts_all_else_works_and_the_page_says_so(
    site: KeyedSite, browser: Browser
) -> None:
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await first_sign_in(page, site, "bob")
    await page.get_by_role("link", name="Passkeys").click()
    await expect(page.get_by_text("A passkey needs a script")).to_be_visible()
    await expect(page.get_by_role("button", name="Make a passkey")).to_be_hidden()
    await page.get_by_label("Name").fill("phone")
    await page.get_by_label("Name").press("Enter")
    await expect(page.get_by_text("this passkey was not taken")).to_be_visible()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_text("A passkey needs a script")).to_be_visible()
    await page.get_by_label("Name").fill("bob")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("link", name="bob")).to_be_visible()
    await context.close()
