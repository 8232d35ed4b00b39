"""A draft in a browser: a mistake is told while it is typed, mended, tested, tried, published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from oborona.people.rights import Role
from tests.console.conftest import RunningConsole
from tests.console.walls import WalledPage, walled_context

pytestmark = [pytest.mark.asyncio(loop_scope="session")]

OVERLAY = "90-console.toml"
START = '# ours\n[[rule]]\nname = "LINKS"\n'
WRONG = "score = thirty"
MENDED = "score = 30"


class DraftedDesk:
    """What the desk answers about one draft, as it is written.

    Args:
        console: whose desk it is.
    """

    def __init__(self, console: RunningConsole) -> None:
        self.text = START
        self.published: list[Mapping[str, Any]] = []
        self.previewed = ""
        console.desk.answers |= {
            "policy.settings": self._mode,
            "policy.draft_list": lambda _: {"drafts": [self._brief()]},
            "policy.draft_new": lambda _: {},
            "policy.draft_show": self._show,
            "policy.draft_write": self._write,
            "policy.lint": self._lint,
            "policy.test": lambda _: {"tests": 3, "failed": []},
            "policy.preview": self._preview,
            "policy.publish": self._publish,
        }

    @staticmethod
    def _mode(_: Mapping[str, Any]) -> Any:
        row = {"name": "console.policy", "value": "overlay", "origin": "default", "whose": None}
        return {"settings": [row], "policy": []}

    def _brief(self) -> dict[str, Any]:
        return {
            "name": "mine", "owner": "admin", "made": 1.0, "about": "", "base": 1, "stale": False,
            "changed": [OVERLAY], "previewed": self.previewed == self.text, "trouble": "",
        }  # fmt: skip

    def _show(self, asked: Mapping[str, Any]) -> Any:
        file = {"name": OVERLAY, "digest": str(len(self.text)), "text": self.text, "whole": True}
        return {
            "brief": self._brief(),
            "files": {OVERLAY: file["digest"]},
            "file": file if asked.get("file") else None,
        }

    def _write(self, asked: Mapping[str, Any]) -> Any:
        assert asked["before"] == str(len(self.text))
        self.text = asked["text"]
        return {}

    def _lint(self, asked: Mapping[str, Any]) -> Any:
        lines = asked.get("text", self.text).split("\n")
        problems = [
            {"file": f"/etc/oborona/policy.d/{OVERLAY}", "line": number, "column": 9,
             "message": "<b>a number</b>, or a formula", "warning": False}
            for number, line in enumerate(lines, 1)
            if line == WRONG
        ]  # fmt: skip
        return {"right": not problems, "problems": problems}

    def _preview(self, _: Mapping[str, Any]) -> Any:
        self.previewed = self.text
        nothing: dict[str, Any] = {"changes": {}, "left_out": {}, "said": {}}
        return nothing | {
            "messages": 2000, "complete": True, "since": 1.0, "differing": 0, "rules": [],
            "examples": [], "good": 10, "good_lost": 0, "to_spam": 0, "to_inbox": 0, "seconds": 1.0,
        }  # fmt: skip

    def _publish(self, asked: Mapping[str, Any]) -> Any:
        self.published.append(asked)
        return {
            "version": 0 if asked["dry"] else 2, "meaning": "a", "files": [OVERLAY], "changes": [],
            "tried": ["LINKS_TRIAL"], "workers": 4, "late": [], "note": "", "undo": 1,
        }  # fmt: skip


async def shown_step(page: Page, name: str) -> None:
    """Open a step of the draft."""
    await page.get_by_label("Steps of this draft").get_by_role("link", name=name).click()
    await page.wait_for_load_state()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
async def test_a_mistake_is_told_mended_tried_and_published(
    console: RunningConsole, browser: Browser, scripts: bool
) -> None:
    desk = DraftedDesk(console)
    context = await walled_context(browser, console, Role.ADMIN, java_script_enabled=scripts)
    walled = WalledPage(await context.new_page(), console.url)
    page = walled.page
    await walled.open("/policy/drafts")
    await page.get_by_label("Name", exact=True).fill("mine")
    await page.get_by_role("button", name="Begin").click()
    await page.wait_for_url(f"{console.url}/policy/draft/mine")

    text = page.get_by_label(f"Text of {OVERLAY}")
    await text.focus()
    await page.keyboard.press("Control+End")
    await page.keyboard.type(WRONG)
    if not scripts:
        await page.get_by_role("button", name="Check").click()
    line = page.get_by_role("link", name=f"{OVERLAY}, line 4, column 9")
    await expect(line).to_be_visible()
    await expect(page.locator("#lint")).to_contain_text("<b>a number</b>, or a formula")
    await expect(text).to_have_attribute("aria-invalid", "true")
    await expect(text).to_have_attribute("aria-describedby", "lint")
    await expect(text).to_have_value(START + WRONG)
    assert desk.text == START  # nothing is saved yet
    if scripts:
        await expect(page.locator("#numbers span")).to_have_count(4)
        await line.press("Enter")
        await expect(text).to_be_focused()
        await page.keyboard.type(MENDED.removeprefix("score = "))  # over what was marked
        await expect(text).to_have_attribute("aria-invalid", "false")
    else:
        await line.click()
        await text.fill(START + MENDED)
        await page.get_by_role("button", name="Check").click()
    await expect(page.locator("#lint")).to_contain_text("The loader takes it.")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved in the draft.")).to_be_visible()
    assert desk.text == START + MENDED

    await shown_step(page, "Tests")
    await expect(page.get_by_text("All 3 tests pass.")).to_be_visible()
    await shown_step(page, "Preview")
    await expect(page.get_by_text("2000 messages were judged again")).to_be_visible()
    await shown_step(page, "Publish")
    await expect(page.locator(".guards .good")).to_have_count(7)
    await page.get_by_role("button", name="Show what would be done").click()
    await page.get_by_label("Reason").fill("it lost invoices")
    await page.get_by_role("button", name="Do it").click()
    await expect(page.get_by_text("It is version 2.")).to_be_visible()
    told = [(order["dry"], order["live"], order["reason"]) for order in desk.published]
    assert told == [(True, False, ""), (False, False, "it lost invoices")]
    await walled.held()
    await context.close()


async def test_what_is_typed_asks_before_it_is_left(
    console: RunningConsole, browser: Browser
) -> None:
    DraftedDesk(console)
    context = await walled_context(browser, console, Role.ADMIN)
    page = await context.new_page()
    asked: list[str] = []

    async def stay(dialog: Any) -> None:
        asked.append(dialog.type)
        await dialog.dismiss()

    page.on("dialog", stay)
    await page.goto(f"{console.url}/policy/draft/mine")
    await page.get_by_label(f"Text of {OVERLAY}").press_sequentially("x")
    await page.get_by_role("link", name="Preview").click(no_wait_after=True)
    await page.wait_for_timeout(300)
    assert asked == ["beforeunload"]
    assert page.url == f"{console.url}/policy/draft/mine"
    await context.close()
