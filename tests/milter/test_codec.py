"""The codec: packets in any cut, broken ones, and bytes that mean nothing."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oborona.errors import PeerError
from oborona.milter import codec
from oborona.milter.codec import MAX_PACKET, MilterCodec
from oborona.types import Client


def packet(letter: bytes, data: bytes = b"") -> bytes:
    return struct.pack("!I", len(data) + 1) + letter + data


SESSION = [
    (packet(b"O", struct.pack("!III", 6, 0x1FF, 0x1FFFFF)), codec.Negotiate(6, 0x1FF, 0x1FFFFF)),
    (packet(b"D", b"Cj\0mx.test\0{client_addr}\x00192.0.2.9\0"), codec.MilterMacros({"j": "mx.test", "client_addr": "192.0.2.9"})),
    (
        packet(b"C", b"Client.Test\x004" + struct.pack("!H", 25) + b"192.0.2.9\0"),
        codec.Connect(Client(ip="192.0.2.9", name="client.test", port=25)),
    ),
    (packet(b"D", b"H"), None),  # nothing to tell
    (packet(b"H", b"client.test\0"), codec.Helo("client.test")),
    (packet(b"U", b"XYZZY\0"), codec.UnknownCommand()),
    (packet(b"M", b"<a@b.test>\0SIZE=10\0BODY=8BITMIME\0"), codec.MailFrom("a@b.test", ("SIZE=10", "BODY=8BITMIME"))),
    (packet(b"R", b"<c@d.test>\0"), codec.RcptTo("c@d.test", ())),
    (packet(b"T"), codec.DataCommand()),
    (packet(b"L", b"Subject\0 a\n\tb\0"), codec.MilterHeader(b"Subject", b" a\n\tb")),
    (packet(b"L", b"X-Empty\0\0"), codec.MilterHeader(b"X-Empty", b"")),
    (packet(b"N"), codec.EndOfHeaders()),
    (packet(b"B", b"body\0with\xffbytes\r\n"), codec.BodyChunk(b"body\0with\xffbytes\r\n")),
    (packet(b"E", b"last"), codec.EndOfMessage(b"last")),
    (packet(b"A"), codec.Abort()),
    (packet(b"M", b"<>\0"), codec.MailFrom("", ())),
    (packet(b"K"), codec.QuitAndReuse()),
    (packet(b"C", b"localhost\0U"), codec.Connect(Client(name="localhost"))),
    (packet(b"C", b"localhost\0L\0\0/run/socket\0"), codec.Connect(Client(name="localhost"))),
    (packet(b"Q"), codec.Quit()),
]  # fmt: skip
STREAM = b"".join(data for data, _ in SESSION)
EVENTS = [event for _, event in SESSION if event]


def run(stream: bytes, size: int) -> tuple[list[codec.MilterEvent], str]:
    """Feed a stream in pieces; return its events and the error that ended them."""
    reader, events = MilterCodec(), []
    try:
        for start in range(0, len(stream), size):
            for event in reader.feed(stream[start : start + size]):
                events.append(event)  # noqa: PERF402 - those before an error count
    except PeerError as error:
        return events, str(error)
    return events, ""


@pytest.mark.parametrize("size", [1, 16, 128, 4096])
def test_a_session_in_pieces(size: int) -> None:
    assert run(STREAM, size) == (EVENTS, "")


@pytest.mark.parametrize("cut", range(1, len(STREAM), 7))
def test_a_truncated_stream_gives_the_events_that_are_whole(cut: int) -> None:
    events, error = run(STREAM[:cut], 64)
    assert error == ""
    assert events == EVENTS[: len(events)]
    ends = [sum(len(data) for data, _ in SESSION[: i + 1]) for i in range(len(SESSION))]
    assert len(events) == sum(
        1 for end, (_, event) in zip(ends, SESSION, strict=True) if event and end <= cut
    )


@pytest.mark.parametrize("size", [1, 4096])
def test_the_largest_packet_is_taken_and_one_more_byte_is_not(size: int) -> None:
    data = b"x" * (MAX_PACKET - 1)
    if size > 1:
        assert run(packet(b"B", data), size) == ([codec.BodyChunk(data)], "")
    events, error = run(struct.pack("!I", MAX_PACKET + 1) + b"B", size)
    assert events == []
    assert str(MAX_PACKET + 1) in error


@pytest.mark.parametrize(
    "broken",
    [
        packet(b"?"),
        packet(b"\0"),
        packet(b"\xff", b"x"),
        struct.pack("!I", 0) + b"Q",
        struct.pack("!I", 0xFFFFFFFF) + b"L",
        packet(b"O", b"\0" * 11),
        packet(b"D", b"Cname without end"),
        packet(b"D", b"Cname\0"),
        packet(b"D", b"Ca\0b\0c\0"),
        packet(b"C"),
        packet(b"C", b"host"),
        packet(b"C", b"host\0"),
        packet(b"C", b"host\x004"),
        packet(b"C", b"host\x004\0\x19"),
        packet(b"C", b"host\x004\0\x19192.0.2.9"),
        packet(b"C", b"host\x004\0\x19192.0.2.999\0"),
        packet(b"C", b"host\x006\0\x19not an address:\0"),
        packet(b"C", b"host\x00X\0\x19192.0.2.9\0"),
        packet(b"H"),
        packet(b"H", b"no end"),
        packet(b"M"),
        packet(b"M", b"<a@b.test>"),
        packet(b"R", b""),
        packet(b"L"),
        packet(b"L", b"Name"),
        packet(b"L", b"Name\0"),
        packet(b"L", b"Name\0value"),
    ],
)
def test_what_is_broken_is_the_peers_fault(broken: bytes) -> None:
    events, error = run(packet(b"A") + broken, 4096)
    assert events == [codec.Abort()]
    assert error
    assert error.isprintable()
    assert len(error) < 200


def test_macros_said_again_within_a_message_are_told_once() -> None:
    said = packet(b"D", b"Li\x004ABC\0")
    header = packet(b"L", b"A\0 b\0")
    again = packet(b"D", b"Bi\x004ABC\0")
    other = packet(b"D", b"Ei\x004ABD\0")
    events, _ = run(
        said + header + said + header + again + packet(b"B", b"x") + other + packet(b"E"), 4096
    )
    assert [event for event in events if isinstance(event, codec.MilterMacros)] == [
        codec.MilterMacros({"i": "4ABC"}),
        codec.MilterMacros({"i": "4ABD"}),
    ]


def test_macros_of_the_next_message_are_told_though_they_are_the_same() -> None:
    said = packet(b"D", b"M{mail_addr}\0a@b.test\0")
    events, _ = run((said + packet(b"M", b"<a@b.test>\0") + packet(b"A")) * 2, 4096)
    assert [type(event) for event in events] == [
        codec.MilterMacros,
        codec.MailFrom,
        codec.Abort,
    ] * 2


def test_text_that_is_not_utf8_stays_apart_and_can_be_encoded() -> None:
    one, two = (
        run(packet(b"H", name + b"\0"), 4096)[0][0] for name in (b"\xff.test", b"\xfe.test")
    )
    assert isinstance(one, codec.Helo)
    assert isinstance(two, codec.Helo)
    assert one.name != two.name
    assert one.name.encode("utf-8")


@given(stream=st.binary(max_size=400), size=st.integers(1, 64))
@example(stream=b"\0\0\0\x01Q\0\0\0\x01?", size=1)
def test_any_bytes_are_events_or_a_peer_error_however_they_are_cut(
    stream: bytes, size: int
) -> None:
    """Invariant: feed never raises anything but PeerError, and pieces change neither events nor
    error.
    """
    assert run(stream, size) == run(stream, len(stream) or 1)


LETTERS = st.sampled_from([bytes([letter]) for letter in b"ODCHMRTLNBEAQKU"])
PACKETS = st.lists(
    st.builds(
        packet,
        LETTERS,
        st.one_of(st.binary(max_size=60), st.text("ab<>@:4\0", max_size=30).map(str.encode)),
    ),
    max_size=12,
).map(b"".join)


@given(stream=PACKETS, size=st.integers(1, 64))
def test_any_packets_are_events_or_a_peer_error_however_they_are_cut(
    stream: bytes, size: int
) -> None:
    """The same invariant, beyond the first five bytes."""
    events, error = run(stream, size)
    assert (events, error) == run(stream, len(stream) or 1)
    assert all(isinstance(event, codec.MilterEvent) for event in events)
