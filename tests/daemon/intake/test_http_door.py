"""POST /feedback over a real socket: what is answered to whom, and what hostile clients get."""

from __future__ import annotations

import asyncio
import contextlib
import json
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from oborona.config.address import UnixAddress
from oborona.daemon import sockets
from oborona.daemon.intake.event_sink import REFUSED, EventSink
from oborona.daemon.intake.http_door import AT_ONCE, FeedbackHttpServer
from oborona.doors.tokens import AccessTokens
from oborona.errors import StoreFull
from oborona.ident import sign
from tests.daemon.intake.takings import KEY, Memory

LONG_S = 60.0
LIMIT = 100_000
TOKEN = "0123456789abcdef"
SAID = {"what": "complaint", "person": "joe@example.org", "id": sign(7, KEY)}
JSON = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
MAIL = JSON | {"Content-Type": "message/rfc822"}
URL = "http://intake/feedback"
WORDS = "?what=pardon&person=joe@example.org"


class Door:
    """A door on a socket file, and what it wrote down."""

    def __init__(
        self,
        folder: Path,
        *,
        tokens: bool = True,
        read_s: float = LONG_S,
        idle_s: float = LONG_S,
        most: int = 100,
    ) -> None:
        self.path = folder / "http.sock"
        self.memory = Memory()
        self.desk = EventSink(self.memory, LONG_S)
        self.file = folder / "tokens"
        self.file.write_text(f"{TOKEN}\n")
        self.server = FeedbackHttpServer(
            self.desk,
            key=KEY,
            tokens=AccessTokens(self.file) if tokens else None,
            max_message_bytes=LIMIT,
            max_connections=most,
            read_s=read_s,
            idle_s=idle_s,
        )

    def client(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(str(self.path)), timeout=aiohttp.ClientTimeout(LONG_S)
        )

    async def post(
        self,
        body: bytes | str,
        headers: dict[str, str] = JSON,
        *,
        words: str = "",
        method: str = "POST",
    ) -> tuple[int, dict[str, object]]:
        async with (
            self.client() as client,
            client.request(method, URL + words, data=body, headers=headers) as answer,
        ):
            return answer.status, json.loads(await answer.read())

    async def says(self, data: bytes) -> bytes:
        """Return all that is answered to some bytes."""
        async with asyncio.timeout(LONG_S):
            stream, writer = await asyncio.open_unix_connection(self.path)
            try:
                writer.write(data)
                with contextlib.suppress(ConnectionError):
                    await writer.drain()
                    return await stream.read()
                return b""
            finally:
                writer.close()


@contextlib.asynccontextmanager
async def serving(door: Door) -> AsyncIterator[Door]:
    listener = sockets.listen(UnixAddress(str(door.path)))
    await door.server.start(listener)
    try:
        yield door
    finally:
        door.memory.gate.set()
        await door.server.drain(LONG_S)
        listener.close()


@pytest.fixture
async def door(open_folder: Path) -> AsyncIterator[Door]:
    async with serving(Door(open_folder)) as running:
        yield running


async def test_what_is_written_down_has_a_number(door: Door) -> None:
    assert await door.post(json.dumps(SAID)) == (201, {"event": 1, "new": True})
    assert await door.post(b"Subject: x\r\n\r\nBuy!", MAIL, words=WORDS) == (
        201,
        {"event": 2, "new": True},
    )
    first, second = door.memory.events
    assert (first.what, first.ident, first.source) == ("complaint", 7, "local")
    assert (second.what, second.raw, second.person) == (
        "pardon",
        b"Subject: x\r\n\r\nBuy!",
        "joe@example.org",
    )


async def test_the_same_request_twice_is_one_event(door: Door) -> None:
    once = JSON | {"Idempotency-Key": "7d0"}
    assert await door.post(json.dumps(SAID), once) == (201, {"event": 1, "new": True})
    assert await door.post(json.dumps(SAID), once) == (200, {"event": 1, "new": False})


