"""Requests to spamd and rspamd: in any cut, of any length, broken, compressed, endless."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.spamd.codec import (
    MAX_HEAD,
    MAX_HEADERS,
    MAX_LINE,
    SpamdCodec,
    SpamdCommand,
    SpamdRequest,
)
from oborona.errors import PeerError
from tests.peers.spamc import request

LIMIT = 1000
LETTER = b"From: ann@a.example\r\nSubject: lunch\r\n\r\nAt noon?\r\n\0\xff"
EXIM = (
    b"CHECK RSPAMC/1.3\r\nContent-length: %d\r\nQueue-Id: 1x-0-2J\r\nFrom: "
    b"<>\r\nRecipient-Number: 2\r\n"
    b"Rcpt: <joe@example.test>\r\nRcpt: <ann@example.test>\r\nHelo: client.example\r\nIP: "
    b"192.0.2.9\r\n\r\n%b"
) % (len(LETTER), LETTER)


def run(stream: bytes, cuts: Iterable[int] = (), *, ends: bool = True) -> SpamdRequest | str | None:
    """Feed a stream in pieces; return what came of it, an error as its text."""
    codec = SpamdCodec(LIMIT)
    places = [0, *cuts, len(stream)]
    try:
        for start, end in itertools.pairwise(places):
            if found := codec.feed(stream[start:end]):
                return found
        return codec.end() if ends else None
    except PeerError as error:
        return str(error)


def packed(raw: bytes) -> bytes:
    return request("CHECK", zlib.compress(raw), "SPAMC/1.5", "Compress: zlib")


WHOLE = {
    "spamc": request("PROCESS", LETTER, "SPAMC/1.5", "User: joe"),
    "Exim": EXIM,
    "Exim, SpamAssassin": request("REPORT", LETTER, "SPAMC/1.2", "User: nobody"),
    "without a length": b"SYMBOLS SPAMC/1.5\nUser: joe\n\n" + LETTER,
    "without headers": b"CHECK SPAMC/1.0\r\n" + LETTER,
    "compressed": packed(LETTER),
    "too large": request("CHECK", LETTER * 30),
    "empty": request("CHECK"),
    "TELL": request("TELL", LETTER, "SPAMC/1.5", "Message-class: spam", "Set: local,remote"),
    "PING": b"PING SPAMC/1.5\r\n\r\n",
    "PING, old": b"PING SPAMC/1.2\r\n",
    "PING, rspamd": b"PING RSPAMC/1.3\r\n\r\n",
    "PING, and no more": b"PING SPAMC/1.5\r\n",
    "SKIP": b"SKIP SPAMC/1.2\r\n",
}
BROKEN = {
    "another protocol": (b"GET / HTTP/1.1\r\n\r\n", "not a command: b'GET / HTTP/1.1'"),
    "an unknown command": (b"LEARN SPAMC/1.5\r\n\r\n", "not a command"),
    "no version": (b"CHECK SPAMC\r\n\r\n", "not a command"),
    "nothing but a line": (b"\r\n", "not a command: b''"),
    "binary": (b"\x16\x03\x01\0\xff\n", "not a command"),
    "an endless line": (b"x" * MAX_LINE, "a line of more than"),
    "an endless header": (b"CHECK SPAMC/1.5\r\nUser: " + b"x" * MAX_LINE, "a line of more than"),
    "no header": (b"CHECK SPAMC/1.5\r\nUser joe\r\n\r\n", "not a header: b'User joe'"),
    "NUL in a header": (b"CHECK SPAMC/1.5\r\nUser: j\0e\r\n\r\n", "not a header"),
    "CR in a header": (b"CHECK SPAMC/1.5\r\nUser: j\re\r\n\r\n", "not a header"),
    "a length that is none": (b"CHECK SPAMC/1.5\r\nContent-length: -1\r\n\r\n", "not a length"),
    "a length of other digits": ("CHECK SPAMC/1.5\r\nContent-length: ٣\r\n\r\n".encode(), "not a length"),
    "a length without end": (b"CHECK SPAMC/1.5\r\nContent-length: %s\r\n\r\n" % (b"9" * 5000), "not a length"),
    "two lengths": (b"CHECK SPAMC/1.5\r\nContent-length: 1\r\nContent-length: 1\r\n\r\n", "not a length, or a second"),
    "a length that is not kept": (request("CHECK", LETTER)[:-1], f"a message of {len(LETTER)} bytes ends after"),
    "half a head": (b"CHECK SPAMC/1.5\r\nUser: joe\r\n", "a request breaks off"),
    "half a command": (b"CHECK SPA", "a request breaks off"),
    "compressed otherwise": (b"CHECK SPAMC/1.5\r\nCompress: lzma\r\n\r\n", "compressed otherwise"),
    "compressed without a length": (b"CHECK SPAMC/1.5\r\nCompress: zlib\r\n\r\n" + zlib.compress(LETTER), "needs its length"),
    "not compressed": (request("CHECK", LETTER, "SPAMC/1.5", "Compress: zlib"), "a broken compressed"),
    "half of what was compressed": (
        request("CHECK", zlib.compress(LETTER)[:-6], "SPAMC/1.5", "Compress: zlib"), "a compressed message breaks off",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "stream", [*WHOLE.values(), *(stream for stream, _ in BROKEN.values())], ids=[*WHOLE, *BROKEN]
)
def test_a_stream_says_the_same_however_it_is_cut(stream: bytes) -> None:
    want = run(stream)
    assert want is not None
    step = max(1, len(stream) // 400)  # at every octet, but of the few that are long
    for cut in range(1, len(stream), step):
        assert run(stream, [cut]) == want
    assert run(stream, range(1, len(stream))) == want


def test_what_spamc_sends() -> None:
    found = run(WHOLE["spamc"], ends=False)
    assert found == SpamdRequest(
        command=SpamdCommand.PROCESS,
        rspamd=False,
        version=1.5,
        headers=(("user", "joe"), ("content-length", str(len(LETTER)))),
        raw=LETTER,
        size=len(LETTER),
    )


def test_what_exim_sends() -> None:
    found = run(EXIM, ends=False)
    assert isinstance(found, SpamdRequest)
    assert (found.command, found.rspamd, found.version, found.raw) == (
        SpamdCommand.CHECK,
        True,
        1.3,
        LETTER,
    )
    assert [value for name, value in found.headers if name == "rcpt"] == [
        "<joe@example.test>",
        "<ann@example.test>",
    ]
    assert (found.get("helo"), found.get("from"), found.get("user")) == ("client.example", "<>", "")


@pytest.mark.parametrize(("stream", "why"), BROKEN.values(), ids=BROKEN)
def test_what_breaks_the_protocol_says_why_in_few_words(stream: bytes, why: str) -> None:
    found = run(stream)
    assert isinstance(found, str)
    assert found.startswith(why) or why in found
    assert len(found) < 400


def test_a_message_without_length_ends_with_the_input_and_not_before() -> None:
    assert run(WHOLE["without a length"], ends=False) is None
    found = run(WHOLE["without a length"])
    assert isinstance(found, SpamdRequest)
    assert found.raw == LETTER


@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT, LIMIT + 1, LIMIT * 50])
def test_of_a_large_message_the_head_is_kept_and_the_rest_counted(size: int) -> None:
    raw = bytes(range(256)) * (size // 256 + 1)
    found = run(request("CHECK", raw[:size]), range(0, size, 700))
    assert isinstance(found, SpamdRequest)
    assert (found.raw, found.size, found.truncated) == (raw[: min(size, LIMIT)], size, size > LIMIT)


@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT, LIMIT + 1, 50_000_000])
def test_a_compressed_message_unpacks_to_no_more_than_the_limit(size: int) -> None:
    found = run(packed(b"x" * size))
    assert isinstance(found, SpamdRequest)
    assert (found.raw, found.truncated) == (b"x" * min(size, LIMIT), size > LIMIT)
    assert found.size == min(size, LIMIT + 1), "nobody unpacks the rest to count it"


def test_of_a_compressed_message_that_is_too_large_even_so_the_head_is_unpacked() -> None:
    # does not get smaller
    raw = bytes(zlib.crc32(str(number).encode()) & 0xFF for number in range(5000))
    found = run(packed(raw))
    assert isinstance(found, SpamdRequest)
    assert found.truncated
    assert raw.startswith(found.raw)
    assert len(found.raw) > LIMIT // 2


def test_heads_are_bounded() -> None:
    assert (
        run(
            b"CHECK RSPAMC/1.3\r\n"
            + b"Rcpt: <a@b>\r\n" * (MAX_HEADERS - 1)
            + b"Content-length: 0\r\n\r\n"
        )
        is not None
    )
    many = run(b"CHECK RSPAMC/1.3\r\n" + b"Rcpt: <a@b>\r\n" * (MAX_HEADERS + 2))
    long = run(b"CHECK RSPAMC/1.3\r\n" + (b"A: " + b"x" * 8000 + b"\r\n") * (MAX_HEAD // 8000 + 1))
    assert isinstance(many, str)
    assert many == long == f"more than {MAX_HEADERS} headers, or {MAX_HEAD} bytes of them"


def test_what_comes_behind_a_request_is_not_looked_at() -> None:
    codec = SpamdCodec(LIMIT)
    found = codec.feed(request("CHECK", LETTER) + b"PING SPAMC/1.5\r\n\r\n")
    assert found is not None
    assert found.raw == LETTER
    assert (codec.done, codec.feed(b"PING SPAMC/1.5\r\n\r\n"), codec.end()) == (True, None, None)


def test_who_says_nothing_asked_nothing() -> None:
    codec = SpamdCodec(LIMIT)
    assert (codec.feed(b""), codec.begun, codec.end()) == (None, False, None)


def test_after_an_error_nothing_is_looked_at() -> None:
    codec = SpamdCodec(LIMIT)
    with pytest.raises(PeerError):
        codec.feed(b"nonsense\r\n")
    assert (codec.done, codec.feed(request("CHECK", LETTER)), codec.end()) == (True, None, None)


@given(
    st.one_of(
        st.binary(max_size=300),
        st.builds(
            lambda stream, place, piece: (
                stream[: place % len(stream)] + piece + stream[place % len(stream) :]
            ),
            st.sampled_from(sorted(WHOLE.values())),
            st.integers(0, 10_000),
            st.binary(min_size=1, max_size=10),
        ),
    ),
    st.lists(st.integers(0, 400), max_size=6),
)
def test_any_octets_give_one_answer_however_cut_and_keep_to_the_limit(
    stream: bytes, cuts: list[int]
) -> None:
    want = run(stream)
    assert run(stream, sorted(min(cut, len(stream)) for cut in cuts)) == want
    if isinstance(want, SpamdRequest):
        assert len(want.raw) <= min(LIMIT, want.size)
