"""What pages of the state of the system save, and reckon by themselves."""

import aiohttp
import pytest
from msgspec import to_builtins
from playwright.async_api import Browser, expect

from oborona.console.pages.accounts import undo_of_account, until_of
from oborona.console.pages.health import StoreRow, store_row
from oborona.people.rights import Role
from tests.console.cases.accounts import DONE, PAGES, UNBAN, outcome
from tests.console.cases.charts import CHART, KNOWN
from tests.console.cases.health import ALL
from tests.console.cases.incidents import LISTED
from tests.console.cases.overview import CALM
from tests.console.conftest import RunningConsole
from tests.console.page_case import PageCase
from tests.console.page_request import fetch
from tests.console.walls import WalledPage, walled_context

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    ("path", "first", "rows"),
    [
        ("/overview?as=csv", "time,refused-at-door,refused,junk,inbox", 144),
        ("/charts?series=rules&as=csv", "time,queues/events,rules/live/RULE_0", 144),
        ("/accounts?as=csv", "account,state,rating", 2),
        ("/incidents?as=csv", "id,account,limit", 2),
    ],
)
async def test_tables_are_saved(
    console: RunningConsole, http: aiohttp.ClientSession, path: str, first: str, rows: int
) -> None:
    answers = {
        "overview.read": to_builtins(CALM, str_keys=True),
        "charts.series": to_builtins(KNOWN),
        "charts.read": to_builtins(CHART),
        "incident.list": to_builtins(LISTED),
        **PAGES,
    }
    case = PageCase(name="saved", path=path, answers=answers)
    told = await fetch(console, http, case)
    assert told.status == 200
    lines = told.text.splitlines()
    assert lines[0].startswith(first)
    assert len(lines) == rows + 1
    words = await fetch(
        console, http, PageCase(name="j", path=path.replace("csv", "json"), answers=answers)
    )
    assert words.headers["Content-Type"] == "application/json"


async def test_a_ban_ends_when_the_form_says_and_is_taken_back_by_its_undo(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    form = {"deed": "ban", "name": "joe", "until": "1795900000.0", **DONE}
    answers = {"account.ban": outcome(undo=UNBAN)}
    case = PageCase(name="ban", path="/accounts/act", form=form, answers=answers)
    page = await fetch(console, http, case)
    (call,) = [one for one in console.desk.calls if one.name == "account.ban"]
    assert call.asked["until"] == 1_795_900_000.0
    assert call.asked["reason"] == "asked by phone"
    assert 'name="deed" value="unban"' in page.text


@pytest.mark.parametrize(
    ("until", "span", "end"),
    [("", "1h", 3610.0), ("", "", 0.0), ("", "9y", 0.0), ("77.5", "1h", 77.5)]
    + [(word, "1h", 0.0) for word in ("nan", "inf", "-1", "x", "1e99")],
)
async def test_an_end_is_a_time(until: str, span: str, end: float) -> None:
    assert until_of(until, span, 10.0) == end


async def test_what_nothing_takes_back_has_no_undo() -> None:
    assert undo_of_account({"account": "joe"}) is None
    assert undo_of_account({"undo": None}) is None


async def test_a_store_grows_by_what_is_known_of_it() -> None:
    assert store_row("a", []) == StoreRow("a", 0, None)
    assert store_row("a", [None, 5]) == StoreRow("a", 5, None)
    assert store_row("a", [None, 10, None, 30]) == StoreRow("a", 30, 10.0)


@pytest.mark.parametrize(
    ("path", "motion", "asked"),
    [
        ("/overview", "no-preference", 2),
        ("/overview", "reduce", 1),
        ("/overview?live=off", "no-preference", 1),
    ],
)
async def test_the_overview_is_brought_up_to_date_unless_somebody_does_not_want_it(
    console: RunningConsole, browser: Browser, path: str, motion: str, asked: int
) -> None:
    console.desk.answers["overview.read"] = to_builtins(CALM, str_keys=True)
    context = await walled_context(browser, console, Role.ADMIN, reduced_motion=motion)
    walled = WalledPage(await context.new_page(), console.url)
    await walled.page.clock.install()
    await walled.open(path)
    await walled.page.clock.run_for(31_000)
    await walled.page.wait_for_load_state("networkidle")
    told = [call for call in console.desk.calls if call.name == "overview.read"]
    assert len(told) == asked
    assert await walled.page.locator("#overview").count() == 1
    await walled.held()
    await context.close()


async def test_each_check_comes_by_itself(console: RunningConsole, browser: Browser) -> None:
    console.desk.answers |= ALL
    context = await walled_context(browser, console, Role.ADMIN)
    walled = WalledPage(await context.new_page(), console.url)
    await walled.open("/health")
    await expect(walled.page.locator(".checks .found")).to_have_count(3)
    told = [call.asked for call in console.desk.calls if call.name == "doctor.report"]
    assert sorted(one["checks"][0] for one in told) == ["dns", "policy", "postfix"]
    await walled.held()
    await context.close()