async def test_one_client_s_names_are_not_another_s(door: Door) -> None:
    """What was answered as known would be lost."""
    other = TOKEN[::-1]
    door.file.write_text(f"{TOKEN}\n{other}\n")
    once = JSON | {"Idempotency-Key": "1"}
    assert (await door.post(json.dumps(SAID), once))[0] == 201
    assert (await door.post(json.dumps(SAID), once | {"Authorization": f"Bearer {other}"}))[
        0
    ] == 201
    assert (await door.post(json.dumps(SAID), once | {"Authorization": f"bearer  {TOKEN}"}))[
        0
    ] == 200


async def test_many_requests_of_one_connection(door: Door) -> None:
    async with door.client() as client:
        for number in range(1, 21):
            async with client.post(URL, data=json.dumps(SAID), headers=JSON) as answer:
                assert (await answer.json())["event"] == number
            assert door.server.sessions == 1


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"Bearer {TOKEN}", 201),
        (f"bearer {TOKEN}", 201),
        ("", 401),
        ("Bearer", 401),
        (TOKEN, 401),
        (f"Basic {TOKEN}", 401),
        (f"Bearer {TOKEN}x", 401),
    ],
)
async def test_who_may_speak(door: Door, authorization: str, status: int) -> None:
    found, _ = await door.post(json.dumps(SAID), JSON | {"Authorization": authorization})
    assert found == status
    assert len(door.memory.events) == (status == 201)
    assert REFUSED.values == ({} if status == 201 else {("http", "unauthorized"): 1})


async def test_a_token_that_is_taken_back_is_none_at_once(door: Door) -> None:
    door.file.write_text("another-token-of-somebody\n")
    assert (await door.post(json.dumps(SAID)))[0] == 401
    door.file.unlink()  # what was known stays
    assert (await door.post(json.dumps(SAID)))[0] == 401
    assert (
        await door.post(
            json.dumps(SAID), JSON | {"Authorization": "Bearer another-token-of-somebody"}
        )
    )[0] == 201


async def test_who_reaches_a_socket_file_needs_no_token(open_folder: Path) -> None:
    async with serving(Door(open_folder, tokens=False)) as door:
        assert (await door.post(json.dumps(SAID), {"Content-Type": "application/json"}))[0] == 201


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        pytest.param("{}", {}, 400, id="nothing said"),
        pytest.param("", {}, 400, id="no body"),
        pytest.param(json.dumps(SAID), {"Content-Type": "text/plain"}, 415, id="another type"),
        pytest.param(json.dumps(SAID), {"Content-Encoding": "gzip"}, 415, id="compressed"),
        pytest.param(json.dumps(SAID), {"Idempotency-Key": "x" * 201}, 400, id="a long key"),
        pytest.param("x" * (LIMIT + 1), {"Content-Type": "message/rfc822"}, 413, id="large"),
        pytest.param("x" * LIMIT * 2, {}, 413, id="large, in JSON"),
        pytest.param("x", {"Content-Type": "message/rfc822"}, 400, id="a message without words"),
    ],
)
async def test_what_is_of_no_use_is_told_why(
    door: Door, body: str, headers: dict[str, str], status: int
) -> None:
    found, words = await door.post(body, JSON | headers)
    assert (found, list(words)) == (status, ["error"])
    assert door.memory.events == []
    assert REFUSED.values == {("http", "broken"): 1}
    assert (await door.post(json.dumps(SAID)))[0] == 201


@pytest.mark.parametrize(
    "words", [WORDS + "&what=complaint", WORDS + "&raw=eA==", "?what=pardon", ""]
)
async def test_words_beside_a_message_that_are_none(door: Door, words: str) -> None:
    assert (await door.post(b"Subject: x\r\n\r\n", MAIL, words=words))[0] == 400


async def test_other_paths_and_methods(door: Door) -> None:
    assert (await door.post("", method="GET"))[0] == 405
    assert (await door.post("", words="/7"))[0] == 404
    async with door.client() as client, client.get("http://intake/health") as answer:
        assert (answer.status, await answer.json()) == (200, {"state": "ready"})


async def test_while_nothing_can_be_written_down_both_say_so(door: Door) -> None:
    door.memory.trouble = StoreFull("no room")
    async with door.client() as client:
        async with client.post(URL, data=json.dumps(SAID), headers=JSON) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "10")
            assert await answer.json() == {
                "error": "nothing can be written down now"
            }  # and no word of the disk
        async with client.get("http://intake/health") as answer:
            assert answer.status == 503
    door.memory.trouble = None
    assert (await door.post(json.dumps(SAID)))[0] == 201


