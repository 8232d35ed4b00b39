"""The HTTP door over a real socket: what is answered to whom."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from oborona.doors.reply import BUSY, SessionReply, refusal_reply
from oborona.doors.rfc5322 import raw_message_of
from oborona.feedback.events.model import EventKind
from oborona.ident import sign
from oborona.types import Action, Client, Envelope, Stage
from tests.daemon.intake.takings import KEY
from tests.doors.http.sittings import TOKEN, Sittings, judged, until

MAIL = b"From: ann@a.example\nSubject: lunch\n\nAt noon?\n"
RSPAMC = {
    "IP": "192.0.2.1",
    "Helo": "h.example",
    "Hostname": "h.example",
    "From": "f@x.example",
    "Rcpt": "r@x.example",
    "User": "joe",
    "Queue-Id": "4Xy",
}
JSON: dict[str, object] = {
    "client": {"ip": "192.0.2.1", "name": "h.example"},
    "helo": "h.example",
    "sender": "f@x.example",
    "recipients": ["r@x.example"],
    "login": "joe",
    "queue_id": "4Xy",
}
TOLD = Envelope(
    client=Client(ip="192.0.2.1", name="h.example"),
    helo="h.example",
    sender="f@x.example",
    recipients=("r@x.example",),
    login="joe",
    queue_id="4Xy",
)
RAW = {"raw": base64.b64encode(MAIL).decode()}
RFC822 = {"Content-Type": "message/rfc822"}


@pytest.fixture
async def door(open_folder: Path) -> AsyncIterator[Sittings]:
    async with Sittings(open_folder).serving() as running:
        yield running


async def test_all_ways_to_ask_tell_a_session_the_same(door: Sittings) -> None:
    ways = [
        door.post("/checkv2", MAIL, RSPAMC),
        door.post("/check", MAIL, RSPAMC),
        door.post("/symbols", MAIL, RSPAMC),
        door.post("/v1/scan", MAIL, RSPAMC | RFC822),
        door.post("/v1/scan", JSON | RAW),
    ]
    for way in ways:
        status, _ = await way
        assert status == 200
    of_rspamd = msgspec.structs.replace(TOLD, holds=False)
    told = [of_rspamd] * 3 + [TOLD] * 2
    message = raw_message_of(MAIL, 1 << 20)
    assert [one[:2] for one in door.asked] == [(envelope, message) for envelope in told]
    assert door.closed == len(ways)
    assert dict(door.notes) == {"answered": len(ways)}


async def test_a_verdict_in_both_tongues(door: Sittings) -> None:
    door.says = refusal_reply(550, "5.7.1", "Message refused as spam", judged(Action.REJECT, 250.0))
    _, theirs = await door.post("/checkv2", MAIL)
    assert (theirs["action"], theirs["score"], theirs["required_score"]) == ("reject", 250.0, 200.0)
    assert theirs["messages"] == {"smtp_message": "Message refused as spam"}
    _, old = await door.post("/check", MAIL)
    assert cast("dict[str, Any]", old["default"])["action"] == "reject"
    _, ours = await door.post("/v1/scan", RAW)
    assert (ours["verdict"], ours["score"], ours["reject_score"]) == ("reject", 250.0, 200.0)
    assert ours["smtp"] == {"code": 550, "enhanced": "5.7.1", "text": "Message refused as spam"}


async def test_a_glance(door: Sittings) -> None:
    door.says = refusal_reply(554, "5.7.1", "Client refused", judged(Action.REJECT))
    status, told = await door.post(
        "/v1/glance", JSON | {"stage": "recipient", "after": "connect", "port": "25"}
    )
    assert (status, told["verdict"]) == (200, "reject")
    assert door.glanced == [(Stage.RECIPIENT, TOLD, "25", Stage.CONNECT)]
    door.says = SessionReply()
    status, told = await door.post("/v1/glance", {"stage": "connect"})
    assert (status, told["verdict"], told["line"]) == (200, "accept", 0.0)
    assert door.closed == 2


@pytest.mark.parametrize("path", ["/checkv2", "/v1/scan"])
async def test_where_nobody_judged_the_client_is_told_to_come_again(
    door: Sittings, path: str
) -> None:
    door.says = BUSY
    async with (
        door.client() as client,
        client.post(f"http://door{path}", data=MAIL, headers=RFC822) as found,
    ):
        assert (found.status, found.headers["Retry-After"]) == (503, "1")
        assert (await found.json())["error"].startswith("too busy")
    door.says = RuntimeError("a secret of ours")
    status, told = await door.post(path, MAIL, RFC822)
    assert (status, told) == (503, {"error": "no verdict now, try again later"})
    assert dict(door.notes) == {"busy": 1, "failed": 1}
    assert door.closed == 2
    status, told = await door.post("/v1/glance", {"stage": "connect"})
    assert status == 503


async def test_a_fault_of_ours_is_told_without_detail(
    door: Sittings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr("oborona.doors.http.server.verdict_answer", broken)
    assert await door.post("/v1/scan", RAW) == (500, {"error": "a fault of ours: the log has it"})
    assert (await door.post("/checkv2", MAIL))[0] == 200
    assert door.notes["failed"] == 1


async def test_pages_for_everybody(door: Sittings) -> None:
    async with door.client() as client:
        async with client.get("http://door/ping") as found:
            assert (found.status, await found.read()) == (200, b"pong\r\n")
        async with client.get("http://door/v1/health") as found:
            assert await found.json() == {"state": "ready"}
        async with client.get("http://door/v1/openapi.json") as found:
            assert (await found.json())["openapi"] == "3.1.0"
        async with client.head("http://door/ping") as found:
            assert (found.status, await found.read()) == (200, b"")
    assert dict(door.notes) == {}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/checkv2", 405),
        ("PUT", "/v1/scan", 405),
        ("POST", "/v1/health", 405),
        ("POST", "/", 404),
        ("POST", "/v1/scan/", 404),
        ("GET", "/stat", 404),
        ("GET", "/../../etc/passwd", 404),
        ("POST", "/fuzzyadd", 404),
    ],
)
async def test_other_paths_and_methods(door: Sittings, method: str, path: str, status: int) -> None:
    found, words = await door.post(path, b"", method=method)
    assert (found, list(words)) == (status, ["error"])
    assert door.asked == []


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        pytest.param("/checkv2", MAIL, {"IP": "300.1.1.1"}, 400, id="no address"),
        pytest.param(
            "/checkv2", MAIL, {"Compression": "zstd"}, 415, id="compressed as rspamc does"
        ),
        pytest.param(
            "/checkv2", MAIL, {"Content-Encoding": "zstd"}, 415, id="compressed as HTTP does"
        ),
        pytest.param("/v1/scan", MAIL, {"Content-Type": "text/plain"}, 415, id="another type"),
        pytest.param("/v1/scan", MAIL, {}, 415, id="no type"),
        pytest.param("/v1/scan", {"raw": "%"}, {}, 400, id="no base64"),
        pytest.param("/v1/scan", JSON, {}, 400, id="no message"),
        pytest.param("/v1/scan", RAW | {"from": "x"}, {}, 400, id="an unknown word"),
        pytest.param("/v1/scan", RAW | {"client": {"ip": "x"}}, {}, 400, id="no address in JSON"),
        pytest.param(
            "/v1/scan", b"[" * 100_000, {"Content-Type": "application/json"}, 400, id="deep JSON"
        ),
        pytest.param("/v1/glance", {"stage": "content"}, {}, 400, id="no stage"),
        pytest.param("/v1/glance", b"\xff", {}, 400, id="no UTF-8"),
        pytest.param("/v1/glance", b'{"helo":"\xee"}', {}, 400, id="no UTF-8 in a text"),
        pytest.param("/v1/glance", b" " * 300_000, {}, 413, id="a large glance"),
        pytest.param("/learnspam", MAIL, {"User": "joe"}, 403, id="nobody says so"),
    ],
)
async def test_what_is_of_no_use_is_told_why(
    door: Sittings, path: str, body: object, headers: dict[str, str], status: int
) -> None:
    found, words = await door.post(path, body, headers)
    assert (found, list(words)) == (status, ["error"])
    assert (door.asked, door.glanced, door.events) == ([], [], [])
    assert dict(door.notes) == {"too-large" if status == 413 else "broken": 1}
    assert (await door.post("/checkv2", MAIL))[0] == 200


async def test_the_first_line_of_an_answer_says_why(door: Sittings) -> None:
    """rspamc shows nothing else."""
    async with door.client() as client, client.post("http://door/learnspam", data=MAIL) as found:
        assert "Deliver-To" in (found.reason or "")


@pytest.mark.parametrize(
    ("path", "what"), [("/learnspam", EventKind.COMPLAINT), ("/learnham", EventKind.PARDON)]
)
async def test_what_is_taught_is_what_a_person_says(
    door: Sittings, path: str, what: EventKind
) -> None:
    letter = b"X-Mras-Id: " + sign(7, KEY).encode() + b"\nMessage-ID: <1@a.example>\n\nhi\n"
    headers = {"Deliver-To": "Joe@x.example", "User": "someone@else.example"}
    assert await door.post(path, letter, headers) == (200, {"success": True})
    (event,) = door.events
    assert (event.what, event.person, event.ident, event.message_id, event.raw) == (
        what,
        "joe@x.example",
        7,
        "1@a.example",
        letter,
    )
    assert await door.post(path, letter, {"User": "joe@x.example"}) == (200, {"success": True})
    door.keeps = False
    status, words = await door.post(path, letter, headers)
    assert (status, list(words)) == (503, ["error"])


async def test_the_line_of_a_mailbox_file_is_not_the_message_s(door: Sittings) -> None:
    boxed = b"From ann@a.example Sun Nov 22 18:48:09 2026\n" + MAIL
    await door.post("/checkv2", boxed)
    assert door.asked[0][1] == raw_message_of(MAIL, 1 << 20)
    await door.post("/learnspam", boxed, {"Deliver-To": "joe@x.example"})
    assert door.events[0].raw == MAIL
    await door.post("/checkv2", b"From : ann@a.example\n\nhi\n")
    assert door.asked[1][1].headers[0][0] == b"From"


async def test_users_without_a_domain_have_the_addresses_of_the_intake(open_folder: Path) -> None:
    async with Sittings(open_folder, **{"intake.person": "{user}@b.example"}).serving() as door:
        assert (await door.post("/learnham", MAIL, {"User": "joe"}))[0] == 200
        assert door.events[0].person == "joe@b.example"


async def test_on_a_port_nobody_is_believed_without_a_key(open_folder: Path) -> None:
    """Whoever is on this machine can reach it; a socket file has an owner."""
    async with Sittings(open_folder, listen="inet:11333@127.0.0.1").serving() as door:
        status, words = await door.post("/learnspam", MAIL, {"Deliver-To": "joe@x.example"})
        assert (status, door.events) == (403, [])
        assert "keys_file" in str(words["error"])
        assert (await door.post("/checkv2", MAIL))[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": f"Bearer {TOKEN}"}, 200),
        ({"Authorization": f"bearer  {TOKEN}"}, 200),
        ({"Password": TOKEN}, 200),
        ({"Password": TOKEN, "Authorization": "Bearer of-somebody-else"}, 200),
        ({}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Password": TOKEN[:-1]}, 401),
        ({"Password": "", "Authorization": "Bearer"}, 401),
    ],
)
@pytest.mark.parametrize("path", ["/checkv2", "/v1/scan", "/v1/glance", "/learnspam"])
async def test_who_may_ask(
    open_folder: Path, path: str, headers: dict[str, str], status: int
) -> None:
    (open_folder / "keys").write_text(f"{TOKEN}\n")
    async with Sittings(open_folder, keys_file=open_folder / "keys").serving() as door:
        body, kind = ({"stage": "connect"}, {}) if path == "/v1/glance" else (MAIL, RFC822)
        found, _ = await door.post(path, body, kind | headers | {"Deliver-To": "joe@x.example"})
        assert found == status
        assert bool(door.asked or door.glanced or door.events) == (status == 200)
        assert dict(door.notes) == {"answered" if status == 200 else "unauthorized": 1}
        async with door.client() as client, client.get("http://door/v1/health") as page:
            assert page.status == 200


async def test_who_asks_too_often_waits_and_others_do_not(open_folder: Path) -> None:
    other = TOKEN[::-1]
    (open_folder / "keys").write_text(f"{TOKEN}\n{other}\n")
    settings = {"keys_file": open_folder / "keys", "rate": 0.01, "burst": 2}
    async with Sittings(open_folder, **settings).serving() as door:
        mine = [(await door.post("/checkv2", MAIL, {"Password": TOKEN}))[0] for _ in range(3)]
        assert mine == [200, 200, 429]
        assert (await door.post("/checkv2", MAIL, {"Password": other}))[0] == 200
        async with (
            door.client() as client,
            client.post("http://door/checkv2", data=MAIL, headers={"Password": TOKEN}) as found,
        ):
            assert 90 <= int(found.headers["Retry-After"]) <= 100
        assert door.notes == {"answered": 3, "too-often": 2}


async def test_without_keys_the_rate_is_each_user_s(open_folder: Path) -> None:
    async with Sittings(open_folder, rate=0.01, burst=1).serving() as door:
        assert [(await door.post("/checkv2", MAIL))[0] for _ in range(2)] == [200, 429]


async def test_of_a_large_message_the_head_is_judged_and_a_huge_one_refused(
    open_folder: Path,
) -> None:
    limits = {"worker.max_message_bytes": 65_536, "max_body_bytes": 200_000}
    async with Sittings(open_folder, **limits).serving() as door:
        large = MAIL + b"x" * 100_000
        assert (await door.post("/checkv2", large))[0] == 200
        assert (await door.post("/v1/scan", {"raw": base64.b64encode(large).decode()}))[0] == 200
        assert [one[1] for one in door.asked] == [raw_message_of(large, 65_536)] * 2
        assert door.asked[0][1].truncated
        assert (await door.post("/checkv2", MAIL + b"x" * 200_000))[0] == 413
        assert (await door.post("/v1/scan", b"x" * 300_000, {"Content-Type": "application/json"}))[
            0
        ] == 413
        assert dict(door.notes) == {"answered": 2, "too-large": 2}


async def test_more_than_is_held_of_bodies_waits_outside(open_folder: Path) -> None:
    limits = {
        "worker.max_bodies_bytes": 150_000,
        "worker.max_message_bytes": 65_536,
        "max_body_bytes": 100_000,
    }
    async with Sittings(open_folder, **limits).serving() as door:
        door.gate.clear()
        letter = MAIL + b"x" * 60_000
        asking = [asyncio.create_task(door.post("/checkv2", letter)) for _ in range(2)]
        for _ in asking:
            await door.began.acquire()
        assert (await door.post("/checkv2", letter))[0] == 503

        async def in_pieces() -> AsyncIterator[bytes]:
            for _ in range(6):
                yield b"x" * 10_000

        assert (await _status(door, in_pieces())) == 503
        assert door.notes == {"busy": 2}
        door.gate.set()
        assert {status for status, _ in await asyncio.gather(*asking)} == {200}
        assert (await _status(door, in_pieces())) == 200


async def _status(door: Sittings, body: AsyncIterator[bytes]) -> int:
    async with door.client() as client, client.post("http://door/checkv2", data=body) as found:
        return found.status


async def test_what_has_begun_is_judged_to_the_end_though_its_client_is_gone(
    door: Sittings,
) -> None:
    door.gate.clear()
    _, writer = await asyncio.open_unix_connection(door.path)
    writer.write(
        b"POST /checkv2 HTTP/1.1\r\nHost: door\r\nContent-Length: %d\r\n\r\n%b" % (len(MAIL), MAIL)
    )
    await door.began.acquire()
    writer.transport.abort()
    await until(lambda: door.server.sessions == 0)
    assert (door.ended, door.closed) == (0, 0)
    door.gate.set()
    await until(lambda: door.closed == 1)
    assert (door.ended, door.closed) == (1, 1)


async def test_who_waits_when_we_stop_has_an_answer_and_others_are_shown_out(
    open_folder: Path,
) -> None:
    door = Sittings(open_folder)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(door.serving())
        reader, writer = await asyncio.open_unix_connection(door.path)
        door.gate.clear()
        asking = asyncio.create_task(door.post("/checkv2", MAIL))
        await door.began.acquire()
    assert (await asking)[0] == 200
    assert await reader.read() == b""
    writer.close()


async def test_a_full_door_says_so(open_folder: Path) -> None:
    async with Sittings(open_folder, max_connections=1).serving() as door:
        _, writer = await asyncio.open_unix_connection(door.path)
        await until(lambda: door.server.sessions == 1)
        assert await door.post("/checkv2", MAIL) == (503, {"error": "Too busy, try again later"})
        assert door.notes == {"busy": 1}
        writer.close()
        await until(lambda: door.server.sessions == 0)
        assert (await door.post("/checkv2", MAIL))[0] == 200


async def test_a_client_has_so_many_connections(open_folder: Path) -> None:
    async with Sittings(open_folder, max_per_client=1).serving() as door:
        _, writer = await asyncio.open_unix_connection(door.path)
        await until(lambda: door.server.sessions == 1)
        assert (await door.post("/checkv2", MAIL))[0] == 503
        assert door.notes == {"crowded": 1}
        writer.close()
