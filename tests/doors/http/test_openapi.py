"""The OpenAPI description: it is one, and what the door answers is what it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from oborona.doors.http.openapi import description, document
from oborona.doors.reply import ACCEPT, AddHeader, RemoveHeader, SessionReply, refusal_reply
from oborona.types import Action
from tests.doors.http import event_site
from tests.doors.http.account_site import ACTOR, ITS_READER, READER, ask, door, fill
from tests.doors.http.sittings import Sittings, judged

SAID = description()


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for one in node.values():
            yield from references(one)
    elif isinstance(node, list):
        for one in node:
            yield from references(one)


def validator(name: str) -> Draft202012Validator:
    schema: dict[str, Any] = {
        "$ref": f"#/components/schemas/{name}",
        "components": SAID["components"],
    }
    return Draft202012Validator(schema)


def test_it_is_json_whose_references_lead_somewhere() -> None:
    assert msgspec.json.decode(document()) == SAID
    for target in references(SAID):
        node: Any = SAID
        for name in target.removeprefix("#/").split("/"):
            node = node[name]
        assert isinstance(node, dict)


def test_each_operation_has_a_name_and_answers_with_words() -> None:
    operations = [one for path in SAID["paths"].values() for one in path.values()]
    names = [one["operationId"] for one in operations]
    assert len(set(names)) == len(names) == 16
    for one in operations:
        assert one["summary"]
        assert "200" in one["responses"]
        for answer in one["responses"].values():
            assert "$ref" in answer or answer["description"]


@pytest.mark.parametrize("name", SAID["components"]["schemas"])
def test_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(SAID["components"]["schemas"][name])


@pytest.mark.parametrize(
    "reply",
    [
        SessionReply(judged=judged()),
        refusal_reply(550, "5.7.1", "Refused", judged(Action.REJECT)),
        SessionReply(
            answer=ACCEPT.answer,
            edits=(RemoveHeader("X-Mras", 2), AddHeader("X-Mras", "Ok", top=True)),
            removed=("trap@x.example",),
            judged=judged(Action.SPAM),
        ),
    ],
)
async def test_answers_are_as_described(open_folder: Path, reply: SessionReply) -> None:
    async with Sittings(open_folder).serving() as door:
        door.says = reply
        for path, body in (("/v1/scan", {"raw": ""}), ("/v1/glance", {"stage": "connect"})):
            status, told = await door.post(path, body)
            assert status == 200
            validator("VerdictAnswer").validate(told)
        validator("ErrorAnswer").validate((await door.post("/v1/scan", {}))[1])
        async with door.client() as client, client.get("http://door/v1/health") as found:
            validator("HealthAnswer").validate(await found.json())


@pytest.mark.parametrize(
    ("name", "body", "good"),
    [
        ("ScanRequest", {"raw": "eA=="}, True),
        ("ScanRequest", {}, False),
        ("ScanRequest", {"raw": "eA==", "helo": "a\x00"}, False),
        (
            "ScanRequest",
            {"raw": "eA==", "sender": "a@b.example", "recipients": ["c@d.example"]},
            True,
        ),
        ("ScanRequest", {"raw": "eA==", "recipients": [""]}, False),
        ("ScanRequest", {"raw": "eA==", "from": "a@b.example"}, False),
        ("ScanRequest", {"raw": "eA==", "port": "25"}, True),
        ("ScanRequest", {"raw": "eA==", "port": "smtp"}, False),
        ("GlanceRequest", {"stage": "sender", "after": None}, True),
        ("GlanceRequest", {"stage": "content"}, False),
    ],
)
async def test_what_is_described_is_what_is_taken(
    open_folder: Path, name: str, body: dict[str, object], good: bool
) -> None:
    assert validator(name).is_valid(body) == good
    path = "/v1/scan" if name == "ScanRequest" else "/v1/glance"
    async with Sittings(open_folder).serving() as door:
        assert ((await door.post(path, body))[0] == 200) == good


async def test_answers_of_accounts_are_as_described(open_folder: Path) -> None:
    fill(open_folder)
    said = {"Content-Type": "application/json"}
    for method, path, key, body, name in (
        ("GET", "/v1/accounts", READER, None, "AccountsPage"),
        ("GET", "/v1/accounts/joe", READER, None, "AccountView"),
        ("GET", "/v1/incidents", READER, None, "IncidentsPage"),
        ("GET", "/v1/incidents", ITS_READER, None, "IncidentsPage"),
        ("GET", "/v1/incidents/1", READER, None, "IncidentView"),
        ("GET", "/v1/incidents/1", ITS_READER, None, "IncidentView"),
        ("GET", "/v1/addresses/10.0.0.1", READER, None, "AddressView"),
        ("POST", "/v1/accounts/joe/ban", ACTOR, b'{"reason": "x"}', "OrderAnswer"),
        ("POST", "/v1/accounts", ACTOR, b'[{"account": "a"}, 1]', "RegistrationAnswer"),
        ("POST", "/v1/accounts", ACTOR, b"[", "ErrorAnswer"),
        ("POST", "/v1/accounts", READER, b"[]", "ErrorAnswer"),
        ("GET", "/v1/incidents/99", READER, None, "ErrorAnswer"),
    ):
        async with door(open_folder).serving() as at:
            told = await ask(at, path, key, method=method, body=body, headers=said)
        validator(name).validate(msgspec.json.decode(told[1]))


async def test_answers_of_events_are_as_described(open_folder: Path) -> None:
    async with event_site.door(open_folder).serving() as at:
        for body, status, name in (
            (event_site.lines(event_site.click(), 7), 200, "EventsAnswer"),
            (b"[]", 400, "ErrorAnswer"),
        ):
            told = await event_site.send(at, body)
            assert told[0] == status
            validator(name).validate(told[1])


@pytest.mark.parametrize(
    ("told", "good"),
    [
        ({"reason": "x"}, True),
        ({"reason": "x", "for": "2h"}, True),
        ({"reason": "x", "until": 4_000_000_000}, True),
        ({"reason": "x", "until": "2099-01-01T00:00:00Z"}, True),
        ({"reason": "x", "until": None, "for": None}, True),
        ({"reason": "x", "span": "2h"}, False),
        ({"reason": "x", "by": "anna"}, False),
        ({"reason": 1}, False),
        ({"for": "2h"}, False),
    ],
)
async def test_an_order_is_taken_as_it_is_described(
    open_folder: Path, told: dict[str, object], good: bool
) -> None:
    fill(open_folder)
    assert validator("OrderRequest").is_valid(told) == good
    async with door(open_folder).serving() as at:
        answer = await ask(
            at,
            "/v1/accounts/joe/ban",
            ACTOR,
            method="POST",
            body=msgspec.json.encode(told),
            headers={"Content-Type": "application/json"},
        )
    assert (answer[0] == 200) == good
