"""What pages of signatures and of cases ask of the desk, what they refuse, and what they give to be
saved.
"""

from __future__ import annotations

import io
import re
import time
from typing import Any

import aiohttp
import msgspec
import pytest

from oborona.desk.acts.campaigns import CampaignVerdict
from oborona.desk.acts.signature_files import SignatureImportOrder
from oborona.desk.acts.signatures import SignatureOrder
from oborona.people.rights import Role
from oborona.policy.signatures import SignatureScope
from oborona.types import RuleMode
from tests.console.cases.campaigns import DECIDE, FURTHER, OFFERS, OPEN, OUTCOME, details
from tests.console.cases.signatures import (
    ADDED,
    CHANGED,
    DO,
    FORM,
    IMPORTED,
    PARDONED,
    ROW,
    STALE,
    WAITING,
    page,
)
from tests.console.conftest import RunningConsole
from tests.console.page_case import PageCase
from tests.console.page_request import FROM_HERE, HttpAnswer, cookies, fetch, form_token
from tests.console.stub_desk import DeskRefusalError, token_of

pytestmark = pytest.mark.asyncio(loop_scope="session")
Http = aiohttp.ClientSession


def asked(console: RunningConsole, name: str, kind: Any) -> Any:
    """Return what the desk was told last, as the desk reads it."""
    told = [call.asked for call in console.desk.calls if call.name == name][-1]
    return msgspec.convert(told, kind)


async def test_a_signature_is_asked_for_as_the_form_says(
    console: RunningConsole, http: Http
) -> None:
    answers = {"signatures.add": msgspec.to_builtins(ADDED)}
    case = PageCase(name="", path="/signatures/add", form={**FORM, **DO}, answers=answers)
    await fetch(console, http, case)
    order = asked(console, "signatures.add", SignatureOrder)
    assert 29 < (order.expires - time.time()) / 86_400 < 30
    assert msgspec.structs.replace(order, expires=0.0) == SignatureOrder(
        value="golden parrot", where=SignatureScope.SUBJECT, score=45.5, mode=RuleMode.SHADOW,
        look=True,
        reason="a campaign", key="k1",
    )  # fmt: skip


async def upload(console: RunningConsole, http: Http, octets: bytes, **more: str) -> HttpAnswer:
    """Choose a file in the form that imports."""
    form = aiohttp.FormData({"token": form_token(console, Role.ANALYST), **more})
    form.add_field("file", io.BytesIO(octets), filename="pills.txt", content_type="text/plain")
    console.desk.answers |= {"signatures.import": msgspec.to_builtins(IMPORTED)}
    headers = {**FROM_HERE, **cookies(Role.ANALYST)}
    async with http.post(
        f"{console.url}/signatures/import", data=form, headers=headers, allow_redirects=False
    ) as response:
        return HttpAnswer(response, await response.text())


async def test_a_file_comes_again_with_the_preview(console: RunningConsole, http: Http) -> None:
    lines = 'blue "parrot" <b>\r\n# x\r\n\u043f\u043e\u043f\u0443\u0433\u0430\u0439\n'
    shown = await upload(console, http, lines.encode(), kind="domain", owner="anna")
    order = asked(console, "signatures.import", SignatureImportOrder)
    assert order.content.decode() == lines.replace("\r", "")
    assert (order.dry, order.skip_broken, order.kind, order.owner) == (
        True, True, "domain", "anna"
    )  # fmt: skip
    assert 'name="text"' in shown.text
    case = PageCase(
        name="", path="/signatures/import", form={"text": lines, **DO}, answers=console.desk.answers
    )
    await fetch(console, http, case)
    order = asked(console, "signatures.import", SignatureImportOrder)
    assert (order.content.decode(), order.dry, order.skip_broken) == (
        lines.replace("\r", ""), False, False
    )  # fmt: skip


@pytest.mark.parametrize(
    ("octets", "told"),
    [
        (b"good line\n\xff\xfe bad", "Line 2 is no text in UTF-8."),
        (b"x" * ((1 << 20) + 1), "The file has more than 1 MiB"),
        (b" \n ", "Choose a file, or paste lines."),
    ],
)
async def test_a_file_that_is_none_is_told(
    console: RunningConsole, http: Http, octets: bytes, told: str
) -> None:
    answer = await upload(console, http, octets)
    assert (answer.status, told in answer.shown) == (422, True)
    assert "signatures.import" not in {call.name for call in console.desk.calls}


@pytest.mark.parametrize(
    ("path", "form", "told"),
    [
        ("/signatures/add", {**FORM, "score": "many"}, "Points are a number."),
        ("/signatures/add", {**FORM, "days": "-1"}, "Days are a number"),
        ("/signatures/import", {"text": " "}, "Choose a file"),
        ("/signatures/accept", {"mode": "live"}, "Tick at least one."),
        ("/signatures/decline", {"names": " "}, "Tick at least one."),
        ("/signatures/undo", {"call": "people.add", "asked": '{"name":"eve"}'}, "can't be undone"),
        ("/signatures/undo", {"call": "signatures.mode", "asked": "["}, "can't be undone"),
        ("/case/1/decide", {**FURTHER, "pin_days": "x" * 99}, "Days are a number"),
    ],
)
async def test_what_a_form_can_not_mean_is_told(
    console: RunningConsole, http: Http, path: str, form: dict[str, str], told: str
) -> None:
    answer = await fetch(console, http, PageCase(name="", path=path, form=form))
    assert (answer.status, told in answer.shown) == (422, True), answer.shown
    assert {call.name for call in console.desk.calls} <= {"me.show"}


