"""Every page without a browser: what it says, where it leads, and that looking changes nothing."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec import structs

from oborona.audit.declarations import ACTS
from oborona.console.page_list import load_pages
from oborona.console.route_table import RouteTable
from oborona.console.security_headers import SECURITY_HEADERS
from tests.console.conftest import RunningConsole
from tests.console.page_case import PageCase, all_cases
from tests.console.page_request import PageParts, fetch

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAGES = load_pages()
ROUTES = RouteTable(PAGES)
CASES = all_cases()
SHOWN = [case for case in CASES if case.status != 303]
HTML_VALIDATE = Path(__file__).parent / "node_modules/html-validate/bin/html-validate.mjs"


def by_name(case: PageCase) -> str:
    return case.name


async def test_every_page_has_a_case() -> None:
    shown = {id(ROUTES.find(case.path.partition("?")[0])[0].get("GET")) for case in CASES}
    assert [one.path for one in PAGES if one.method == "GET" and id(one) not in shown] == []


@pytest.mark.parametrize("case", CASES, ids=by_name)
async def test_a_page_says_what_it_should(
    console: RunningConsole, http: aiohttp.ClientSession, case: PageCase
) -> None:
    answer = await fetch(console, http, case)
    assert answer.status == case.status, answer.shown
    for text in case.texts:
        assert text in answer.shown
    assert SECURITY_HEADERS.items() <= dict(answer.headers).items()
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("case", SHOWN, ids=by_name)
async def test_a_page_holds_no_code_and_leads_where_there_is_something(
    console: RunningConsole, http: aiohttp.ClientSession, case: PageCase
) -> None:
    page = PageParts((await fetch(console, http, case)).text)
    assert page.inline == []
    for link in page.links:
        path = link.partition("?")[0].partition("#")[0]
        assert not path or path.startswith("/static/") or ROUTES.knows(path), link
    for form in page.forms:
        method = form.get("method", "get").upper()
        assert ROUTES.knows(form["action"], method), form
        assert (method == "POST") == bool(form.get("token")), f"{form}: a token, and by POST alone"


LOOKED_UP = {"login.ways", "login.provider_begin", "login.provider", "login.proxy"}
"""Calls of pages that are opened: two keep nothing, and the others begin a session of whom somebody
else sends: a provider does so by an address alone.
"""


@pytest.mark.parametrize("case", [case for case in CASES if case.form is None], ids=by_name)
async def test_looking_changes_nothing(
    console: RunningConsole, http: aiohttp.ClientSession, case: PageCase
) -> None:
    await fetch(console, http, case)
    for call in console.desk.calls:
        assert call.name not in ACTS, f"GET {case.path} acts"
        assert not call.name.startswith("login.") or call.name in LOOKED_UP
        assert call.name != "me.end_session"


HOSTILE = "\u202e\u0000</td><script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{7*7}}&lt;"
NAMED = re.compile(r"[a-z_-]{0,20}\Z")
"""What a desk's answer calls something by: a kind, a state."""


def hostile(value: Any) -> Any:
    """Return an answer of the desk in which a stranger wrote every text that is no name."""
    if isinstance(value, str):
        return value if NAMED.match(value) else value + HOSTILE
    if isinstance(value, dict):
        return {name: hostile(one) for name, one in value.items()}
    if isinstance(value, list):
        return [hostile(one) for one in value]
    return value


@pytest.mark.parametrize(
    "case", [case for case in SHOWN if case.status == 200 and case.role is not None], ids=by_name
)
async def test_text_of_strangers_adds_no_element(
    console: RunningConsole, http: aiohttp.ClientSession, case: PageCase
) -> None:
    """The page is the same but for marks of what does not print."""
    harmless = PageParts((await fetch(console, http, case)).text)
    console.desk.reset()
    told = {**console.desk.answers, **case.answers}
    answers = {
        name: answer if callable(answer) or isinstance(answer, Exception) else hostile(answer)
        for name, answer in told.items()
    }
    for one in console.desk.people.values():
        one["name"] = f"{one['name']}{HOSTILE}"
    page = await fetch(console, http, structs.replace(case, answers=answers))
    assert page.status == 200
    assert "<script>alert" not in page.text
    found = PageParts(page.text)
    assert found.inline == []
    # fewer there may be: what a page knows by its name, such as a light, has a link
    added = {name: n for name, n in found.elements.items() if n > harmless.elements.get(name, 0)}
    assert set(added) <= {"span"}, added


@pytest.mark.parametrize("code", ["en", "ru", "xx"])
async def test_pages_are_valid_html(
    console: RunningConsole, http: aiohttp.ClientSession, code: str, tmp_path: Path
) -> None:
    for case in SHOWN:
        console.desk.reset()
        answer = await fetch(console, http, case, **{"Accept-Language": code})
        assert f'<html lang="{code}">' in answer.text
        (tmp_path / f"{case.name}.html").write_text(answer.text)
    (tmp_path / ".htmlvalidate.json").write_text(json.dumps(HTML_RULES))
    checked = subprocess.run(
        ["node", HTML_VALIDATE, "--formatter", "text", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert checked.returncode == 0, checked.stdout[-4000:] + checked.stderr[-1000:]


HTML_RULES = {
    "root": True,
    "extends": ["html-validate:recommended"],
    "rules": {
        "no-trailing-whitespace": "off",
        "doctype-style": "off",
        "void-style": "off",
        "attribute-boolean-style": "off",
        "long-title": "off",
        "no-inline-style": "error",
        "wcag/h30": "error",
        "wcag/h32": "error",
        "wcag/h37": "error",
        "wcag/h67": "error",
        "wcag/h71": "error",
    },
}
