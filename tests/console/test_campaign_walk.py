"""A task in the browser: an analyst stops a campaign with the keyboard, and undoes that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from playwright.async_api import Browser

from oborona.people.rights import Role
from tests.console.conftest import RunningConsole
from tests.console.page_case import all_cases
from tests.console.walls import WalledPage, walled_context

pytestmark = [pytest.mark.asyncio(loop_scope="session")]
ANSWERS = {case.name: case.answers for case in all_cases()}


class DecidedDesk:
    """The calls of a case, which is decided or not."""

    def __init__(self) -> None:
        self.decided = False
        self.done: list[tuple[str, str]] = []

    def show(self, _asked: Mapping[str, Any]) -> Any:
        """Answer `campaigns.show`."""
        return ANSWERS["case-decided" if self.decided else "case"]["campaigns.show"]

    def decide(self, asked: Mapping[str, Any]) -> Any:
        """Answer `campaigns.decide`."""
        assert (asked["teach"], asked["withdraw"]) == (True, True)
        return self._done("decide", asked, ANSWERS["case-preview"]["campaigns.decide"])

    def undecide(self, asked: Mapping[str, Any]) -> Any:
        """Answer `campaigns.undecide`."""
        return self._done("undecide", asked, ANSWERS["case-undo"]["campaigns.undecide"])

    def _done(self, act: str, asked: Mapping[str, Any], answer: Any) -> Any:
        if not asked["dry"]:
            self.decided = act == "decide"
            self.done.append((act, asked["reason"]))
        return answer


async def test_a_campaign_is_stopped_by_an_analyst_with_the_keyboard_and_undone(
    console: RunningConsole, browser: Browser
) -> None:
    desk = DecidedDesk()
    console.desk.answers |= {
        "campaigns.list": msgspec.to_builtins(ANSWERS["queue"]["campaigns.list"]),
        "campaigns.show": desk.show,
        "campaigns.decide": desk.decide,
        "campaigns.undecide": desk.undecide,
    }
    context = await walled_context(browser, console, Role.ANALYST)
    walled = WalledPage(await context.new_page(), console.url)
    page, keys = walled.page, walled.page.keyboard
    await walled.open("/queue")
    await keys.press("k")
    await page.wait_for_url(f"{console.url}/case/1812")
    await keys.press("?")
    assert await page.get_by_text("take back, undo").is_visible()
    await keys.press("m")
    await keys.type("snh")  # in a field, letters are letters
    assert await page.input_value("#text") == "snh"
    await keys.press("Escape")
    await keys.press("s")
    await page.wait_for_url(f"{console.url}/case/1812/decide")
    assert "of 1 person" in await page.inner_text("main")
    assert desk.done == []
    await keys.type("a fraud")  # the reason has the focus
    await keys.press("Enter")
    await page.get_by_role("button", name="Undo").wait_for()
    assert desk.done == [("decide", "a fraud")]
    await keys.press("u")
    await page.wait_for_url(f"{console.url}/case/1812/undecide")
    await page.get_by_role("button", name="Do it").wait_for()
    await keys.type("it is a shop")
    await keys.press("Enter")
    await page.get_by_role("status").wait_for()
    assert desk.done[1:] == [("undecide", "it is a shop")]
    await walled.held()
    await context.close()
