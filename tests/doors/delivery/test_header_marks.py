"""Our headers in a message that is handed on: read, and replaced without touching any other."""

from __future__ import annotations

import email
import email.policy

from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.delivery.header_marks import (
    REPLACED,
    CopyMark,
    HeaderMarks,
    read_marks,
    with_mark,
)
from oborona.policy.headers import HeaderDetail, our_headers
from oborona.types import Action, RuleHit, Verdict

HEADER = (
    b"Received: from x.example (x.example [192.0.2.1])\r\n\tby mx.test (Postfix) with ESMTP id "
    b"4ABCdef012\r\n"
    b"\tfor <joe@example.test>; Sun, 22 Nov 2026 11:55:33 +0000 (UTC)\r\n"
    b"Received: from y.example\r\n\tby z (Postfix) with ESMTP id 4OTHER0000\r\n"
    b"Subject: x\r\n\ty\r\n"
    b"X-Mras: Probable\r\nX-Mras-Score: 120.5 / 100\r\n"
    b"X-Mras-Reason: A=100.0(b\r\n\tc) D=20.5\r\nX-Mras-Id: "
    b"0SA9DD1ZR0JHJ.EXZX5NP2LNJGZQXA\r\nX-Spam-Flag: YES\r\nTo: joe\r\n\r\n"
)
OK = CopyMark(
    action=Action.ACCEPT,
    score=120.5,
    line=200.0,
    reason="PERSONAL=0.0(their list: ann@a.example) A=100.0(b c)",
)
# lines of a header block, ours among them, whole and broken
fields = st.lists(
    st.sampled_from(
        [b"Subject: x\r\n", b"x-mras : Ok\r\n", b"X-MRAS-SCORE: 1 / 2\r\n\tmore\r\n", b"X-Mras-Id: x\r\n", b"X-Spam-Flag: NO\r\n",
         b"X-Mras-Other: x\r\n", b"no colon\r\n", b" begins folded\r\n", b": nameless\r\n", b"\xff\xfe: \xff\r\n", b"A:\r\n\tX-Mras: no\r\n"]
    ),
    max_size=8,
)  # fmt: skip


def test_what_the_headers_say_is_read() -> None:
    assert read_marks(HEADER) == HeaderMarks(
        action=Action.SPAM,
        score=120.5,
        line=100.0,
        reason="A=100.0(b c) D=20.5",
        ident="0SA9DD1ZR0JHJ.EXZX5NP2LNJGZQXA",
        queue_id="4ABCdef012",
    )


def test_a_copy_says_its_own_in_the_place_of_ours_and_nothing_else_moves() -> None:
    found = with_mark(HEADER, OK)
    before, _, after = HEADER.partition(b"X-Mras: Probable\r\n")
    assert found == (
        before + b"X-Mras: Ok\r\nX-Mras-Score: 120.5 / 200\r\n"
        b"X-Mras-Reason: PERSONAL=0.0(their list: ann@a.example) A=100.0(b c)\r\n"
        b"X-Mras-Id: 0SA9DD1ZR0JHJ.EXZX5NP2LNJGZQXA\r\nTo: joe\r\n\r\n"
    ), after


@given(fields, st.sampled_from([Action.ACCEPT, Action.SPAM, Action.REJECT]), st.text(max_size=300))
def test_whatever_stood_there_the_copy_says_its_own_once_and_keeps_the_rest(
    lines: list[bytes], action: Action, words: str
) -> None:
    """Of the fields that are ours each is there once, of the others all, in their order.

    And no line is longer than SMTP allows.
    """
    found = with_mark(
        b"".join(lines) + b"\r\n", CopyMark(action=action, score=1.0, line=2.0, reason=words)
    )
    assert found.endswith(b"\r\n\r\n")
    assert all(len(line) <= 998 for line in found.split(b"\r\n"))
    again = read_marks(found)
    assert (again.action, again.score, again.line) == (action, 1.0, 2.0)
    names = [
        line.partition(b":")[0].strip().lower().decode("latin-1")
        for line in found.split(b"\r\n")
        if line[:1] not in b" \t"
    ]
    for name in REPLACED - {"x-spam-flag"}:
        assert names.count(name) == (name != "x-mras-reason" or bool(words.split())), (
            "and nothing is not said"
        )
    assert names.count("x-spam-flag") == (action is not Action.ACCEPT)
    if not lines or not lines[0].startswith(b" "):
        assert _without_ours(found) == _without_ours(b"".join(lines) + b"\r\n")


