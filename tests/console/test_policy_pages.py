"""What pages of the policy ask of the desk, and what they give back: forms, tables to be saved,
large and odd texts.
"""

from __future__ import annotations

import io
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
import pytest
from msgspec import structs

from oborona.console.pages.policy.rebase import changed_lines
from oborona.console.pages.policy.value_forms import number_or_formula
from oborona.people.rights import Role
from tests.console.conftest import RunningConsole
from tests.console.page_case import PageCase, all_cases
from tests.console.page_request import FROM_HERE, HttpAnswer, cookies, fetch, form_token
from tests.console.stub_desk import DeskRefusalError

LOOP = pytest.mark.asyncio(loop_scope="session")
CASES = {case.name: case for case in all_cases()}
DRAFT = "/policy/draft/mine"


async def shown(
    console: RunningConsole, http: aiohttp.ClientSession, name: str, **changed: Any
) -> HttpAnswer:
    return await fetch(console, http, structs.replace(CASES[name], **changed))


async def post(
    console: RunningConsole, http: aiohttp.ClientSession, case: PageCase, **fields: str
) -> HttpAnswer:
    """Send a form of any size."""
    console.desk.answers |= case.answers
    token = form_token(console, case.role)
    body = urlencode({"token": token, **(case.form or {}), **fields}).encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    async with http.post(
        f"{console.url}{case.path}",
        data=io.BytesIO(body),
        headers=FROM_HERE | cookies(case.role) | kind,
        allow_redirects=False,
    ) as response:
        return HttpAnswer(response, await response.text())


def asked(console: RunningConsole, call: str) -> list[Any]:
    return [one.asked for one in console.desk.calls if one.name == call]


@LOOP
@pytest.mark.parametrize(
    ("fields", "call", "told"),
    [
        ({"form": "score", "rule": "A", "score": "4,5"}, "policy.draft_set",
         {"sort": "rule", "name": "A", "field": "score", "value": 4.5}),
        ({"form": "switch", "sort": "dns_list", "thing": "bl", "switch": "off"}, "policy.draft_set",
         {"sort": "dns_list", "name": "bl", "field": "enabled", "value": False}),
        ({"form": "switch", "sort": "rule", "thing": "A", "switch": "?"}, "policy.draft_set",
         {"sort": "rule", "name": "A", "field": "mode", "value": "shadow"}),
        ({"form": "entry", "list": "a", "entry": "b.example", "act": "off"}, "policy.draft_entry",
         {"name": "a", "entry": "b.example", "there": False}),
        ({"form": "test", "rule": "A", "message": "X", "hit": "yes"}, "policy.draft_test",
         {"rule": "A", "message": "X", "hit": True}),
    ],
)  # fmt: skip
async def test_a_form_asks_for_one_change(
    console: RunningConsole, http: aiohttp.ClientSession, fields: Any, call: str, told: Any
) -> None:
    case = CASES["policy-change-set"]
    refusal = {call: DeskRefusalError(422, "it can't be")}
    answer = await fetch(
        console, http, structs.replace(case, form=fields, answers={**case.answers, **refusal})
    )
    assert (answer.status, "it can't be" in answer.shown) == (422, True)
    assert asked(console, call) == [{"draft": "mine", **told}]


def test_a_score_is_a_number_or_a_formula() -> None:
    told = [number_or_formula(text) for text in ("4", "-1,5", "links * 2", "inf", "nan", "1e999")]
    assert told == [4.0, -1.5, "links * 2", "inf", "nan", "1e999"]


@LOOP
@pytest.mark.parametrize(
    ("sent", "ends", "written"),
    [
        ("\r\n\r\na\r\n", "", "\n\na\n"),
        ("a\r\nb", "crlf", "a\r\nb"),
        (" \tü\u2028\x00 ", "", " \tü\u2028\x00 "),
        ("#" * 4_100_000, "", "#" * 4_100_000),
    ],
    ids=["lines", "crlf", "odd", "large"],
)
async def test_a_text_is_saved_as_it_was_typed(
    console: RunningConsole, http: aiohttp.ClientSession, sent: str, ends: str, written: str
) -> None:
    answer = await post(console, http, CASES["policy-draft-saved"], text=sent, ends=ends)
    assert answer.status == 303, answer.shown[:500]
    (order,) = asked(console, "policy.draft_write")
    assert order["text"] == written


