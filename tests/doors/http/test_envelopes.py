"""What a request says of a message: the headers of rspamd's clients, and JSON."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.http.envelopes import (
    MAX_RECIPIENTS,
    MAX_VALUE,
    EnvelopeHeaders,
    envelope_of_json,
)
from oborona.doors.http.model import ScanEnvelope
from oborona.errors import PeerError
from oborona.types import Client, Envelope


def of(*headers: tuple[str, str]) -> Envelope:
    return EnvelopeHeaders((name.encode(), value.encode()) for name, value in headers).envelope()


def test_all_that_rspamc_tells() -> None:
    """As rspamc 3.4 of Debian wrote it."""
    assert of(
        ("Content-Length", "32"),
        ("User", "joe"),
        ("Deliver-To", "dl@x.example"),
        ("Filename", "/tmp/m.eml"),
        ("Ip", "192.0.2.1"),
        ("Flags", "pass_all,body_block"),
        ("Helo", "h.example"),
        ("From", "f@x.example"),
        ("Hostname", "HN.example"),
        ("Rcpt", "r@x.example"),
        ("Rcpt", "r2@x.example"),
        ("Queue-Id", "4XyZ"),
    ) == Envelope(
        client=Client(ip="192.0.2.1", name="hn.example"),
        helo="h.example",
        sender="f@x.example",
        recipients=("r@x.example", "r2@x.example"),
        login="joe",
        queue_id="4XyZ",
    )


@pytest.mark.parametrize(
    ("value", "address", "port"),
    [
        ("192.0.2.1", "192.0.2.1", 0),
        ("192.0.2.1:25025", "192.0.2.1", 25_025),
        ("192.0.2.1:99999", "192.0.2.1", 0),
        ("[192.0.2.1]", "192.0.2.1", 0),
        ("[2001:db8::1]", "2001:db8::1", 0),
        ("[2001:db8::1]:25", "2001:db8::1", 25),
        ("2001:db8::1", "2001:db8::1", 0),
        ("::ffff:192.0.2.1", "192.0.2.1", 0),
        ("unknown", "", 0),
        ("", "", 0),
    ],
)
def test_addresses_of_clients(value: str, address: str, port: int) -> None:
    found = of(("IP", value)).client
    assert (found.ip, found.port) == (address, port)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("<a@x.example>", ["a@x.example"]),
        ("a@x.example, <b@x.example>,c@x.example", ["a@x.example", "b@x.example", "c@x.example"]),
        ('"a,b"@x.example,c@x.example', ['"a,b"@x.example', "c@x.example"]),
        ('"a\\",b"@x.example', ['"a\\",b"@x.example']),
        (" , ,", []),
        ('"a@x.example', ['"', "a@x.example"]),
    ],
)
def test_recipients(value: str, expected: list[str]) -> None:
    assert list(of(("Rcpt", value)).recipients) == expected


def test_a_bounce_is_written_in_two_ways() -> None:
    assert of(("From", "<>")).sender == of().sender == ""


def test_who_it_is_delivered_to_is_its_recipient_where_none_is_named() -> None:
    assert of(("Deliver-To", "joe@x.example")).recipients == ("joe@x.example",)
    assert of(("Deliver-To", "joe@x.example"), ("Rcpt", "ann@x.example")).recipients == (
        "ann@x.example",
    )


@pytest.mark.parametrize(
    "header",
    [
        (b"IP", b"192.0.2.300"),
        (b"IP", b"bad"),
        (b"IP", b"192.0.2.1:"),
        (b"IP", b"192.0.2.1:x"),
        (b"IP", b"[192.0.2.1"),
        (b"IP", b"[]"),
        (b"From", b"a\x00b"),
        (b"Helo", b"a\tb"),
        (b"Rcpt", b"a\x7fb"),
        (b"User", b"x" * (MAX_VALUE + 1)),
        (b"Rcpt", b"x" * (MAX_VALUE + 1)),
        (b"Rcpt", b"a," * (MAX_RECIPIENTS + 1)),
    ],
)
def test_what_is_no_envelope(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(PeerError):
        EnvelopeHeaders([header]).envelope()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [b"IP", b"from", b"Rcpt", b"HELO", b"User", b"Queue-Id", b"Hostname", b"X"]
            ),
            st.binary(max_size=40),
        ),
        max_size=6,
    )
)
def test_any_headers_give_an_envelope_that_can_be_stored_or_an_error(
    headers: list[tuple[bytes, bytes]],
) -> None:
    """Invariant: nothing but PeerError is raised, and what comes out is UTF-8 on one line."""
    try:
        found = EnvelopeHeaders(headers).envelope()
    except PeerError:
        return
    for value in (
        found.helo,
        found.sender,
        found.login,
        found.queue_id,
        found.client.name,
        *found.recipients,
    ):
        assert value.encode("utf-8").decode().isprintable() or not value.isascii()
        assert "\n" not in value


def test_json_says_the_same_as_headers() -> None:
    asked = msgspec.json.decode(
        b'{"client": {"ip": "192.0.2.1", "name": "HN.example.", "port": 7}, "helo": "h", '
        b'"sender": "<f@x.example>",'
        b' "recipients": ["<r@x.example>"], "login": "joe", "queue_id": "Q", "port": "25"}',
        type=ScanEnvelope,
    )
    assert envelope_of_json(asked) == Envelope(
        client=Client(ip="192.0.2.1", name="hn.example", port=7),
        helo="h",
        sender="f@x.example",
        recipients=("r@x.example",),
        login="joe",
        queue_id="Q",
    )


@pytest.mark.parametrize(
    "body",
    [
        b'{"helo": "a\\u0000b"}',
        b'{"helo": "a\\n"}',
        b'{"sender": "a\\u007fb"}',
        b'{"recipients": [""]}',
        b'{"recipients": ["a\\nb"]}',
        b'{"port": "25\\n"}',
        b'{"port": "smtp"}',
        b'{"client": {"port": 65536}}',
        b'{"client": {"address": "192.0.2.1"}}',
        b'{"helo": 7}',
        b'{"from": "x"}',
        b'{"login": "\\ud800"}',
    ],
)
def test_json_that_is_none_of_ours(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(body, type=ScanEnvelope)