def _without_ours(header: bytes) -> bytes:
    kept, ours_now = [], False
    for line in header.splitlines(keepends=True):
        if line[:1] not in b" \t":
            ours_now = line.partition(b":")[0].strip().lower().decode("latin-1") in REPLACED
        if not ours_now:
            kept.append(line)
    return b"".join(kept)


def test_what_the_milter_writes_is_read_back() -> None:
    verdict = Verdict(
        action=Action.SPAM, score=100.04, line=100.0, decided_by="A",
        rules=(RuleHit(name="A", score=100.0, say="ж" * 300), RuleHit(name="B", score=0.04, say="")),
    )  # fmt: skip
    wire = "".join(
        f"{name}: {value}\r\n" for name, value in our_headers(verdict, "X.Y", HeaderDetail.FULL)
    ).replace("\n\t", "\r\n\t")
    found = read_marks(wire.encode() + b"\r\n")
    assert (found.action, found.score, found.line, found.ident) == (
        Action.SPAM,
        100.0,
        100.0,
        "X.Y",
    )


def test_words_in_other_letters_and_line_breaks_make_no_header_of_their_own() -> None:
    found = with_mark(
        b"\r\n",
        CopyMark(action=Action.SPAM, score=0, line=1, reason="привет\r\nX-Evil: 1\x00\x1b[0m"),
    )
    message = email.message_from_bytes(found, policy=email.policy.default)
    assert message["X-Evil"] is None
    assert "привет X-Evil: 1??[0m" in str(message["X-Mras-Reason"])


def test_what_the_client_calls_itself_names_no_queue_id() -> None:
    liar = (
        b"Received: from by mx.test (Postfix) with ESMTP id 4FORGED000 (x "
        b"[192.0.2.1])\r\n\tby mx.test (Postfix) with ESMTP id 4REAL00000;\r\n\tdate\r\n\r\n"
    )
    assert read_marks(liar).queue_id == "4REAL00000"
    assert (
        read_marks(
            b"Received: by mx.test (Postfix, from userid 0)\r\n\tid 4LOCAL0000; date\r\n\r\n"
        ).queue_id
        == "4LOCAL0000"
    )
    assert (
        read_marks(
            b"Received: from a.test ([192.0.2.1])\r\n\tby b.test with esmtp (Exim "
            b"4.96)\r\n\tid 1tEsT0-0000Ab-2X\r\n\r\n"
        ).queue_id
        == "1tEsT0-0000Ab-2X"
    )
    assert (
        read_marks(b"Received: x\r\nReceived: y\r\n\tby z id 4SECOND000\r\n\r\n").queue_id == ""
    ), "only the topmost is the mail server's"


def test_what_is_broken_says_nothing() -> None:
    found = read_marks(b"X-Mras: Perhaps\r\nX-Mras-Score: many\r\nX-Mras-Id: \xff\r\n\r\n")
    assert (found.action, found.score, found.line) == (None, None, 0.0)
    assert read_marks(b"") == HeaderMarks()


@given(
    st.lists(
        st.sampled_from(
            [
                b"x-mras",
                b"-score",
                b"-id",
                b":",
                b" ",
                b"\r\n",
                b"\n",
                b"\t",
                b"Received",
                b"id ",
                b"\xff",
                b"1 / 2",
                b"9" * 400,
            ]
        ),
        max_size=30,
    ).map(b"".join)
)
def test_any_octets_at_all_are_read_and_marked(header: bytes) -> None:
    found = read_marks(header)
    assert found.score is None or abs(found.score) < 1e10
    said = read_marks(with_mark(header + b"\r\n\r\n", OK))
    assert (said.action, said.line) == (Action.ACCEPT, 200.0)
