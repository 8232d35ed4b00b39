"""The desk's door: who shows no token, what is slow, what is broken."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from oborona.desk import call_threads
from oborona.desk import server as module
from oborona.desk.call_runner import CallRunner
from oborona.desk.open_call import OpenCall
from oborona.desk.openapi import describe_calls
from oborona.desk.server import DeskServer
from oborona.people.caller import Caller
from oborona.people.rights import Role
from tests.desk.calls import NameQuestion, Recorder, person, site_of

URL = "http://desk"


class Known:
    def caller_of(self, token: str, place: str, agent: str) -> Caller | None:
        return {
            "anna-token": person("anna", Role.ANALYST),
            "joe-token": person("joe", Role.READER),
        }.get(token)


class Desk:
    def __init__(
        self, server: DeskServer, session: aiohttp.ClientSession, recorder: Recorder
    ) -> None:
        self.server, self.session, self.recorder = server, session, recorder

    async def call(
        self, name: str, /, token: str = "anna-token", **told: object
    ) -> tuple[int, dict[str, object]]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with self.session.post(f"{URL}/v1/{name}", json=told, headers=headers) as answer:
            return answer.status, await answer.json()


@pytest_asyncio.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    recorder = Recorder()
    calls = recorder.calls()
    server = DeskServer(
        CallRunner(site_of(tmp_path / "state")), Known().caller_of, calls=calls,
        open_calls={"login.echo": OpenCall(NameQuestion, lambda asked, *_: {"a": asked.name})},
        description=describe_calls(calls),
    )  # fmt: skip
    path = tmp_path / "desk.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)
        await server.start(listener)
        async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session:
            yield Desk(server, session, recorder)
        recorder.hold.set()
        await server.drain(2)


@pytest.mark.asyncio
async def test_a_call_is_answered(desk: Desk) -> None:
    assert await desk.call("names.show", name="x") == (200, {"name": "x", "by": "anna"})


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("name", "token", "status"),
    [("names.show", "", 401), ("names.show", "other", 401), ("reputation.set", "joe-token", 403),
     ("nothing.there", "anna-token", 404), ("names.show/../x", "anna-token", 404)],
)  # fmt: skip
async def test_who_may_not_is_told(desk: Desk, name: str, token: str, status: int) -> None:
    answered, words = await desk.call(name, token)
    assert answered == status
    assert words["error"]


@pytest.mark.asyncio
async def test_another_method_is_refused(desk: Desk) -> None:
    async with desk.session.get(f"{URL}/v1/names.show") as answer:
        assert answer.status == 405
    async with desk.session.post(f"{URL}/v1/openapi.json") as answer:
        assert answer.status == 405


@pytest.mark.asyncio
async def test_a_fault_of_ours_says_nothing_of_itself(desk: Desk) -> None:
    status, words = await desk.call("reputation.set", entity="x", reason="y", fails="secret words")
    assert status == 500
    assert "secret" not in json.dumps(words)


@pytest.mark.asyncio
async def test_what_is_slow_is_told_and_does_not_hold_others_up(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ASK_S", 0.2)
    desk.recorder.hold.clear()
    slow = [await desk.call("names.show") for _ in range(2)]
    assert [status for status, _ in slow] == [503, 503]
    assert "0.2 seconds" in str(slow[0][1]["error"])
    assert slow[0][1]["why"] == "slow"
    assert await desk.call("reputation.set", entity="x", reason="y") == (
        200, {"pinned": 1, "undo": {"call": "reputation.clear", "asked": {"entity": "x"}}},
    )  # fmt: skip


@pytest.mark.asyncio
async def test_too_many_at_once_are_told_to_come_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_threads, "WAITING", 0)
    desk.recorder.hold.clear()
    held = [asyncio.create_task(desk.call("names.show")) for _ in range(call_threads.THREADS)]
    while desk.server.threads._waiting < call_threads.THREADS:  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0.01)
    status, words = await desk.call("names.show")
    assert (status, words["error"]) == (503, "too much at once, come again")
    assert words["why"] == "busy"
    desk.recorder.hold.set()
    assert [status for status, _ in await asyncio.gather(*held)] == [200] * call_threads.THREADS
    assert (await desk.call("names.show"))[0] == 200


@pytest.mark.asyncio
async def test_calls_without_a_token_are_those_to_sign_in(desk: Desk) -> None:
    assert await desk.call("login.echo", token="", name="x") == (200, {"a": "x"})


@pytest.mark.asyncio
async def test_what_can_be_called_is_described(desk: Desk) -> None:
    async with desk.session.get(f"{URL}/v1/openapi.json") as answer:
        told = await answer.json()
    assert sorted(told["paths"]) == [
        "/v1/content.show", "/v1/names.show", "/v1/reputation.set", "/v1/site.show",
    ]  # fmt: skip
    schema = told["components"]["schemas"]["PinOrder"]
    assert set(schema["properties"]) >= {"reason", "dry", "key", "entity"}
