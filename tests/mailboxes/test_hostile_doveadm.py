"""A doveadm API that talks nonsense: one answer for each letter, nothing raised, nothing told as
moved that is not.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.errors import PeerError
from oborona.recheck.mailboxes.doveadm import DoveadmMailboxes
from oborona.recheck.mailboxes.doveadm_api import MAX_ANSWER, DoveadmApi
from oborona.recheck.mailboxes.located_copy import MoveGuard
from oborona.recheck.mailboxes.model import MailboxItem, MoveOutcome

LETTERS = [
    MailboxItem(
        user=f"user{number}", ident=f"0ABCDEFGH000{number}", message_id=f"{number}@a", delivered=1e9
    )
    for number in range(5)
]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"
Says = Callable[[bytes], bytes]


@asynccontextmanager
async def server(says: Says) -> AsyncIterator[str]:
    """Somebody who answers each request with octets of his own.

    None of them closes the connection, after b"" he does.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
                body = await reader.readexactly(int(size or 0))
                said = says(head + body)
                if not said:
                    break
                writer.write(said)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/doveadm/v1"
    finally:
        listening.close()
        await listening.wait_closed()


@asynccontextmanager
async def opened(says: Says, *, deadline_s: float = 20.0) -> AsyncIterator[DoveadmMailboxes]:
    async with server(says) as url:
        boxes = DoveadmMailboxes(
            DoveadmApi(url, b"key"),
            MoveGuard(move_listed=False),
            connections=2,
            deadline_s=deadline_s,
        )
        try:
            yield boxes
        finally:
            await boxes.close()


def answer(said: Any) -> bytes:
    body = said if isinstance(said, bytes) else msgspec.json.encode(said)
    return OK % (len(body), body)


def rows(request: bytes, row: dict[str, str]) -> list[Any]:
    commands = msgspec.json.decode(request.partition(b"\r\n\r\n")[2])
    return [["doveadmResponse", [row], tag] for _, _, tag in commands]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", "key"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404"),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", "500"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n", "302"),
        (b"220 mx.example ESMTP\r\n", ""),
        (b"\0\0\0\0\r\n\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n[]", ""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", ""),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 40_000 + b"\r\n", ""),
        (b"", "disconnected"),
        (answer(b""), "no answer"),
        (answer(b"<html>"), "no answer"),
        (answer(b"\xff\xfe"), "no answer"),
        (answer(b"[" * 100_000), "no answer"),
        (answer(b'[["doveadmResponse",[{"uid":"1","flags":"\\\\Seen"],"0"]]'), "no answer"),
        (answer([]), "no answer"),
        (answer({}), "no answer"),
        (answer([["doveadmResponse", [], "7"]]), "no answer"),
        (answer([["doveadmResponse", [], "x"]]), "no answer"),
        (answer([["doveadmResponse", {"uid": 1}, "0"]]), "no answer"),
        (answer([["doveadmResponse", [{"uid": 1}], "0"]]), "no answer"),
        (answer([["error", {"type": "invalidRequest", "exitCode": 0}, "0"]]), "no answer"),
        (answer([["error", {"type": "exitCode", "exitCode": 0}, "0"]]), "no answer"),
        (answer([["error", {"type": "exitCode", "exitCode": "67"}, "0"]]), "no answer"),
        (answer([["error", [], "0"]]), "no answer"),
        (answer([["error", {"type": "exitCode", "exitCode": 75}, "0"]]), "75"),
        (answer([["error", {"type": "exitCode", "exitCode": -1}, "0"]]), "-1"),
        (answer(b"[" + b" " * MAX_ANSWER + b"]"), "MiB"),
    ],
)
async def test_nonsense_is_busy(said: bytes, words: str) -> None:
    async with opened(lambda _: said) as boxes:
        for done in (
            await boxes.look(LETTERS, "INBOX"),
            await boxes.move(LETTERS, "INBOX", "Junk"),
        ):
            assert [one.outcome for one in done] == [MoveOutcome.BUSY] * 5
            assert any(words.lower() in one.say.lower() for one in done), done
        assert all(len(one.say) < 1000 and one.say.isprintable() for one in done)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "exitCode", "uid", "flags", "mailbox"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)
ANSWERS = st.lists(
    st.tuples(
        st.sampled_from(["doveadmResponse", "error", ""]) | JSON,
        JSON,
        st.sampled_from(["0", "1", "9"]) | JSON,
    ),
    max_size=4,
) | st.binary(max_size=50)


