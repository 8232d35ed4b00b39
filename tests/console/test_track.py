"""Finding mail on pages: links that narrow, tables that are saved, sizes, and the way from a search
to an act and back.
"""

from __future__ import annotations

import csv
import io
import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

import aiohttp
import msgspec
import pytest
from playwright.async_api import Browser

from oborona.console.track_query import TrackLinks, entities, narrowed, pieces, replaced, word
from oborona.console.visit import Visit
from oborona.ident import first_id_at, to_text
from oborona.journal.query import parse_query
from oborona.people.rights import Role
from tests.console.cases.message import ID, LOOKED, REFERENCE, REFUSED, TAUGHT, WHOLE
from tests.console.conftest import RunningConsole
from tests.console.page_case import PageCase
from tests.console.page_request import PageParts, fetch
from tests.console.stub_desk import NOW, token_of
from tests.console.track_answers import found_mail, found_message, refused_message
from tests.console.walls import WalledPage, walled_context

pytestmark = pytest.mark.asyncio(loop_scope="session")

FIRST_VIEW = 40_000  # bytes
REQUESTS = 4
HUGE = "<b>" + 66_000 * "\u202ex<"


@pytest.mark.parametrize(
    "value",
    ["joe@shop.example", "a b", 'a"b', "-a", "\ud800x", "x\0y", "<i>", "203.0.113.9", "a:b", "й"],
)
@pytest.mark.parametrize("field", ["from", "to", "subject", "rule", "decided", ""])
async def test_a_value_of_a_stranger_is_one_condition(field: str, value: str) -> None:
    query = parse_query(word(field, value), NOW)
    assert len(query.terms) == 1
    assert query.terms[0].field == field
    assert not query.terms[0].negated
    assert pieces(word(field, value)) == [word(field, value)]


async def test_searches_are_narrowed_and_their_conditions_replaced() -> None:
    query = 'from:a@b.example "two words" -since:1h since:2d until:2026-11-22 score>80'
    assert " ".join(pieces(query)) == query
    assert narrowed(query, "score>80") == query
    assert narrowed(query, "to:joe") == f"{query} to:joe"
    assert replaced(query, ("since", "until"), "since:7d") == (
        'from:a@b.example "two words" score>80 since:7d'
    )
    assert replaced("-verdict:spam x", ("verdict",)) == "x"


async def test_what_a_search_asks_for_leads_to_its_page() -> None:
    found = dict(
        entities('from:A@b.example ip:192.0.2.7 ip:x/y -to:no@b.example shop.example "x y"')
    )
    assert found == {
        "A@b.example": "/entity/a%40b.example",
        "192.0.2.7": "/entity/192.0.2.7",
        "shop.example": "/entity/shop.example",
    }
    assert TrackLinks(lambda _: False).entity("x") == ""
    assert TrackLinks(lambda path: path == "/entity/a%2Fb%3F").entity("a/b?") == "/entity/a%2Fb%3F"


