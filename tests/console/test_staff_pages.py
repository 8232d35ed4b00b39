"""What pages of people, keys and the audit log ask of the desk, and what they give to be saved."""

from __future__ import annotations

import aiohttp
import pytest

from oborona.desk.asks.people import KeyList, PeopleList
from oborona.people.rights import Role
from tests.console.cases.audit import ACT, found
from tests.console.cases.people import KEY, NEW, SUE, told
from tests.console.conftest import RunningConsole
from tests.console.page_case import PageCase
from tests.console.page_request import fetch

pytestmark = pytest.mark.asyncio(loop_scope="session")
Http = aiohttp.ClientSession


def asked(console: RunningConsole, name: str) -> dict[str, object]:
    return dict([call.asked for call in console.desk.calls if call.name == name][-1])


async def test_a_new_person_is_as_the_form_says(console: RunningConsole, http: Http) -> None:
    form = {
        "name": " sue ", "role-support": "1", "role-duty": "1", "role-nothing": "1",
        "domains": "a.example, b.example c.example", "addresses": "", "language": "ru",
    }  # fmt: skip
    case = PageCase(name="", path="/people/add", form=form)
    await fetch(console, http, case)
    order = asked(console, "people.add")
    assert order | {"key": ""} == {
        "name": "sue", "language": "ru", "roles": ["support", "duty"],
        "domains": ["a.example", "b.example", "c.example"], "addresses": [],
        "reason": "", "dry": True, "key": "",
    }  # fmt: skip


async def test_a_key_is_made_for_who_is_signed_in(console: RunningConsole, http: Http) -> None:
    form = {"name": "x", "person": "carl", "right-track": "1", "days": "\u0663", "domains": ""}
    await fetch(console, http, PageCase(name="", path="/keys/add", form=form))
    order = asked(console, "keys.add")
    assert (order["person"], order["rights"], order["days"]) == ("admin", ["track"], 90.0)


@pytest.mark.parametrize("path", ["/people/off", "/people/add", "/keys/add", "/keys/remove"])
@pytest.mark.parametrize("role", [Role.AUDITOR, Role.DUTY, Role.READER])
async def test_acts_on_people_are_of_who_may(
    console: RunningConsole, http: Http, path: str, role: Role
) -> None:
    case = PageCase(name="", path=path, role=role, form={"name": "x", "step": "do"})
    assert (await fetch(console, http, case)).status in {403, 404}
    assert {call.name for call in console.desk.calls} == {"me.show"}


@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize("name", ["audit", "people", "keys"])
async def test_tables_are_saved(console: RunningConsole, http: Http, name: str, kind: str) -> None:
    answers = {
        **found(ACT),
        **told(people_list=PeopleList(people=[SUE, NEW]), keys_list=KeyList(keys=[KEY])),
    }
    answer = await fetch(
        console, http, PageCase(name="", path=f"/{name}?as={kind}", answers=answers)
    )
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}.{kind}"'
    assert {"audit": "left the company", "people": "sue", "keys": "grafana"}[name] in answer.text


@pytest.mark.parametrize("number", ["8", "-1", "", "x", "9" * 40, "\u0667"])
async def test_only_what_the_log_names_is_taken_back(
    console: RunningConsole, http: Http, number: str
) -> None:
    case = PageCase(
        name="", path="/audit/undo", answers=found(ACT),
        form={"number": number, "step": "do", "reason": "x", "call": "people.forget"},
    )  # fmt: skip
    assert (await fetch(console, http, case)).status == 404
    assert {call.name for call in console.desk.calls} <= {"me.show", "audit.find"}


async def test_what_is_taken_back_is_what_the_log_says(console: RunningConsole, http: Http) -> None:
    form = {"number": "7", "step": "do", "reason": "she is back", "key": "k1", "name": "anna"}
    answers = found(ACT) | {"people.on": {"person": {"name": "bob"}}}
    case = PageCase(name="", path="/audit/undo", answers=answers, form=form)
    assert "Done" in (await fetch(console, http, case)).shown
    assert asked(console, "people.on") == {
        "name": "bob", "reason": "she is back", "dry": False, "key": "k1",
    }  # fmt: skip


@pytest.mark.parametrize("before", ["x", "-1", "\u0667", "9" * 30])
async def test_a_page_begins_at_a_number(console: RunningConsole, http: Http, before: str) -> None:
    case = PageCase(name="", path=f"/audit?before={before}", answers=found(ACT))
    assert (await fetch(console, http, case)).status == 200
    assert asked(console, "audit.find")["before"] is None