async def test_whatever_is_said_each_letter_has_one_answer() -> None:
    """Invariant: as many answers as letters, and none says moved, as no row names the target with
    our keyword.
    """
    said = b""
    async with opened(lambda _: said) as boxes:
        loop = asyncio.get_running_loop()

        @settings(max_examples=60)
        @given(ANSWERS)
        def check(drawn: Any) -> None:
            nonlocal said
            said = answer(drawn)
            calling = asyncio.run_coroutine_threadsafe(
                boxes.move(LETTERS[:2], "INBOX", "Junk"), loop
            )
            done = calling.result(60)
            assert len(done) == 2
            assert all(one.outcome is not MoveOutcome.MOVED for one in done)

        await asyncio.to_thread(check)


@pytest.mark.parametrize(
    ("row", "outcome"),
    [
        ({"mailbox": "Junk", "flags": "\\Recent OboronaMoved", "uid": "1"}, MoveOutcome.MOVED),
        (
            {"mailbox": "Junk", "flags": "\\Recent OboronaMoved OboronaMoving", "uid": "1"},
            MoveOutcome.MOVED,
        ),
        ({"mailbox": "Junk", "flags": "OboronaMoving", "uid": "1"}, MoveOutcome.BUSY),
        ({"mailbox": "Junk", "flags": "\\Recent"}, MoveOutcome.PERSON),
        (
            {"mailbox": "INBOX", "flags": "\\Recent"},
            MoveOutcome.BUSY,
        ),  # nobody has opened it, and it is there still
        ({"mailbox": "INBOX", "flags": "\\Seen"}, MoveOutcome.SEEN),
        ({"mailbox": "INBOX", "flags": ""}, MoveOutcome.LISTED),
        ({"mailbox": "INBOX"}, MoveOutcome.LISTED),
        ({}, MoveOutcome.PERSON),  # in a folder without a name
    ],
)
async def test_only_what_is_seen_in_the_target_is_believed(
    row: dict[str, str], outcome: MoveOutcome
) -> None:
    async with opened(lambda request: answer(rows(request, row))) as boxes:
        done = await boxes.move(LETTERS, "INBOX", "Junk")
        assert [one.outcome for one in done] == [outcome] * 5


async def test_one_letter_that_spoils_the_answer_spoils_only_its_own() -> None:
    def says(request: bytes) -> bytes:
        if b'"user3"' in request:
            return answer(b'[["doveadmResponse",[{"uid":"1"],"0"]]')
        return answer(rows(request, {"mailbox": "INBOX", "flags": "\\Seen"}))

    async with opened(says) as boxes:
        many = [msgspec.structs.replace(LETTERS[0], user=f"user{number}") for number in range(30)]
        done = await boxes.look(many, "INBOX")
        assert [one.outcome for one in done] == [
            MoveOutcome.BUSY if number == 3 else MoveOutcome.SEEN for number in range(30)
        ]


async def test_silence_has_an_end() -> None:
    async with server(lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n[") as url:
        boxes = DoveadmMailboxes(
            DoveadmApi(url, b"key"), MoveGuard(move_listed=False), connections=2, deadline_s=0.05
        )
        many = [msgspec.structs.replace(LETTERS[0], user=f"user{number}") for number in range(200)]
        async with asyncio.timeout(30):
            done = await boxes.move(many, "INBOX", "Junk")
        assert {one.outcome for one in done} == {MoveOutcome.BUSY}
        closing = asyncio.create_task(boxes.close())
        await asyncio.sleep(0)
        for task in list(boxes._requests._running):
            task.cancel()
        await closing


async def test_nobody_there() -> None:
    async with server(lambda _: b"") as url:
        pass
    boxes = DoveadmMailboxes(
        DoveadmApi(url, b"key"), MoveGuard(move_listed=False), connections=2, deadline_s=20
    )
    assert [one.outcome for one in await boxes.look(LETTERS, "INBOX")] == [MoveOutcome.BUSY] * 5
    await boxes.close()


async def test_the_key_is_told_as_dovecot_wants_it_and_commands_by_name() -> None:
    heard: list[bytes] = []

    def says(request: bytes) -> bytes:
        heard.append(request)
        return answer([{"command": "batch", "parameters": []}, {"command": "fetch"}])

    async with server(says) as url:
        api = DoveadmApi(url, b"s\xc3\xa9kret")
        assert await api.names() == {"batch", "fetch"}
        await api.close()
        with pytest.raises(PeerError):
            await api.names()
    assert b"Authorization: X-Dovecot-API %b\r\n" % base64.b64encode(b"s\xc3\xa9kret") in heard[0]