@LOOP
async def test_a_file_goes_and_a_too_large_text_is_told(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    form = {**(CASES["policy-draft-saved"].form or {}), "step": "remove"}
    assert (await shown(console, http, "policy-draft-saved", form=form)).status == 303
    assert asked(console, "policy.draft_write")[0]["text"] is None
    large = await post(console, http, CASES["policy-draft-saved"], text="ü" * 2_500_000)
    assert large.status == 413


@LOOP
async def test_lines_at_the_beginning_of_a_text_stay(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    answer = await shown(console, http, "policy-draft-checked")
    assert ">\n\n\nnot saved&lt;/textarea&gt;" in answer.text  # a browser drops the first
    assert answer.text.count("<textarea") == answer.text.count("</textarea>") == 1


@LOOP
@pytest.mark.parametrize(
    "name", ["policy-rules", "policy-values", "policy-history", "policy-drafts", "policy-preview"]
)
async def test_tables_are_saved(
    console: RunningConsole, http: aiohttp.ClientSession, name: str
) -> None:
    path = CASES[name].path
    glue = "&" if "?" in path else "?"
    csv = await shown(console, http, name, path=f"{path}{glue}as=csv")
    assert csv.headers["Content-Type"].startswith("text/csv"), csv.shown
    assert len(csv.text.splitlines()) >= 2
    saved = await shown(console, http, name, path=f"{path}{glue}as=json")
    assert saved.headers["Content-Type"] == "application/json"


@LOOP
async def test_names_with_anything_in_them_lead_to_their_page(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    name = 'a/b?c#d"<e>%'
    case = CASES["policy-rules"]
    answers = {"policy.rules": dict(case.answers["policy.rules"])}
    answers["policy.rules"]["rules"] = [
        {**answers["policy.rules"]["rules"][0], "name": name, "hits": 0}
    ]
    answer = await shown(console, http, "policy-rules", answers=answers)
    assert f'href="/policy/rule/{quote(name, safe="")}"' in answer.text
    await shown(console, http, "policy-rule", path=f"/policy/rule/{quote(name, safe='')}")
    assert asked(console, "policy.rule") == [{"name": name}]


@LOOP
async def test_numbers_of_versions_are_numbers(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    for word in ("-1", "x", "1" * 30, "²", ""):
        await shown(console, http, "policy-difference", path=f"/policy/difference?before={word}")
    assert {one["before"] for one in asked(console, "policy.diff")} == {0}


@LOOP
async def test_a_publication_without_a_fresh_password_comes_back_with_its_words(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    case = CASES["policy-publish-unsure"]
    needs = {"policy.publish": DeskRefusalError(403, "password", needs="password")}
    answer = await shown(console, http, "policy-publish-unsure", answers={**case.answers, **needs})
    assert answer.status == 403
    assert "Your password once more" in answer.shown
    assert f'href="{DRAFT}/publish?to=live&amp;reason=less"' in answer.text
    again = PageCase(
        name="again", path=f"{DRAFT}/publish?to=live&reason=less", answers=case.answers
    )
    assert 'name="reason" value="less"' in (await fetch(console, http, again)).text


@LOOP
async def test_who_may_not_draft_gets_no_draft(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    for role, status in ((Role.SUPPORT, 403), (Role.READER, 404)):
        for name in ("policy-draft", "policy-draft-saved", "policy-publish-done"):
            assert (await shown(console, http, name, role=role)).status == status
    assert not [one for one in console.desk.calls if one.name.startswith("policy.")]


def test_differences_of_a_conflict_are_bounded() -> None:
    assert changed_lines("a\nb\n", "a\nc\n")[1:] == [" a", "-b", "+c"]
    assert changed_lines(None, "a\n")[1:] == ["+a"]
    assert changed_lines("a\n", None)[1:] == ["-a"]
    assert len(changed_lines("", "x\n" * 100_000)) == 500


@LOOP
async def test_problems_lead_to_lines_of_the_draft_alone(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    answer = await shown(console, http, "policy-draft-wrong")
    assert 'href="#line-3" data-line="3" data-column="9"' in answer.text
    assert "20-links.toml, line 4: elsewhere" in answer.shown
    assert "file=20-links.toml" not in answer.text  # it ships, and is in no draft