@pytest.mark.parametrize(
    ("path", "form", "answers", "texts"),
    [
        ("/signatures/remove", {"names": "s42"}, {"signatures.remove": CHANGED}, ("Do it",)),
        ("/signatures/decline", {"names": "s42"}, {"signatures.decline": CHANGED}, ("Do it",)),
        ("/signatures", None, {"signatures.find": page()["signatures.find"]}, ("None yet",)),
        ("/signatures/pardoned", None, {"signatures.pardoned": 503}, ("Not available now",)),
        ("/signatures/proposals", None, {"signatures.proposals": 503}, ("Not available now",)),
        ("/signatures?as=lines", None, {"signatures.content": {"content": "{}\n"}}, ("{}",)),
        ("/signatures?as=csv", None, page(ROW, STALE), ("'=x", "golden")),
        ("/signatures?as=json", None, page(ROW), ('"fortnight": 1204',)),
        ("/signatures/pardoned?as=csv", None, {"signatures.pardoned": PARDONED}, ("s42,4",)),
        ("/signatures/proposals?as=csv", None, {"signatures.proposals": WAITING}, ("12,15",)),
    ],
)
async def test_other_states_and_files(
    console: RunningConsole,
    http: Http,
    path: str,
    form: dict[str, str] | None,
    answers: dict[str, Any],
    texts: tuple[str, ...],
) -> None:
    told: dict[str, Any] = {
        name: DeskRefusalError(503, "a store") if answer == 503 else msgspec.to_builtins(answer)
        for name, answer in answers.items()
    }
    if "csv" in path and "signatures.find" in told:
        told["signatures.find"]["signatures"][1]["signature"]["value"] = "=x"
    answer = await fetch(console, http, PageCase(name="", path=path, form=form, answers=told))
    assert answer.status == 200
    for text in texts:
        assert text in answer.text


@pytest.mark.parametrize("role", [Role.READER, Role.SUPPORT, Role.AUDITOR])
@pytest.mark.parametrize("act", ["add", "import", "accept", "decline", "remove", "mode", "undo"])
async def test_signatures_are_changed_by_who_may(
    console: RunningConsole, http: Http, act: str, role: Role
) -> None:
    case = PageCase(name="", path=f"/signatures/{act}", role=role, form={**FORM, **DO})
    assert (await fetch(console, http, case)).status in {403, 404}
    assert {call.name for call in console.desk.calls} == {"me.show"}


@pytest.mark.parametrize("skip", ["x", "-1", "", "\u0667", "9" * 40])
async def test_a_page_of_signatures_begins_at_a_number(
    console: RunningConsole, http: Http, skip: str
) -> None:
    path = f"/signatures?skip={skip}&view=%3Cb%3E"
    await fetch(console, http, PageCase(name="", path=path, answers=page(ROW)))
    told = [call.asked for call in console.desk.calls if call.name == "signatures.find"][-1]
    assert (told["skip"], told["view"]) == (0, "in-force")


async def test_ticked_effects_reach_the_desk(console: RunningConsole, http: Http) -> None:
    answers = {"campaigns.decide": OUTCOME}
    for form in (FURTHER, DECIDE):
        await fetch(
            console, http, PageCase(name="", path="/case/7/decide", form=form, answers=answers)
        )
        order = asked(console, "campaigns.decide", CampaignVerdict)
        further = order.further
        if form is DECIDE:
            assert further.kinds == frozenset()
            continue
        assert [(one.kind, one.where, one.value) for one in further.signatures] == [
            ("domain", "any", "parcel-x.example")
        ]
        assert (further.proposals, further.mode, further.recheck) == (("s17",), "live", True)
        assert further.pins == ("203.0.113.0/24",)
        now = time.time()
        assert 6 < (further.pinned_until - now) / 86_400 < 7
        assert 29 < (further.signed_until - now) / 86_400 < 30


async def test_who_lacks_a_right_sees_no_tick_box(console: RunningConsole, http: Http) -> None:
    answers = {
        "campaigns.show": details(OPEN), "campaigns.offers": msgspec.to_builtins(OFFERS),
    }  # fmt: skip
    boxes = {"signature": 'name="signature[]"', "entity": 'name="pin[]"', "move": 'name="recheck"'}
    for lacking in ("", *boxes):
        console.desk.reset()
        person: dict[str, Any] = console.desk.people[token_of(Role.ANALYST)]
        person["rights"] = [right for right in person["rights"] if right != lacking]
        case = PageCase(name="", path="/case/7", role=Role.ANALYST, answers=answers)
        shown = (await fetch(console, http, case)).text
        assert {name for name, box in boxes.items() if box not in shown} == {lacking} - {""}
        ends = re.findall(r'name="(\w+_days)">\s*<option value="(\d+)" selected', shown)
        assert ("pin_days", "7") in ends or lacking == "entity"
        assert ("signature_days", "30") in ends or lacking == "signature"
