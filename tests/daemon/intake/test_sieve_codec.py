"""Dovecot's script protocol: what the real one sends, whatever pieces it comes in, and what is
none.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oborona.daemon.intake.sieve_codec import MAX_ARGUMENTS, MAX_HEAD, SieveCodec, SieveRequest
from oborona.errors import PeerError

SENT = (  # by Dovecot 2.3.19.1, Pigeonhole 0.5.19
    b"VERSION\tscript\t4\t0\nenv_USER=joe\nenv_HOME=/var/mail/joe\nenv_HOST=vm\n-\n"
    b"what=complaint\nuser=joe\nmailbox=Junk\n\n"
    b"Subject: Hello\r\n\r\nGood day.\r\n.\r\n\n\nmore\r\n"
)
WANT = SieveRequest(
    arguments={"what": "complaint", "user": "joe", "mailbox": "Junk"},
    wants_answer=True,
    raw=b"Subject: Hello\r\n\r\nGood day.\r\n.\r\n\n\nmore\r\n",
    size=40,
)
KEEP = 1000


def read(*pieces: bytes, keep: int = KEEP) -> SieveRequest:
    codec = SieveCodec(keep)
    for piece in pieces:
        codec.feed(piece)
    return codec.end()


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 2, 7, 16, 128, 4096])
def test_what_dovecot_sends_is_read_in_any_pieces(size: int) -> None:
    assert read(*cut(SENT, size)) == WANT


@pytest.mark.parametrize(
    ("head", "arguments", "wants_answer"),
    [
        pytest.param(b"VERSION\tscript\t3\t0\n-\nwhat=x\n\n", {"what": "x"}, True, id="version 3"),
        pytest.param(
            b"VERSION\tscript\t4\t0\nnoreply\nwhat=x\n\n", {"what": "x"}, False, id="no answer"
        ),
        pytest.param(
            b"VERSION\tscript\t4\t0\nalarm=10\n-\na=\n\n",
            {"a": ""},
            True,
            id="an alarm, an empty value",
        ),
        pytest.param(b"VERSION\tscript\t4\t0\n-\n\n", {}, True, id="nothing said"),
        pytest.param(
            b"VERSION\tscript\t4\t0\n-\na=b=c\n\n", {"a": "b=c"}, True, id="an equals sign"
        ),
        pytest.param(
            b"VERSION\tscript\t4\t0\n-\na=1\x01t2\x01n3\x0114\x0105\n\n",
            {"a": "1\t2\n3\x014\x005"},
            True,
            id="escapes",
        ),
        pytest.param(
            "VERSION\tscript\t4\t0\n-\na=Корзина\n\n".encode(),
            {"a": "Корзина"},
            True,
            id="a name in Cyrillic",
        ),
        pytest.param(b"VERSION\tscript\t4\t0\n-\na=\xff\n\n", {"a": "�"}, True, id="no UTF-8"),
    ],
)
def test_heads_that_are_understood(
    head: bytes, arguments: dict[str, str], wants_answer: bool
) -> None:
    request = read(head)
    assert (request.arguments, request.wants_answer, request.raw) == (arguments, wants_answer, b"")


@pytest.mark.parametrize(
    "head",
    [
        b"\n\n",
        b"GET / HTTP/1.1\r\n\r\n\n\n",
        b"VERSION\tscript\t5\t0\n-\n\n",
        b"VERSION\tauth\t4\t0\n-\n\n",
        b"VERSION\tscript\t4\t0\n\n",
        b"VERSION\tscript\t4\t0\nenv_USER=joe\n\n",
        b"VERSION\tscript\t4\t0\nwhat=x\n\n",
        b"VERSION\tscript\t4\t0\n-\nwhat\n\n",
        b"VERSION\tscript\t4\t0\n-\n=x\n\n",
        b"VERSION\tscript\t4\t0\n-\nwh at=x\n\n",
        b"VERSION\tscript\t4\t0\n-\nwhat=x\nwhat=y\n\n",
        b"VERSION\tscript\t4\t0\n-\n"
        + b"".join(b"a%s=x\n" % (b"b" * n) for n in range(MAX_ARGUMENTS + 1))
        + b"\n",
        b"VERSION\tscript\t4\t0\n-\na=" + b"x" * MAX_HEAD + b"\n\n",
        b"VERSION\tscript\t4\t0\n-\na=" + b"x" * MAX_HEAD,
    ],
)
@pytest.mark.parametrize("size", [1, 100_000])
def test_heads_that_are_none(head: bytes, size: int) -> None:
    with pytest.raises(PeerError):
        read(*cut(head, size))


@pytest.mark.parametrize("end", range(len(SENT) - len(WANT.raw)))
def test_a_request_that_ends_in_the_middle_is_none(end: int) -> None:
    with pytest.raises(PeerError, match="in the middle"):
        read(SENT[:end])


def test_of_a_large_message_the_beginning_is_kept_and_all_is_counted() -> None:
    request = read(SENT, b"x" * 5000, b"y" * 5000, keep=100)
    assert len(request.raw) == 100
    assert request.size == WANT.size + 10_000


@given(st.binary(max_size=300), st.lists(st.integers(1, 50), max_size=10))
@example(b"VERSION\tscript\t4\t0\n-\n\n", [1])
def test_any_bytes_are_a_request_or_a_broken_one_in_whatever_pieces(
    data: bytes, sizes: list[int]
) -> None:
    """Invariant: a request or a PeerError, the same however the bytes are cut, and no more kept
    than asked for.
    """

    def outcome(pieces: list[bytes]) -> SieveRequest | str:
        try:
            return read(*pieces, keep=50)
        except PeerError:
            return "broken"

    for start in (b"", SENT[:30], SENT[: len(SENT) - len(WANT.raw)]):
        whole = start + data
        pieces, place = [], 0
        for size in sizes:
            pieces.append(whole[place : place + size])
            place += size
        found = outcome([*pieces, whole[place:]])
        assert found == outcome([whole])
        assert isinstance(found, str) or len(found.raw) <= 50