async def test_a_body_in_pieces_without_end_is_cut_at_the_limit(door: Door) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 10_000

    async with door.client() as client:
        with contextlib.suppress(aiohttp.ClientError):
            async with client.post(URL + WORDS, data=endless(), headers=MAIL) as answer:
                assert answer.status == 413
    assert REFUSED.values == {("http", "broken"): 1}


async def test_more_bodies_at_once_than_are_kept_in_memory_are_put_off(door: Door) -> None:
    door.memory.gate.clear()
    asking = [asyncio.create_task(door.post(json.dumps(SAID))) for _ in range(AT_ONCE)]
    for _ in range(AT_ONCE):
        await door.memory.asked.acquire()
    assert (await door.post(json.dumps(SAID)))[0] == 429
    door.memory.gate.set()
    assert {status for status, _ in await asyncio.gather(*asking)} == {201}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\0" * 100, id="zeros"),
        pytest.param(b"VERSION\tscript\t4\t0\n-\n\n", id="another protocol"),
        pytest.param(
            b"POST /feedback HTTP/1.1\r\n" + b"A: b\r\n" * 10_000 + b"\r\n", id="many headers"
        ),
        pytest.param(
            b"POST /feedback HTTP/1.1\r\nA: " + b"x" * 100_000 + b"\r\n\r\n", id="a long header"
        ),
        pytest.param(b"POST /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n", id="a long path"),
        pytest.param(
            f"POST /feedback{WORDS} HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: "
            f"message/rfc822\r\n"
            "Transfer-Encoding: chunked\r\n\r\nzz\r\n".encode(),
            id="broken chunks",
        ),
        pytest.param(
            f"POST /feedback{WORDS} HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: "
            f"message/rfc822\r\n"
            "Content-Length: 5\r\nContent-Length: 7\r\n\r\nhello".encode(),
            id="two lengths",
        ),
        pytest.param(
            f"POST /feedback{WORDS} HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: "
            f"message/rfc822\r\n"
            "Content-Length: -5\r\n\r\nhello".encode(),
            id="a negative length",
        ),
    ],
)
async def test_what_is_no_http_gets_a_400_and_no_event(door: Door, data: bytes) -> None:
    answer = await door.says(data)
    assert answer == b"" or b" 400 " in answer.split(b"\r\n")[0]
    assert door.memory.events == []
    assert (await door.post(json.dumps(SAID)))[0] == 201


async def test_a_bomb_is_not_unpacked(door: Door) -> None:
    body = zlib.compress(b"x" * 5_000_000)
    assert (await door.post(body, MAIL | {"Content-Encoding": "deflate"}, words=WORDS))[0] == 415


async def test_who_does_not_go_on_is_shown_out(open_folder: Path) -> None:
    head = (
        f"POST /feedback{WORDS} HTTP/1.1\r\nAuthorization: Bearer "
        f"{TOKEN}\r\nContent-Type: message/rfc822\r\n"
    )
    async with serving(Door(open_folder, read_s=0.1, idle_s=0.2)) as door:
        assert await door.says(b"") == b""  # nothing comes
        assert await door.says(b"POST /feed") == b""  # half a line
        assert b" 400 " in await door.says(f"{head}Content-Length: 10\r\n\r\nhello".encode())
        assert door.memory.events == []
        assert door.server.sessions == 0


async def test_more_than_may_come_wait_for_their_turn(open_folder: Path) -> None:
    async with serving(Door(open_folder, most=2)) as door:
        found = await asyncio.gather(*(door.post(json.dumps(SAID)) for _ in range(8)))
        assert {status for status, _ in found} == {201}


async def test_who_waits_when_we_stop_has_an_answer(open_folder: Path) -> None:
    door = Door(open_folder)
    async with serving(door):
        door.memory.gate.clear()
        asking = asyncio.create_task(door.post(json.dumps(SAID)))
        await door.memory.asked.acquire()
    assert await asking == (201, {"event": 1, "new": True})
