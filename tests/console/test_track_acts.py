"""Rows that are ticked and acted on, and a search that is followed: newer rows come when somebody
asks for them, and no page moves under the mouse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from playwright.async_api import Browser

from oborona.console.pages.track_acts import ACTS
from oborona.console.ticked_rows import box_value, ids_of, ticked_rows
from oborona.console.track_row import TrackedMessage
from oborona.desk.asks.newer_messages import NewerMessages
from oborona.ident import first_id_at, to_text
from oborona.people.rights import Role
from tests.console.conftest import RunningConsole
from tests.console.stub_desk import NOW, DeskRefusalError
from tests.console.track_answers import ID, found_mail, found_message, refused_message
from tests.console.walls import WalledPage, walled_context

pytestmark = pytest.mark.asyncio(loop_scope="session")

NEWER = to_text(first_id_at(NOW - 60))
UNLEARN = {"call": "model.unlearn", "asked": {"words": [7]}}
LEARNED = {"messages": [{"message": ID, "result": "new"}], "events": [], "undo": UNLEARN}


def row(message: Any) -> TrackedMessage:
    return msgspec.convert(msgspec.to_builtins(message), TrackedMessage)


async def test_a_box_says_all_that_acts_need() -> None:
    rows = ticked_rows(
        [
            box_value(row(found_message(sender="ret@out.example"))),
            box_value(row(refused_message(sender="", header_from="x" * 9_000))),
            box_value(row(found_message(sender="ret@out.example"))),
            "no box", "id=", "%zz&id=%00<b>", "id=x&id=y&from=a@b&from=c@d" + "&q=1" * 2_000,
        ]
    )  # fmt: skip
    assert [one.id for one in rows][:2] == [ID, refused_message().id]
    assert rows[0].senders == ("ret@out.example", "a@bank.example")
    assert (rows[0].client, rows[0].refused, rows[1].refused) == ("203.0.113.9", False, True)
    assert ids_of(rows[:2]) == [ID]
    assert ACTS["deny-clients"].order(rows[:2]) == {"name": "deny", "entries": ["203.0.113.9"]}
    assert ACTS["look"].order(rows[1:2]) == {}
    assert len(ticked_rows(f"id={number}" for number in range(900))) == 50


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
async def test_ticked_rows_are_taught_after_a_preview_and_that_is_taken_back(
    console: RunningConsole, browser: Browser, scripts: bool
) -> None:
    def undone(asked: Mapping[str, Any]) -> Any:
        return {"taken_back": asked["words"], "events": []}

    console.desk.answers |= found_mail(found_message(), refused_message()) | {
        "teach": LEARNED,
        "model.unlearn": undone,
    }
    context = await walled_context(browser, console, Role.ANALYST, java_script_enabled=scripts)
    walled = WalledPage(await context.new_page(), console.url)
    page = walled.page
    await walled.open("/track?q=from%3Abank.example")
    for box in await page.locator("#found input[type=checkbox]").all():
        await box.check()
    await page.get_by_label("With rows that are ticked").select_option("spam")
    await page.get_by_role("button", name="Show what it would do").click()
    assert "learned as new" in await page.inner_text(".preview")
    await page.get_by_label("Reason").fill("it came to a trap")
    await page.get_by_role("button", name="Do it").click()
    await page.get_by_role("button", name="Undo").click()
    await page.get_by_label("Reason").fill("it was not")
    await page.get_by_role("button", name="Do it").click()
    assert "7" in await page.inner_text(".done")
    told = [call.asked for call in console.desk.calls if call.name == "teach"]
    assert [(one["dry"], one["messages"]) for one in told] == [(True, [ID]), (False, [ID])]
    undo = [call.asked for call in console.desk.calls if call.name == "model.unlearn"][-1]
    assert (undo["words"], undo["dry"], undo["reason"]) == ([7], False, "it was not")
    if scripts:
        await walled.held()
    await context.close()


async def test_a_search_that_is_followed_tells_of_newer_mail_and_shows_it_when_asked(
    console: RunningConsole, browser: Browser
) -> None:
    number = 0

    def find(asked: Mapping[str, Any]) -> Any:
        newer = found_message(id=NEWER, subject="the newer one")
        hits = [newer] if asked["newer"] else [found_message()]
        return found_mail(*hits)["messages.find"]

    def count(asked: Mapping[str, Any]) -> Any:
        if asked["newer"] == NEWER:
            raise DeskRefusalError(503, "away", why="held")
        return msgspec.to_builtins(NewerMessages(number=number, more=False))

    console.desk.answers |= {"messages.find": find, "messages.newer": count}
    context = await walled_context(browser, console, Role.SUPPORT)
    walled = WalledPage(await context.new_page(), console.url)
    page, news = walled.page, walled.page.locator("#news")
    await walled.open("/track?q=verdict%3Ajunk")
    await page.get_by_role("link", name="Follow: tell of newer mail").click()

    async def tick() -> None:
        async with page.expect_response("**/track/new?*"):
            await page.evaluate(
                "document.querySelector('[data-follow]').dispatchEvent(new Event('follow'))"
            )

    await tick()
    assert (await news.inner_text()).strip() == ""
    number = 1
    await tick()
    button = news.get_by_role("link", name="New: 1. Show them")
    await button.wait_for()
    assert await page.locator("#found tbody tr").count() == 1, "nothing moves by itself"
    assert await news.get_attribute("aria-live") == "polite"
    await button.click()
    await page.locator("#found tbody tr").nth(1).wait_for()
    assert "the newer one" in await page.locator("#found tbody tr").first.inner_text()
    assert await button.count() == 0
    await tick()  # from the newest on
    await news.get_by_text("Whether newer mail came is not known now.").wait_for()
    await walled.held()
    await context.close()


async def test_nothing_is_asked_while_nobody_looks(
    console: RunningConsole, browser: Browser
) -> None:
    console.desk.answers |= found_mail(found_message())
    console.desk.answers["messages.newer"] = {"number": 0, "more": False}
    context = await walled_context(browser, console, Role.SUPPORT)
    walled = WalledPage(await context.new_page(), console.url)
    page = walled.page
    await page.clock.install()
    await walled.open("/track?follow=on")

    def asked() -> int:
        return sum(call.name == "messages.newer" for call in console.desk.calls)

    async with page.expect_response("**/track/new?*"):
        await page.clock.run_for(5_100)
    assert asked() == 1
    await page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
    await page.clock.run_for(60_000)
    await page.evaluate("fetch('/me')")
    assert asked() == 1
    await walled.held()
    await context.close()
