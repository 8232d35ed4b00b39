"""The reference of who comes when a door is full, in the words of each protocol."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import pytest

from oborona.doors.client_key import peer_address
from oborona.doors.exim.answer import answer_line
from oborona.doors.proxy.replies import busy_wire
from oborona.doors.reply import BUSY, SessionReply, refusal_reply
from oborona.doors.spamd import spamc
from oborona.doors.turned_away import busy_words, without_reference
from oborona.doors.web import busy_answer

TEXT = "Too busy, try again later, reference 0SAH375J007Q5; https://mx.example.test/senders"
REPLY = refusal_reply(451, "4.3.2", TEXT)


@pytest.mark.parametrize(
    ("encode", "begins"),
    [
        (busy_wire, "421 4.3.2 Too busy"),
        (answer_line, "verdict=defer"),
        (spamc.busy_answer, "SPAMD/1.1 75 EX_TEMPFAIL Too busy"),
        (lambda reply: busy_answer(reply.text), "HTTP/1.1 503 "),
    ],
)
def test_each_protocol_tells_the_reference_to_who_came(
    encode: Callable[[SessionReply], bytes], begins: str
) -> None:
    came: list[str] = []

    def turned_away(address: str) -> SessionReply:
        came.append(address)
        return REPLY

    with (
        socket.create_server(("127.0.0.1", 0)) as door,
        socket.create_connection(door.getsockname()),
    ):
        peer, _ = door.accept()
        with peer:
            told = busy_words(turned_away, encode)(peer).decode("ascii")
    assert came == ["127.0.0.1"]
    assert told.startswith(begins)
    assert "reference 0SAH375J007Q5; https://mx.example.test/senders" in told


def test_an_answer_of_http_is_as_long_as_it_says() -> None:
    for words in ("", TEXT, 'a "b"\\'):
        head, _, body = busy_answer(words).partition(b"\r\n\r\n")
        assert f"Content-Length: {len(body)}\r\n".encode() in head
        assert json.loads(body) == {"error": words}


def test_an_address_is_that_of_who_came_where_it_can_be_told() -> None:
    with (
        socket.create_server(("::1", 0), family=socket.AF_INET6) as door,
        socket.create_connection(door.getsockname()[:2]),
    ):
        peer, _ = door.accept()
        with peer:
            assert peer_address(peer) == "::1"
    one, other = socket.socketpair()
    with one, other:
        assert peer_address(one) == ""
    with socket.socket() as gone:
        assert peer_address(gone) == ""
    assert without_reference("192.0.2.1") is BUSY
