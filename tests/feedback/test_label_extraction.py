"""From a message to a word: copies of one message are one, our own headers teach nothing, nothing
hostile breaks it.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.feedback.label import LabelKind, LabelSource
from oborona.feedback.label_extraction import MOST_BYTES, NotLabelable, extract_label
from oborona.policy.models.content.features import ContentFeatures
from tests.feedback.words import HASHER, NOW, letter, said


def test_copies_in_two_mailboxes_are_one_message() -> None:
    raw = letter(1, LabelKind.SPAM)
    above = (
        b"Return-Path: <a@a.example>\r\nDelivered-To: bob@b.example\r\nReceived: from x by y; "
        b"Fri, 20 Nov 2026 10:00:00 +0000\r\n"
    )
    assert said(raw, LabelKind.SPAM).digest == said(above + raw, LabelKind.HAM).digest
    assert (
        said(raw, LabelKind.SPAM).digest != said(letter(2, LabelKind.SPAM), LabelKind.SPAM).digest
    )


def test_what_we_said_of_a_message_teaches_nothing() -> None:
    raw = letter(1, LabelKind.SPAM)
    ours = (
        b"X-Mras: Spam\r\nX-Mras-Score: 120.0 / 100\r\nX-Mras-Reason: "
        b"MASS_TEXT=60.0\r\nX-Spam-Flag: YES\r\n"
    )
    plain, marked = said(raw, LabelKind.SPAM), said(ours + raw, LabelKind.SPAM)
    assert (plain.features, plain.digest) == (marked.features, marked.digest)


def test_a_digest_says_nothing_without_the_key() -> None:
    raw = letter(1, LabelKind.SPAM)
    other, _ = extract_label(
        raw, LabelKind.SPAM, LabelSource.COMMAND, hasher=HASHER, key=bytes(32), now=NOW
    )
    assert other.digest != said(raw, LabelKind.SPAM).digest


@pytest.mark.parametrize("raw", [b"", b"\r\n\r\n", b"   \n", b"\0"])
def test_from_nothing_nothing_is_learned(raw: bytes) -> None:
    with pytest.raises(NotLabelable, match="no message"):
        said(raw, LabelKind.SPAM)


def test_of_a_huge_message_the_head_is_enough() -> None:
    raw = letter(1, LabelKind.SPAM) + b"x" * (3 * MOST_BYTES)
    assert len(said(raw, LabelKind.SPAM).features) < 30_000


@given(st.binary(max_size=400), st.sampled_from(list(LabelKind)), st.text(max_size=20))
def test_any_octets_give_a_word_or_a_refusal(raw: bytes, kind: LabelKind, person: str) -> None:
    """The features can be read again, and all texts are Unicode: a store takes them."""
    try:
        word = said(raw, kind, person=person)
    except NotLabelable:
        return
    ContentFeatures.from_bytes(word.features)
    assert len(word.digest) == 16
    for text in (word.person, word.message_id):
        text.encode()
