"""What a next hop answers: read in any pieces, passed on unchanged, and nothing else taken for an
answer.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.smtp.replies import MAX_LINE, MAX_LINES, SmtpReply, SmtpReplyParser, own_reply
from oborona.errors import PeerError

texts = st.binary(max_size=40).map(lambda one: one.translate(None, b"\0\r\n"))
replies = st.tuples(st.integers(200, 599), st.lists(texts, min_size=1, max_size=5))


def read(wire: bytes, size: int = 1 << 20) -> list[SmtpReply]:
    answers = SmtpReplyParser()
    return [
        one
        for place in range(0, len(wire), size)
        for one in answers.feed(wire[place : place + size])
    ]


def written(code: int, words: list[bytes]) -> bytes:
    *first, last = words
    return b"".join(b"%d-%s\r\n" % (code, one) for one in first) + b"%d %s\r\n" % (code, last)


@given(st.lists(replies, max_size=5), st.sampled_from([1, 2, 7, 4096]))
def test_answers_come_out_as_they_were_written_in_any_pieces(
    every: list[tuple[int, list[bytes]]], size: int
) -> None:
    wires = [written(*one) for one in every]
    found = read(b"".join(wires), size)
    assert [one.wire for one in found] == wires
    assert [one.code for one in found] == [code for code, _ in every]


@given(st.binary(max_size=200), st.sampled_from([1, 3, 4096]))
def test_anything_at_all_is_answers_or_an_error(wire: bytes, size: int) -> None:
    def outcome(pieces: int) -> object:
        found: list[SmtpReply] = []
        answers = SmtpReplyParser()
        try:
            for place in range(0, len(wire), pieces):
                found.extend(answers.feed(wire[place : place + pieces]))
        except PeerError as error:
            return found, str(error)
        return found, ""

    assert outcome(size) == outcome(1 << 20)


@pytest.mark.parametrize(
    "wire",
    [
        b"hello\r\n",
        b"\r\n",
        b"25\r\n",
        b"2500 x\r\n",
        b"199 x\r\n",
        b"650 x\r\n",
        b"250_x\r\n",
        b"250-a\r\n550 b\r\n",  # two codes in one
        b"250 a\0b\r\n",
        b"250 a\rb\r\n",
        b"HTTP/1.1 400 Bad Request\r\n",
        b"2" * (MAX_LINE + 1),
        b"250-x\r\n" * (MAX_LINES + 1),
    ],
)
def test_what_is_no_answer_is_an_error(wire: bytes) -> None:
    with pytest.raises(PeerError):
        read(wire)


def test_a_bare_code_and_a_bare_line_feed_are_borne_with() -> None:
    assert [one.code for one in read(b"250\n354 go on\n")] == [250, 354]


def test_what_an_answer_means() -> None:
    assert own_reply(250, "2.0.0", "Saved").good
    assert not own_reply(451, "4.4.2", "x").good
    assert not read(b"354 x\r\n")[0].decides
    assert own_reply(550, "5.7.1", "x").wire == b"550 5.7.1 x\r\n"
    assert own_reply(451, "4.3.0", "fünf").wire == b"451 4.3.0 f?nf\r\n"
