"""What was typed outlives the password asked for once more; who has or needs a second step."""

from __future__ import annotations

from urllib.parse import urlencode

import aiohttp
import pytest

from oborona.console.confirmation import MAX_KEPT, keep_fields, kept_fields
from oborona.people.rights import Role
from tests.console.conftest import RunningConsole
from tests.console.page_case import PageCase
from tests.console.page_request import fetch
from tests.console.stub_desk import PASSWORD, DeskRefusalError, person, started

Http = aiohttp.ClientSession


@pytest.mark.asyncio(loop_scope="session")
async def test_an_act_comes_back_with_what_was_typed_and_is_not_done_yet(
    console: RunningConsole, http: Http
) -> None:
    refused = DeskRefusalError(403, "once more", needs="password")
    form = {"id": "17", "word": "a&b=\u202e<i>", "step": "do", "reason": "by phone", "key": "k1"}
    case = PageCase(name="", path="/try/act", form=form, answers={"recheck.undo": refused})
    asked = await fetch(console, http, case)
    kept = asked.text.partition('name="kept" value="')[2].partition('"')[0].replace("&amp;", "&")
    assert kept_fields(kept) == {
        name: [value] for name, value in form.items() if name not in {"step", "token"}
    }
    form = {"back": "/try/act", "kept": kept, "password": PASSWORD}
    answers = {"recheck.undo": {"id": "17"}}
    shown = await fetch(
        console, http, PageCase(name="", path="/me/confirm", form=form, answers=answers)
    )
    assert 'action="/try/act"' in shown.text
    assert 'value="by phone"' in shown.text
    assert 'name="key" value="k1"' in shown.text
    assert 'name="word" value="a&amp;b=\u202e&lt;i&gt;"' in shown.text
    last = [call.asked for call in console.desk.calls if call.name == "recheck.undo"][-1]
    assert last["dry"] is True


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("back", ["/nowhere", "/me/confirm", "/overview"])
async def test_a_form_is_sent_on_to_pages_that_take_one(
    console: RunningConsole, http: Http, back: str
) -> None:
    form = {"back": back, "kept": "a=1", "password": PASSWORD}
    answer = await fetch(console, http, PageCase(name="", path="/me/confirm", form=form))
    assert answer.status == 404


@pytest.mark.asyncio(loop_scope="session")
async def test_a_form_is_sent_on_to_who_may(console: RunningConsole, http: Http) -> None:
    form = {"back": "/try/act", "kept": "id=1", "password": PASSWORD}
    case = PageCase(name="", path="/me/confirm", form=form, role=Role.READER)
    assert (await fetch(console, http, case)).status == 404
    assert "recheck.undo" not in {call.name for call in console.desk.calls}


@pytest.mark.asyncio(loop_scope="session")
async def test_passwords_are_not_carried_over(console: RunningConsole, http: Http) -> None:
    refused = {"me.password": DeskRefusalError(403, "once more", needs="password")}
    form = {"password": "a long password", "again": "a long password"}
    case = PageCase(name="", path="/me/password", form=form, answers=refused)
    answer = await fetch(console, http, case)
    assert (answer.status, answer.headers["Location"]) == (303, "/me/confirm?back=/me/password")
    assert keep_fields({"password": ["x"], "new": ["y"], "code": ["1"], "token": ["t"]}) == ""


def test_what_is_kept_of_a_form_has_a_bound() -> None:
    assert keep_fields({"a": ["x" * MAX_KEPT]}) == ""
    assert kept_fields("a=1&" * 5_000) == {}
    assert kept_fields(urlencode({"a": "\ud800"}, errors="surrogatepass")) == {"a": ["\ud800"]}
    assert kept_fields("%ff=%zz&step=do&token=x") == {}
    assert kept_fields("a=%zz&step=do&token=x") == {"a": ["%zz"]}


@pytest.mark.asyncio(loop_scope="session")
async def test_a_link_of_who_has_a_second_step_leads_to_sign_in(
    console: RunningConsole, http: Http
) -> None:
    answers = {"login.link": started("", "device-3")}
    form = {"password": "a long password", "again": "a long password"}
    case = PageCase(name="", path="/link/k3y", role=None, form=form, answers=answers)
    answer = await fetch(console, http, case)
    assert (answer.status, answer.headers["Location"]) == (303, "/sign-in")
    assert answer.cookies["__Host-oborona-device"].value == "device-3"
    assert "__Host-oborona" not in answer.cookies


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("path", ["/", "/me", "/overview", "/find?q=x", "/try/page"])
async def test_who_must_enrol_is_led_there_and_nowhere_else(
    console: RunningConsole, http: Http, path: str
) -> None:
    answers = {"me.show": person(Role.ADMIN, rights=[], must_enrol=True)}
    answer = await fetch(console, http, PageCase(name="", path=path, answers=answers))
    assert (answer.status, answer.headers["Location"]) == (303, "/me/step")


@pytest.mark.asyncio(loop_scope="session")
async def test_the_desk_learns_the_language_of_a_person(
    console: RunningConsole, http: Http
) -> None:
    case = PageCase(name="", path="/language", form={"language": "ru", "back": "/me"})
    assert (await fetch(console, http, case)).status == 303
    (told,) = [call.asked for call in console.desk.calls if call.name == "me.language"]
    assert told == {"language": "ru"}


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("kind", ["csv", "json"])
async def test_tries_are_saved(console: RunningConsole, http: Http, kind: str) -> None:
    answer = await fetch(console, http, PageCase(name="", path=f"/me/tries?as={kind}"))
    assert answer.headers["Content-Disposition"] == f'attachment; filename="tries.{kind}"'
    assert "2001:db8::66" in answer.text