async def test_a_saved_table_holds_no_formula_and_goes_on_to_its_end(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    def find(asked: Mapping[str, Any]) -> Any:
        older = "" if asked["older"] else ID
        hits = [found_message(subject=f"{sign}cmd|calc") for sign in "=+-@"]
        return found_mail(*hits, older=older)["messages.find"]

    case = PageCase(name="csv", path="/track?q=a&as=csv", answers={"messages.find": find})
    answer = await fetch(console, http, case)
    assert answer.headers["Content-Disposition"] == 'attachment; filename="track.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["subject"] for row in rows] == 2 * [f"'{sign}cmd|calc" for sign in "=+-@"]
    assert rows[0]["time"] == "2026-11-28T10:35:00Z"
    assert [call.asked["older"] for call in console.desk.calls if call.name == "messages.find"] == [
        "",
        ID,
    ]
    case = PageCase(name="json", path="/track?q=a&as=json", answers={"messages.find": find})
    told = json.loads((await fetch(console, http, case)).text)
    assert len(told["messages"]) == 8
    case = PageCase(name="rules", path=f"/message/{ID}?as=csv", answers=WHOLE)
    assert (await fetch(console, http, case)).text.startswith("rule,mode,then,now,words\r\nMASS_")
    case = PageCase(name="refusal", path=f"/message/{REFERENCE}?as=csv", answers=REFUSED)
    assert (await fetch(console, http, case)).text.startswith("rule,mode,score,words\r\nZEN,live")
    case = PageCase(name="all", path=f"/message/{ID}?as=json", answers=WHOLE)
    assert {"explanation", "story"} == json.loads((await fetch(console, http, case)).text).keys()


async def test_chips_and_links_keep_what_was_asked(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    case = PageCase(
        name="chips",
        path="/track?q=from%3Aa+since%3A7d&moved=yes",
        answers=found_mail(found_message(), refused_message()),
    )
    page = PageParts((await fetch(console, http, case)).text)
    assert console.desk.calls[-1].asked["moved"] is True
    for url in (
        "/track?q=from%3Aa+since%3A1h&moved=yes",
        "/track?q=from%3Aa+since%3A7d+verdict%3Ajunk&moved=yes",
        "/track?q=from%3Aa+since%3A7d+-verdict%3Aaccept+-verdict%3Aspam&moved=yes",
        "/track?q=from%3Aa+since%3A7d",
        "/track?q=from%3Aa+since%3A7d+client%3A203.0.113.9&moved=yes",
        "/track?q=from%3Aa+since%3A7d+rule%3AMASS_TEXT&moved=yes",
        f"/message/{ID}",
    ):
        assert url in page.links, page.links


async def test_huge_texts_are_cut_and_add_no_element(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    sizes = []
    for text in ("x", HUGE):
        row = found_message(
            subject=text,
            sender=text,
            client=text,
            login=text,
            decided_by=text,
            recipients=tuple(text for _ in range(50)),
        )
        case = PageCase(name="huge", path="/track", answers=found_mail(row))
        answer = await fetch(console, http, case)
        assert answer.status == 200
        sizes.append({**PageParts(answer.text).elements, "span": 0})
        assert len(answer.text) < 100_000
    assert sizes[0] == sizes[1]


def many_rows() -> dict[str, Any]:
    """Return fifty rows of which no two are alike."""
    rows = []
    for number in range(50):
        words = " ".join(secrets.token_hex(3) for _ in range(9))
        changes: dict[str, Any] = {
            "id": to_text(first_id_at(time.time() - number)),
            "sender": f"{secrets.token_hex(5)}@{secrets.token_hex(4)}.example",
            "recipients": tuple(f"{secrets.token_hex(4)}@shop.example" for _ in range(3)),
            "client": f"203.0.{number}.{secrets.randbelow(256)}",
        }
        made = refused_message if number % 2 else found_message
        rows.append(made(**changes, subject="" if number % 2 else words))
    return found_mail(*rows, older=ID)


async def test_a_first_view_of_fifty_rows_is_small(
    console: RunningConsole, browser: Browser
) -> None:
    console.desk.answers |= many_rows()
    context = await walled_context(browser, console, Role.ADMIN)
    walled = WalledPage(await context.new_page(), console.url)
    assert await walled.open("/track?q=since%3A7d") == 200
    sizes = [await request.sizes() for request in walled.requests]
    total = sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes)
    assert len(walled.requests) <= REQUESTS, [request.url for request in walled.requests]
    assert total <= FIRST_VIEW, total
    await walled.held()
    await context.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
async def test_support_finds_mail_sees_why_teaches_it_and_takes_that_back(
    console: RunningConsole, browser: Browser, scripts: bool
) -> None:
    console.desk.answers |= {
        **WHOLE,
        "messages.find": lambda asked: found_mail(
            found_message(subject=f"older than {asked['older'] or 'none'}"),
            older="" if asked["older"] else ID,
        )["messages.find"],
        "teach": msgspec.to_builtins(TAUGHT),
        "model.unlearn": {"taken_back": [3]},
        "recheck.look": msgspec.to_builtins(LOOKED),
    }
    context = await walled_context(browser, console, Role.ANALYST, java_script_enabled=scripts)
    walled = WalledPage(await context.new_page(), console.url)
    page = walled.page
    await walled.open("/track")
    await page.locator("#query").fill("from:bank.example")
    await page.locator("#main").get_by_role("button", name="Find").click()
    await page.wait_for_url("**/track?q=from%3Abank.example")
    await page.get_by_role("link", name="Older").click()
    await page.locator("#found").get_by_text(f"older than {ID}").wait_for()
    assert await page.locator("#found tbody tr").count() == (2 if scripts else 1)
    await page.locator("#found tbody tr").last.locator("th a").click()
    await page.wait_for_url(f"**/message/{ID}")
    await page.locator("#facts").fill("copies")
    await page.get_by_role("button", name="Show").click()
    await page.wait_for_url("**?facts=copies")
    assert await page.get_by_text("text.copies", exact=True).is_visible()
    assert await page.get_by_text("links.domains", exact=True).count() == 0
    await page.get_by_role("button", name="It is not spam").click()
    await page.get_by_label("Reason").fill("the sender called")
    await page.get_by_role("button", name="Do it").click()
    await page.get_by_role("button", name="Undo").click()
    await page.get_by_label("Reason").fill("a mistake")
    await page.get_by_role("button", name="Do it").click()
    await page.get_by_text("It concerns the numbers: 3").wait_for()
    acts = [(call.name, call.asked) for call in console.desk.calls if not call.asked.get("dry")]
    taught = next(asked for name, asked in acts if name == "teach")
    assert (taught["kind"], taught["messages"]) == ("ham", [ID])
    assert next(asked for name, asked in acts if name == "model.unlearn")["words"] == [3]
    await page.get_by_role("link", name="Back").click()
    await page.wait_for_url(f"**/message/{ID}")
    await walled.held()
    await context.close()


@pytest.mark.parametrize(
    ("scope", "teaches"),
    [
        (None, True),
        ({"domains": None, "addresses": []}, True),
        ({"domains": ["shop.example"], "addresses": []}, False),
        ({"domains": [], "addresses": ["joe@shop.example"]}, False),
    ],
)
async def test_who_sees_some_recipients_alone_is_offered_what_they_may(
    console: RunningConsole, http: aiohttp.ClientSession, scope: object, teaches: bool
) -> None:
    console.desk.people[token_of(Role.ADMIN)]["scope"] = scope
    case = PageCase(name="scope", path=f"/message/{ID}", answers=WHOLE)
    shown = (await fetch(console, http, case)).shown
    assert ("It is not spam" in shown) == teaches
    assert ("Take back" in shown) == teaches
    assert "Look again" in shown
    assert "Move it back" in shown


async def test_names_lead_to_their_pages_where_there_are_such(
    console: RunningConsole, http: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = PageCase(name="names", path=f"/message/{ID}", answers=WHOLE)
    links = PageParts((await fetch(console, http, case)).text).links
    assert "/track?q=from%3Aa%40bank.example" in links
    there = Visit.leads
    monkeypatch.setattr(
        Visit,
        "leads",
        lambda self, path, method="GET": path.startswith("/entity/") or there(self, path, method),
    )
    links = PageParts((await fetch(console, http, case)).text).links
    assert {"/entity/a%40bank.example", "/entity/203.0.113.9"} <= set(links)
    assert "/track?q=from%3Aa%40bank.example" in links
    case = PageCase(name="about", path="/track?q=ip%3A192.0.2.7", answers=found_mail())
    assert "/entity/192.0.2.7" in PageParts((await fetch(console, http, case)).text).links
