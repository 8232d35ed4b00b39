"""Every page in Debian's chromium: two languages, light and dark, three widths, with scripts and
without; no fault of accessibility, no complaint, no request to anybody else.

CONSOLE_FORMS=all looks at each page in all twelve forms, and not in three.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from oborona.people.rights import Role
from tests.console.conftest import RunningConsole
from tests.console.page_case import PageCase, all_cases
from tests.console.page_request import form_token
from tests.console.stub_desk import PASSWORD, hang
from tests.console.walls import WalledPage, walled_context

pytestmark = [pytest.mark.asyncio(loop_scope="session")]

AXE = (Path(__file__).parent / "node_modules/axe-core/axe.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDTHS = (390, 768, 1280)
SCHEMES = ("light", "dark")
SHOWN = [case for case in all_cases() if case.status != 303]
ALL_FORMS = [
    (language, scheme, width) for language in ("en", "ru") for scheme in SCHEMES for width in WIDTHS
]
SOME_FORMS = [("en", "light", 390), ("ru", "dark", 1280)]
"""Each language, each scheme, the narrowest and the widest; of pages that say why there is no other
these alone, for they are alike.
"""
OTHER_FORMS = [form for form in ALL_FORMS if form not in SOME_FORMS]
"""Cases take turns with them: a page has many."""
FIRST_VIEW = 40_000  # bytes, as they come over the wire
REQUESTS = 4  # of a first view: page, style, script, icon


async def show(walled: WalledPage, console: RunningConsole, case: PageCase) -> int:
    """Open the page of a case in a browser; return its status."""
    console.desk.reset()
    console.desk.answers |= case.answers
    if case.form is None:
        return await walled.open(case.path)
    fields = {"token": form_token(console, case.role), **case.form}
    await walled.open("/sign-in" if case.role is None else "/me")
    async with walled.page.expect_navigation(wait_until="load") as navigation:
        # without a script of the page: its own forms are what is looked at
        await walled.page.evaluate(SEND, [case.path, fields])
    return (await navigation.value).status


SEND = """([path, fields]) => {
  const form = document.createElement('form');
  form.method = 'post'; form.action = path;
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement('input');
    input.type = 'hidden'; input.name = name; input.value = value; form.append(input);
  }
  document.body.append(form); form.submit();
}"""


async def violations(page: Page) -> list[str]:
    """Return what axe finds on a page."""
    if not await page.evaluate("typeof window.axe === 'object'"):
        await page.evaluate(AXE)
    found: dict[str, Any] = await page.evaluate(
        f"axe.run({{runOnly: {json.dumps(TAGS)}, resultTypes: ['violations']}})"
    )
    return [
        f"{one['id']}: {one['help']}: {[node['html'] for node in one['nodes']][:3]}"
        for one in found["violations"]
    ]


async def overflow(page: Page) -> int:
    """Return by how many pixels a page is wider than its window."""
    width: int = await page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return width


def forms_of(case: PageCase) -> list[tuple[str, str, int]]:
    """Return the forms in which a case is looked at."""
    if case.status != 200:
        return SOME_FORMS
    if os.environ.get("CONSOLE_FORMS") == "all":
        return ALL_FORMS
    return [*SOME_FORMS, OTHER_FORMS[SHOWN.index(case) % len(OTHER_FORMS)]]


@pytest.mark.parametrize("case", SHOWN, ids=lambda case: case.name)
async def test_a_page_is_good_in_every_form(
    console: RunningConsole, browser: Browser, case: PageCase
) -> None:
    forms = forms_of(case)
    for language in ("en", "ru"):
        context = await walled_context(browser, console, case.role, locale=language)
        walled = WalledPage(await context.new_page(), console.url)
        assert await show(walled, console, case) == case.status
        page = walled.page
        assert await page.evaluate("document.documentElement.lang") == language
        for form in forms:
            if form[0] == language:
                await page.emulate_media(color_scheme="dark" if form[1] == "dark" else "light")
                await page.set_viewport_size({"width": form[2], "height": 900})
                assert await violations(page) == [], form
                assert await overflow(page) <= 0, form
        await walled.held()
        await context.close()


@pytest.mark.parametrize("case", SHOWN, ids=lambda case: case.name)
async def test_a_page_is_whole_without_scripts_and_fits_longer_texts(
    console: RunningConsole, browser: Browser, case: PageCase
) -> None:
    context = await walled_context(
        browser, console, case.role, locale="xx", java_script_enabled=False,
        viewport={"width": 390, "height": 800},
    )  # fmt: skip
    walled = WalledPage(await context.new_page(), console.url)
    if case.form is None:
        assert await show(walled, console, case) == case.status
        text = await walled.page.inner_text("main")
        assert "⟦" in text
        assert await overflow(walled.page) <= 0
        assert walled.faults == []
    await context.close()


async def test_a_first_view_is_small(console: RunningConsole, browser: Browser) -> None:
    for path, role in (("/sign-in", None), ("/overview", Role.ADMIN), ("/me", Role.ADMIN)):
        context = await walled_context(browser, console, role)
        walled = WalledPage(await context.new_page(), console.url)
        await walled.open(path)
        sizes = [await request.sizes() for request in walled.requests]
        total = sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes)
        assert len(walled.requests) <= REQUESTS, [request.url for request in walled.requests]
        assert total <= FIRST_VIEW
        await context.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
async def test_somebody_signs_in_looks_at_their_sessions_and_leaves(
    console: RunningConsole, browser: Browser, scripts: bool
) -> None:
    context = await browser.new_context(java_script_enabled=scripts)
    await context.add_init_script("window.__violations = []")
    walled = WalledPage(await context.new_page(), console.url)
    page = walled.page
    await walled.open("/me?a=1")
    assert page.url == f"{console.url}/sign-in?next=/me%3Fa%3D1"
    await page.get_by_label("Name").fill("support")
    await page.get_by_label("Password").fill("wrong")
    await page.get_by_role("button", name="Sign in").click()
    assert "wrong" in await page.get_by_role("alert").inner_text()
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(f"{console.url}/me?a=1")
    cookies = {one["name"]: one for one in await context.cookies(console.url)}
    session = cookies["__Host-oborona"]
    assert (session["httpOnly"], session["secure"], session["sameSite"]) == (True, True, "Lax")
    await page.get_by_role("button", name="End").last.click()
    await page.wait_for_load_state()
    ended = [call for call in console.desk.calls if call.name == "me.end_session"]
    assert [call.asked for call in ended] == [{"ident": "s16"}]
    await page.get_by_role("button", name="Русский").click()
    await page.wait_for_load_state()
    assert await page.get_by_role("link", name="Обзор").is_visible()
    await page.get_by_role("button", name="Выйти").click()
    await page.wait_for_url(f"{console.url}/sign-in")
    assert [call.name for call in console.desk.calls].count("login.leave") == 1
    assert "__Host-oborona" not in {one["name"] for one in await context.cookies(console.url)}
    assert walled.faults == []
    await context.close()


async def test_the_walls_see_what_is_wrong(console: RunningConsole, browser: Browser) -> None:
    context = await walled_context(browser, console, Role.ADMIN)
    walled = WalledPage(await context.new_page(), console.url)
    await walled.open("/overview")
    await walled.page.evaluate(
        """() => {
          const picture = document.createElement('img');
          picture.src = 'https://elsewhere.example/x.png';
          document.querySelector('main').append(picture);
          const wide = document.createElement('pre');
          wide.setAttribute('style', 'width: 5000px');
          document.querySelector('main').append(wide);
          console.error('it is wrong');
        }"""
    )
    await walled.page.wait_for_timeout(200)
    assert any(found.startswith("image-alt") for found in await violations(walled.page))
    told = " ".join(walled.faults + await walled.page.evaluate("window.__violations"))
    for wrong in ("it is wrong", "img-src https://elsewhere.example", "style-src-attr"):
        assert wrong in told
    await context.close()


async def test_the_search_line_has_a_key(console: RunningConsole, browser: Browser) -> None:
    context = await walled_context(browser, console, Role.ADMIN)
    walled = WalledPage(await context.new_page(), console.url)
    await walled.open("/me")
    await walled.page.keyboard.press("/")
    await walled.page.keyboard.type("a/b")
    assert await walled.page.input_value("#search") == "a/b"
    await walled.held()
    await context.close()


async def test_html_that_comes_later_runs_no_script(
    console: RunningConsole, browser: Browser
) -> None:
    """htmx may put pieces of pages in; whatever of them is code, the browser refuses."""
    context = await walled_context(browser, console, Role.ADMIN)
    walled = WalledPage(await context.new_page(), console.url)
    await walled.open("/me")
    page = walled.page
    refused = await page.evaluate(
        """async () => {
          const told = [];
          for (const act of [
            () => { const it = document.createElement('script'); it.src = '/static/x.js'; },
            () => { const it = document.createElement('script'); it.text = 'window.ran = 1'; },
          ]) { try { act(); told.push('done'); } catch (error) { told.push(error.name); } }
          return told;
        }"""
    )
    assert refused == ["TypeError", "TypeError"]
    await page.evaluate(
        """() => {
          const main = document.querySelector('main');
          main.innerHTML = '<p id=it>hello</p><img src=x onerror="window.ran = 1">';
        }"""
    )
    assert await page.inner_text("#it") == "hello"
    await page.wait_for_timeout(200)
    assert await page.evaluate("window.ran") is None
    await context.close()


async def test_a_piece_of_a_page_comes_by_htmx(console: RunningConsole, browser: Browser) -> None:
    context = await walled_context(browser, console, Role.ADMIN)
    walled = WalledPage(await context.new_page(), console.url)
    await walled.open("/find")
    await walled.page.evaluate(
        """() => {
          const link = document.createElement('a');
          link.href = '/me'; link.id = 'more'; link.textContent = 'more';
          link.setAttribute('hx-get', '/me'); link.setAttribute('hx-target', '#main');
          link.setAttribute('hx-select', 'table'); link.setAttribute('hx-swap', 'innerHTML');
          document.querySelector('#main').after(link); htmx.process(link);
        }"""
    )
    await walled.page.click("#more")
    await walled.page.wait_for_selector("#main table")
    assert walled.page.url == f"{console.url}/find"
    await walled.held()
    await context.close()


async def test_older_rows_come_below_with_a_script_and_on_a_page_without(
    console: RunningConsole, browser: Browser
) -> None:
    for scripts, seen in ((True, [25, 50, 60]), (False, [25, 25, 10])):
        context = await walled_context(browser, console, Role.ADMIN, java_script_enabled=scripts)
        walled = WalledPage(await context.new_page(), console.url)
        await walled.open("/try/page")
        rows = walled.page.locator("#rows tbody tr")
        counts = [await rows.count()]
        for n in (25, 50):
            await walled.page.get_by_role("link", name="Older").click()
            await walled.page.locator("#rows").get_by_text(f"U+202E{n}<b>", exact=True).wait_for()
            counts.append(await rows.count())
        assert counts == seen
        assert await walled.page.get_by_role("link", name="Older").count() == 0
        await walled.held()
        await context.close()


async def test_a_desk_that_hangs_is_told_as_slow(console: RunningConsole, browser: Browser) -> None:
    console.desk.answers["me.sessions"] = hang
    context = await walled_context(browser, console, Role.ADMIN)
    walled = WalledPage(await context.new_page(), console.url)
    assert await walled.open("/me") == 504
    assert "longer than usual" in await walled.page.inner_text("h1")
    await context.close()
