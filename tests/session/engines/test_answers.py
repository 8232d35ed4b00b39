"""Answers of engines, octet by octet: an opinion, or an error that is theirs.

Never anything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oborona.errors import PeerError
from oborona.policy.engines import EngineOpinion
from oborona.session.engines import clamd, rspamd, spamd
from oborona.session.engines.question import (
    LARGEST,
    MAX_NAME,
    MAX_SYMBOLS,
    TOO_LARGE,
    EngineQuestion,
)
from oborona.types import Client, Envelope

Answered = Callable[[bytes], EngineOpinion]
SPAMD = (
    b"SPAMD/1.1 0 EX_OK\r\nContent-length: 20\r\nSpam: True ; 21.3 / "
    b"5.0\r\n\r\nGTUBE,HTML_MESSAGE\r\n"
)
RSPAMD = (
    b'{"is_skipped":false,"score":7.5,"required_score":15.0,"action":"add '
    b'header","symbols":{"A":{"name":"A","score":-0.5,'
    b'"options":["x"]},"B":{"score":7.0},"C":{"score":1}},"messages":{},"message-id":"undef","time_real":0.09}'
)
CLAMD = b"stream: Win.Test.EICAR_HDB-1 FOUND\0"


def of_clamd(octets: bytes) -> EngineOpinion:
    return clamd.opinion_of_answer(octets, whole=True)


ALL: dict[str, tuple[Answered, bytes]] = {
    "rspamd": (rspamd.opinion_of_answer, RSPAMD),
    "spamd": (spamd.opinion_of_answer, SPAMD),
    "clamd": (of_clamd, CLAMD),
}


def checked(answered: Answered, octets: bytes) -> EngineOpinion | None:
    """Return what is made of an answer: an opinion that is printable, cut and finite, or None where
    it is none.
    """
    try:
        said = answered(octets)
    except PeerError as caught:
        told = str(caught)
    else:
        told = ""
    if told:
        assert len(told) < 300
        assert told.isprintable()
        return None
    for text in (said.action, said.virus, said.unknown, *said.symbols):
        assert len(text) <= MAX_NAME
        assert text.isprintable()
    assert len(said.symbols) <= MAX_SYMBOLS
    for number in (said.score, said.line):
        assert number is None or (math.isfinite(number) and abs(number) <= LARGEST)
    return said


def test_good_answers() -> None:
    assert rspamd.opinion_of_answer(RSPAMD) == EngineOpinion(
        engine="rspamd", action="add header", score=7.5, line=15.0, symbols=("B", "C", "A")
    )
    assert spamd.opinion_of_answer(SPAMD) == EngineOpinion(
        engine="spamd", action="spam", score=21.3, line=5.0, symbols=("GTUBE", "HTML_MESSAGE")
    )
    assert of_clamd(CLAMD) == EngineOpinion(
        engine="clamd", action="found", virus="Win.Test.EICAR_HDB-1"
    )
    assert of_clamd(b"stream: OK\0") == EngineOpinion(engine="clamd", action="ok")
    assert clamd.opinion_of_answer(b"stream: OK\0", whole=False).unknown == TOO_LARGE
    assert clamd.opinion_of_answer(CLAMD, whole=False).virus
    assert of_clamd(b"INSTREAM size limit exceeded. ERROR\0").unknown == TOO_LARGE


@pytest.mark.parametrize("name", ALL)
def test_what_breaks_off_anywhere_is_no_answer(name: str) -> None:
    answered, whole = ALL[name]
    for end in range(len(whole)):
        assert checked(answered, whole[:end]) is None, whole[:end]


@pytest.mark.parametrize("name", ALL)
@given(octets=st.binary(max_size=200))
@example(b"")
@example(b"\0")
@example(b"\xff" * 200)
def test_any_octets_are_an_opinion_or_no_answer(name: str, octets: bytes) -> None:
    checked(ALL[name][0], octets)


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
def test_an_answer_with_octets_changed_is_an_opinion_or_no_answer(
    name: str, data: st.DataObject
) -> None:
    answered, whole = ALL[name]
    place = data.draw(st.integers(0, len(whole) - 1))
    checked(
        answered,
        whole[:place]
        + data.draw(st.binary(max_size=8))
        + whole[place + data.draw(st.integers(0, 8)) :],
    )


@pytest.mark.parametrize(
    ("name", "octets"),
    [
        ("spamd", b"SPAMD/1.1 76 Bad header line: x\r\n\r\n"),
        ("spamd", b"SPAMD/1.1 0 EX_OK\r\nContent-length: 5\r\n\r\nGTUBE"),
        ("spamd", b"SPAMD/1.1 0 EX_OK\r\nSpam: True ; nan / 5.0\r\n\r\n"),
        ("spamd", b"SPAMD/1.1 0 EX_OK\r\nSpam: True ; 1e999 / 5.0\r\n\r\n"),
        ("spamd", b"SPAMD/1.1 0 EX_OK\r\nSpam: Perhaps ; 1 / 5.0\r\n\r\n"),
        ("spamd", b"HTTP/1.1 200 OK\r\n\r\nSpam: True ; 9 / 5"),
        ("rspamd", b"null"),
        ("rspamd", b"[]"),
        ("rspamd", b'{"error": "no"}'),
        ("rspamd", b'{"action": "", "score": 1}'),
        ("rspamd", b'{"action": "reject", "score": "15"}'),
        ("rspamd", b'{"action": "reject", "score": 1e999}'),
        ("rspamd", b'{"action": "reject", "score": NaN}'),
        ("rspamd", b'{"action": "reject", "score": 1, "symbols": {"A": 3}}'),
        ("rspamd", b"[" * 100_000),
        ("clamd", b"stream:  FOUND\0"),
        ("clamd", b"stream: FOUND\0"),
        ("clamd", b"UNKNOWN COMMAND\0"),
        ("clamd", b"stream: lstat() failed. ERROR\0"),
    ],
)
def test_an_answer_of_another_kind_is_none(name: str, octets: bytes) -> None:
    assert checked(ALL[name][0], octets) is None


def test_what_is_much_too_much_is_cut() -> None:
    symbols = ",".join(f'"{"S" * 200}{number}": {{"score": {number}}}' for number in range(500))
    found = rspamd.opinion_of_answer(
        f'{{"action": "{"a" * 999}", "score": -1e300, "symbols": {{{symbols}}}}}'.encode()
    )
    assert (found.score, len(found.action), len(found.symbols)) == (-LARGEST, MAX_NAME, 1)
    names = ",".join(f"RULE_{number}" for number in range(500))
    assert (
        len(
            spamd.opinion_of_answer(
                f"SPAMD/1.1 0 EX_OK\r\nSpam: True ; 9 / 5\r\n\r\n{names}".encode()
            ).symbols
        )
        == MAX_SYMBOLS
    )
    assert spamd.opinion_of_answer(
        b"SPAMD/1.1 0 EX_OK\r\nSpam: False ; 999999999999.0 / 5\r\n\r\na\x07b\r\n"
    ).symbols == ("a?b",)


texts = st.text(max_size=30)


@given(texts, texts, texts, texts, st.lists(texts, max_size=3))
def test_no_value_of_a_peer_adds_a_header_to_what_rspamd_is_told(
    helo: str, name: str, login: str, sender: str, recipients: list[str]
) -> None:
    envelope = Envelope(
        client=Client(ip="192.0.2.7", name=name),
        helo=helo,
        login=login,
        sender=sender,
        recipients=tuple(recipients),
    )
    told = rspamd.request_headers(EngineQuestion(b"", envelope, 0))
    assert {one for one, _ in told} <= {"IP", "Helo", "Hostname", "User", "From", "Rcpt"}
    assert sum(one == "Rcpt" for one, _ in told) == len(recipients)
    for _, value in told:
        assert value.isprintable()
        value.encode()


@given(st.binary(max_size=200_000))
def test_a_stream_for_clamd_holds_the_message_and_ends(octets: bytes) -> None:
    sent = b"".join(clamd.instream_request(octets))
    assert sent.startswith(b"zINSTREAM\0")
    place, found = len(b"zINSTREAM\0"), b""
    while length := int.from_bytes(sent[place : place + 4]):
        found += sent[place + 4 : place + 4 + length]
        place += 4 + length
    assert found == octets
    assert place + 4 == len(sent)
