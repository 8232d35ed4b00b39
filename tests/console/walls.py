"""What no page may ever do in a browser: fail, complain, break its policy, or ask somebody else."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request

from oborona.people.rights import Role
from tests.console.conftest import RunningConsole
from tests.console.page_request import GUEST
from tests.console.stub_desk import token_of

LISTENER = """
window.__violations = [];
document.addEventListener('securitypolicyviolation', (it) =>
  window.__violations.push(`${it.violatedDirective} ${it.blockedURI} ${it.sample}`));
"""


class WalledPage:
    """A page whose faults are gathered.

    Args:
        page: of the browser.
        url: of the console.
    """

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.faults: list[str] = []
        self.requests: list[Request] = []
        self.statuses: list[int] = []
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", self._complained)
        page.on("request", self._asked)
        page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))

    async def open(self, path: str) -> int:
        """Open a page of the console; return its status."""
        response = await self.page.goto(f"{self.url}{path}", wait_until="load")
        assert response is not None
        return response.status

    async def held(self) -> None:
        """Assert that all walls stand."""
        violations = await self.page.evaluate("window.__violations || []")
        assert self.faults + violations == []

    def _complained(self, message: ConsoleMessage) -> None:
        # of the page itself, whose status a test knows
        status = message.text.startswith("Failed to load resource: the server responded with")
        if message.type in {"error", "warning"} and not (
            status and message.location.get("url") == self.page.url
        ):
            self.faults.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        self.requests.append(request)
        if not request.url.startswith(f"{self.url}/"):
            self.faults.append(f"asks {request.url}")


async def walled_context(
    browser: Browser, console: RunningConsole, role: Role | None, **options: Any
) -> BrowserContext:
    """Return a browser's profile in which a person of a role is signed in."""
    context = await browser.new_context(**options)
    value = token_of(role) if role is not None else GUEST.partition("=")[2]
    name = "__Host-oborona" if role is not None else "__Host-oborona-guest"
    await context.add_cookies(
        [
            {
                "name": name,
                "value": value,
                "url": console.url.replace("http:", "https:"),
                "httpOnly": True,
                "secure": True,
                "sameSite": "Lax",
            }
        ]
    )
    await context.add_init_script(LISTENER)
    return context
