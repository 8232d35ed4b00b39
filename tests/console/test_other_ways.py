"""Signing in by other ways in a browser: a real desk, a real console, and the real other side."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from playwright.async_api import Browser

from oborona.console.desk_client import DeskClient
from oborona.console.server import ConsoleServer
from oborona.people.person import Person
from tests.console.walls import WalledPage
from tests.desk.login_desk import login_desk
from tests.peers.oidc_provider import SECRET, OidcProvider

pytestmark = [pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
async def test_somebody_signs_in_at_the_provider(
    tmp_path: Path, browser: Browser, scripts: bool
) -> None:
    (tmp_path / "secret").write_text(SECRET)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with OidcProvider(f"{url}/sign-in/provider/back") as provider:
            settings = {
                "console.oidc_issuer": provider.issuer,
                "console.oidc_secret_file": str(tmp_path / "secret"),
                "console.oidc_roles": "staff=support",
                "console.url": url,
            }
            async with login_desk(tmp_path, settings) as desk:
                client = DeskClient(desk.path)
                server = ConsoleServer(client)
                await server.start(listening)
                context = await browser.new_context(java_script_enabled=scripts)
                walled = WalledPage(await context.new_page(), url)
                page = walled.page
                await walled.open("/overview?a=1")
                await page.get_by_role("link", name=f"Sign in at 127.0.0.1:{provider.port}").click()
                await page.locator("input[name=login]").fill("anna+staff")
                await page.locator("input[name=password]").fill("theirs alone")
                await page.get_by_role("button", name="Sign-in").click()
                await page.get_by_role("button", name="Continue").click()
                await page.wait_for_url(f"{url}/overview?a=1")
                assert await page.locator(".who a").inner_text() == "anna"
                cookies = {one["name"] for one in await context.cookies(url)}
                assert "__Host-oborona" in cookies
                assert "__Host-oborona-attempt" not in cookies
                # the address of before is good for nothing
                back = next(
                    request.url for request in walled.requests if "provider/back" in request.url
                )
                await context.clear_cookies()
                answer = await page.goto(back)
                assert answer is not None
                assert answer.status == 403
                assert "Begin again" in await page.get_by_role("alert").inner_text()
                await context.close()
                await server.drain(0.1)
                await client.close()
                with desk.people() as store:
                    anna: Person = store.named("anna")
                    assert anna.made_by == "provider"
