"""Replies that contradict themselves can't be built.

Those that can are written as mail servers read them.
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.reply import (
    MAX_TEXT_LINE,
    MAX_TEXT_LINES,
    AddHeader,
    RemoveHeader,
    ReplyAction,
    SessionReply,
    hold_reply,
    in_removal_order,
    refusal_reply,
)
from oborona.milter import encoder as answers
from oborona.milter import protocol
from oborona.milter.protocol import agree
from oborona.types import Stage

TEXT = "Message refused as spam"


@pytest.mark.parametrize(
    "parts",
    [
        {"answer": ReplyAction.TEMPFAIL, "code": 450, "enhanced": "5.7.1", "text": TEXT},
        {"answer": ReplyAction.REJECT, "code": 450, "enhanced": "4.7.1", "text": TEXT},
        {"answer": ReplyAction.TEMPFAIL, "code": 550, "enhanced": "5.7.1", "text": TEXT},
        {"answer": ReplyAction.REJECT, "code": 550, "enhanced": "4.7.1", "text": TEXT},
        {"answer": ReplyAction.REJECT, "code": 550, "enhanced": "2.0.0", "text": TEXT},
        {"answer": ReplyAction.REJECT, "code": 550, "enhanced": "", "text": TEXT},
        {"answer": ReplyAction.REJECT, "code": 550, "enhanced": "5.7", "text": TEXT},
        {"answer": ReplyAction.REJECT, "code": 550, "enhanced": "5.7.1000", "text": TEXT},
        {"answer": ReplyAction.REJECT, "code": 250, "enhanced": "2.0.0", "text": TEXT},
        {"answer": ReplyAction.REJECT, "code": 5500, "enhanced": "5.7.1", "text": TEXT},
        {"answer": ReplyAction.REJECT, "code": 600, "enhanced": "5.7.1", "text": TEXT},
        {"answer": ReplyAction.ACCEPT, "code": 550, "enhanced": "5.7.1", "text": TEXT},
        {"answer": ReplyAction.CONTINUE, "code": 451, "enhanced": "4.7.1", "text": TEXT},
        {"answer": ReplyAction.DISCARD, "code": 550, "enhanced": "5.7.1", "text": TEXT},
        {"answer": ReplyAction.REJECT, "enhanced": "5.7.1"},
        {"answer": ReplyAction.REJECT, "text": TEXT},
        {"text": TEXT},
    ],
)
def test_parts_that_disagree_make_no_reply(parts: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        SessionReply(**parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "line\r\nRCPT TO:<x@y.test>",
        "line\rline",
        "100% spam",
        "спам",
        "nul\0",
        "tab\tbed",
        "a\n\nb",
        "a\n",
        "x" * (MAX_TEXT_LINE + 1),
        "\n".join("x" * (MAX_TEXT_LINES + 1)),
    ],
)
def test_text_that_would_garble_the_dialogue_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        refusal_reply(550, "5.7.1", text)


@pytest.mark.parametrize("name", ["", "Two Words", "Colon:", "Line\n", "Ключ", "Nul\0"])
def test_names_that_are_none_make_no_edit(name: str) -> None:
    with pytest.raises(ValueError):
        AddHeader(name, "x")
    with pytest.raises(ValueError):
        RemoveHeader(name, 1)


@pytest.mark.parametrize("value", ["a\nSubject: b", "a\r\n\tb", "a\n", "спам", "nul\0", "a\n\n\tb"])
def test_values_that_would_begin_another_header_make_no_edit(value: str) -> None:
    with pytest.raises(ValueError):
        AddHeader("X-Mras-Reason", value)


def test_headers_are_counted_from_one() -> None:
    with pytest.raises(ValueError):
        RemoveHeader("X-Mras", 0)


def test_the_answer_follows_from_the_code() -> None:
    assert refusal_reply(550, "5.7.1", TEXT).answer is ReplyAction.REJECT
    assert refusal_reply(451, "4.7.1", TEXT).answer is ReplyAction.TEMPFAIL
    with pytest.raises(ValueError):
        refusal_reply(250, "2.0.0", TEXT)


@pytest.mark.parametrize(
    ("reply", "data"),
    [
        (SessionReply(), b"\0\0\0\x01c"),
        (SessionReply(answer=ReplyAction.ACCEPT), b"\0\0\0\x01a"),
        (SessionReply(answer=ReplyAction.REJECT), b"\0\0\0\x01r"),
        (SessionReply(answer=ReplyAction.TEMPFAIL), b"\0\0\0\x01t"),
        (SessionReply(answer=ReplyAction.DISCARD), b"\0\0\0\x01d"),
        (refusal_reply(550, "5.7.1", "no"), b"\0\0\0\x0ey550 5.7.1 no\0"),
        (
            refusal_reply(451, "4.7.1", "a\nb\nc"),
            b"\0\0\0\x27y451-4.7.1 a\r\n451-4.7.1 b\r\n451 4.7.1 c\0",
        ),
    ],
)
def test_answers_as_packets(reply: SessionReply, data: bytes) -> None:
    assert answers.answer(reply) == data


def test_edits_come_before_the_answer_in_one_piece() -> None:
    reply = SessionReply(
        edits=(AddHeader("X-Mras", "Ok"), RemoveHeader("X-Old", 1), RemoveHeader("X-Old", 2))
    )
    assert answers.verdict(reply, agree(6, 0x1FF, 0xFFFFF, frozenset())) == (
        b"\0\0\0\x0cm\0\0\0\x02X-Old\0\0\0\0\0\x0cm\0\0\0\x01X-Old\0\0\0\0\0\x0bhX-Mras\0Ok\0\0\0\0\x01c"
    )
    assert answers.verdict(reply, agree(6, 0x1, 0xFFFFF, frozenset())) == b"\0\0\0\x01c"


def test_where_leading_spaces_are_kept_ours_is_too() -> None:
    reply = SessionReply(edits=(AddHeader("X-Mras", "Ok"),))
    assert answers.verdict(reply, agree(6, 0x1FF, 0x1FFFFF, frozenset())).startswith(
        b"\0\0\0\x0chX-Mras\0 Ok\0"
    )


@pytest.mark.parametrize("answer", [ReplyAction.REJECT, ReplyAction.TEMPFAIL, ReplyAction.DISCARD])
def test_what_is_not_taken_is_not_edited(answer: ReplyAction) -> None:
    reply = SessionReply(answer=answer, edits=(AddHeader("X-Mras", "Ok"),))
    assert answers.verdict(reply, agree(6, 0x1FF, 0, frozenset())) == answers.answer(reply)


HELD = hold_reply("Looks like spam", edits=(AddHeader("X-Mras-Id", "3k2"),))


def test_what_is_held_is_edited_and_taken() -> None:
    assert answers.verdict(HELD, agree(6, 0x1FF, 0xFFFFF, frozenset())) == (
        b"\0\0\0\x0fhX-Mras-Id\x003k2\0\0\0\0\x11qLooks like spam\0\0\0\0\x01a"
    )


def test_where_nothing_can_be_held_it_is_refused_in_the_same_words() -> None:
    assert answers.verdict(HELD, agree(6, 0x1FF & ~0x20, 0xFFFFF, frozenset())) == (
        b"\0\0\0\x1by550 5.7.1 Looks like spam\0"
    )


EDITS = st.lists(
    st.one_of(
        st.builds(RemoveHeader, st.sampled_from(["A", "B"]), st.integers(1, 5)),
        st.builds(AddHeader, st.sampled_from(["A", "B"]), st.just("x")),
    ),
    max_size=8,
    unique=True,
)


@given(
    headers=st.lists(st.sampled_from("AB"), max_size=8), edits=EDITS, counts_removed=st.booleans()
)
def test_removals_mean_what_they_meant_whichever_way_the_mail_server_counts(
    headers: list[str], edits: list[AddHeader | RemoveHeader], counts_removed: bool
) -> None:
    """Invariant: the headers left are those that no removal named, as they were numbered at the
    start.
    """
    numbered = [(name, headers[: i + 1].count(name)) for i, name in enumerate(headers)]
    named = {(edit.name, edit.index) for edit in edits if isinstance(edit, RemoveHeader)}
    left: list[tuple[str, int] | None] = list(numbered)
    for edit in in_removal_order(tuple(edits)):
        if isinstance(edit, RemoveHeader):
            alike = [
                i
                for i, name in enumerate(headers)
                if name == edit.name and (counts_removed or left[i] is not None)
            ]
            if edit.index <= len(alike):
                left[alike[edit.index - 1]] = None
    assert [each for each in left if each] == [each for each in numbered if each not in named]


# --- terms ----------------------------------------------------------------------------------------


@given(
    version=st.integers(2, 255),
    actions=st.integers(0, 0xFFFFFFFF),
    offered=st.integers(0, 0xFFFFFFFF),
    waits=st.sets(st.sampled_from(Stage)),
)
def test_terms_stay_within_the_offer(
    version: int, actions: int, offered: int, waits: set[Stage]
) -> None:
    """Invariant: nothing that was not offered is taken, and a stage that waits is always
    answered.
    """
    terms = agree(version, actions, offered, frozenset(waits))
    assert terms.version <= min(version, 6)
    assert terms.actions & ~actions == 0
    assert terms.protocol & ~offered == 0
    for letter, stage in protocol.STAGE_OF.items():
        if stage in waits:
            assert letter in terms.answers
            assert not terms.protocol & protocol.NO_REPLY[letter]
    for letter, bit in protocol.NO_REPLY.items():
        assert (letter in terms.answers) == (not terms.protocol & bit)


def test_terms_as_a_packet() -> None:
    data = answers.terms(agree(6, 0x1FF, 0x1FFFFF, frozenset()))
    assert struct.unpack("!IcIII", data[:17]) == (len(data) - 4, b"O", 6, 0x139, 0x1FF7C0)
    assert data[17:].count(b"\0i\0") == 0
    assert data.endswith(b"\0\0\0\x05i\0")
    bare = answers.terms(agree(2, 0x3F, 0x7F, frozenset()))
    assert len(bare) == 17
