"""The headers that SpamAssassin learns the envelope from: two, whatever a peer has said."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from oborona.session.engines.trace_headers import trace_headers
from oborona.types import Client, Envelope

NOW = 1_795_170_000.0
POSTFIX = re.compile(  # as SpamAssassin reads it
    r"from (\S+) \((\S+) \[(?:IPv6:)?([0-9a-f.:]+)\]\)(?: \(Authenticated sender: \S+\))? by "
    r"(\S+) \(Postfix\) with ESMTPA?"
    r"(?: id (\S+))?(?: for <(\S*)>)?; .{31}"
)


def test_it_reads_as_postfix_writes_it() -> None:
    envelope = Envelope(
        client=Client(ip="2001:db8::7", name="mail.a.example"),
        helo="mail.a.example",
        sender="ann@a.example",
        recipients=("bob@b.example",),
        queue_id="4Q",
    )
    assert trace_headers(envelope, "mx.b.example", NOW) == (
        b"Return-Path: <ann@a.example>\r\n"
        b"Received: from mail.a.example (mail.a.example [IPv6:2001:db8::7])\r\n"
        b"\tby mx.b.example (Postfix) with ESMTP id 4Q\r\n"
        b"\tfor <bob@b.example>; Fri, 20 Nov 2026 10:20:00 +0000\r\n"
    )


def test_no_client_is_this_machine_and_an_unknown_one_is_not() -> None:
    assert b"[127.0.0.1]" in trace_headers(Envelope(), "mx.b.example", NOW)
    assert b"[0.0.0.0]" in trace_headers(Envelope(client=Client(unknown=True)), "mx.b.example", NOW)


hostile = st.text(max_size=40) | st.text("[]()<>. \r\n\t;:abc127.0.0.1", max_size=40)


@given(hostile, hostile, hostile, hostile, hostile, st.lists(hostile, max_size=2))
@example("x (a [127.0.0.1]) by mx (Postfix) with ESMTP id 1", "", "", "", "", [])
@example("[127.0.0.1]", "", "", "", "", [])
@example("", "a\r\nReceived: from b", "\r\n\r\n", ">\r\nX: y", "", ["a>\r\nX: y"])
def test_no_value_of_a_peer_adds_a_header_or_another_client(
    helo: str, name: str, login: str, sender: str, queue: str, recipients: list[str]
) -> None:
    envelope = Envelope(
        client=Client(ip="192.0.2.7", name=name),
        helo=helo,
        login=login,
        sender=sender,
        recipients=tuple(recipients),
        queue_id=queue,
    )
    text = trace_headers(envelope, "mx.b.example", NOW).decode("ascii")
    assert text.endswith("\r\n")
    path, received = re.sub(r"\r\n[ \t]+", " ", text[:-2]).split("\r\n")
    assert "\r" not in path + received
    assert "\n" not in path + received
    assert re.fullmatch(r"Return-Path: <[^<> ]*>", path)
    found = POSTFIX.fullmatch(received.removeprefix("Received: "))
    assert found is not None, received
    assert found[3] == "192.0.2.7"
    assert found[4] == "mx.b.example"
