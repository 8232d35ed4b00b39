"""Features: never an exception, bounded, the same for the same message, and nothing of ours or of
other filters in them.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.message.parse import parse
from oborona.policy.models.content import pieces
from oborona.policy.models.content.features import (
    EDGES,
    MAX_FEATURES,
    SPACE,
    ContentFeatures,
    features,
)

MAIL = (
    b"Received: from a.example (a.example [192.0.2.1]) by b.example; Fri, 20 Nov 2026 10:00:00 "
    b"+0000\r\n"
    b"From: Ann <ann@a.example>\r\nTo: Bob <bob@b.example>\r\nSubject: Two tickets\r\n"
    b"Date: Fri, 20 Nov 2026 10:00:00 +0000\r\nMessage-ID: <1@a.example>\r\n\r\n"
    b"Dear Bob, the tickets for Friday are at https://tickets.example/42 for you.\r\n"
)


def slots(raw: bytes) -> set[int]:
    return set(features(parse(raw)).slots.tolist())


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=3000), st.sampled_from([b"", MAIL, b"Content-Type: text/html\r\n\r\n<p>"])
)
def test_any_octets_give_ascending_slots_below_a_bound(noise: bytes, before: bytes) -> None:
    found = features(parse(before + noise)).slots
    assert found.dtype == np.uint32
    assert (np.diff(found.astype(np.int64)) > 0).all()
    assert found.size <= MAX_FEATURES
    assert not found.size or found[-1] < SPACE


@settings(max_examples=200, deadline=None)
@given(st.sets(st.integers(0, SPACE - 1), max_size=3000))
def test_octets_give_back_the_features(chosen: set[int]) -> None:
    made = ContentFeatures(np.array(sorted(chosen), np.uint32))
    assert (ContentFeatures.from_bytes(made.to_bytes()).slots == made.slots).all()


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300))
def test_any_octets_are_features_or_a_value_error(octets: bytes) -> None:
    try:
        found = ContentFeatures.from_bytes(octets).slots
    except ValueError:
        return
    assert (np.diff(found.astype(np.int64)) > 0).all()
    assert not found.size or found[-1] < SPACE


def test_features_too_many_to_be_ours_are_refused_before_they_are_read() -> None:
    with pytest.raises(ValueError, match="too many"):
        ContentFeatures.from_bytes(b"\x01" * (3 * MAX_FEATURES + 1))


@pytest.mark.parametrize(
    "raw",
    [
        MAIL * 2000,
        b"Subject: " + b"x" * 200_000 + b"\r\n\r\n",
        b"".join(b"X-%d: y\r\n" % number for number in range(5000)) + b"\r\n" + b"word " * 200_000,
        MAIL.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" + "слово ".encode() * 50_000,
    ],
)
def test_a_huge_message_has_no_more_features_than_the_bound(raw: bytes) -> None:
    assert 0 < features(parse(raw)).slots.size <= MAX_FEATURES


def test_a_short_message_stays_small() -> None:
    assert len(features(parse(MAIL)).to_bytes()) < 4000


def test_views_have_slots_of_their_own() -> None:
    found = features(parse(MAIL)).slots
    assert (np.diff(np.searchsorted(found, EDGES)) > 0).all()


@pytest.mark.parametrize(
    "line",
    [
        b"X-Mras: Spam\r\n",
        b"X-Mras-Score: 120 / 100\r\n",
        b"X-Spam-Flag: YES\r\n",
        b"X-Spam-Status: Yes, score=12\r\n",
        b"X-Bogosity: Spam, tests=bogofilter\r\n",
        b"X-Forefront-Antispam-Report: SCL:9\r\n",
        b"X-MS-Exchange-Organization-SCL: 9\r\n",
        b"Authentication-Results: b.example; spf=fail\r\n",
        b"Delivered-To: bob@b.example\r\n",
        b"Return-Path: <ann@a.example>\r\n",
        b"Status: RO\r\n",
        b"X-Keywords: junk\r\n",
    ],
)
def test_verdicts_and_what_is_written_after_delivery_change_nothing(line: bytes) -> None:
    assert slots(line + MAIL) == slots(MAIL)
    assert slots(MAIL.replace(b"\r\n\r\n", b"\r\n" + line + b"\r\n", 1)) == slots(MAIL)


def test_a_signature_counts_by_its_beginning_only() -> None:
    signed = (
        b"DKIM-Signature: v=1; a=rsa-sha256; d=a.example; s=one; c=relaxed/relaxed; "
        b"h=from:to:subject:date:message-id:mime-version; bh=%s; b=%s\r\n"
    )
    first, second = signed % (b"A" * 43, b"B" * 300), signed % (b"C" * 43, b"D" * 300)
    assert slots(first + MAIL) == slots(second + MAIL)
    assert slots(first + MAIL) != slots(MAIL)


def test_the_same_word_is_another_piece_in_another_field() -> None:
    subject, to = MAIL.replace(b"Two", b"Zebra"), MAIL.replace(b"Bob <", b"Zebra <")
    only_subject = {slot for slot in slots(subject) - slots(MAIL) if EDGES[2] <= slot < EDGES[3]}
    only_to = {slot for slot in slots(to) - slots(MAIL) if EDGES[2] <= slot < EDGES[3]}
    assert only_subject
    assert only_to
    assert not only_subject & only_to


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_each_word_has_its_place(octets: bytes) -> None:
    places = list(pieces.places(octets))
    assert [pieces.words(octets[first:last]) for first, last in places] == [
        [one] for one in pieces.words(octets)
    ]


def test_a_mailboxs_copy_differs_by_the_hop_of_our_own_mail_server_and_nothing_else() -> None:
    delivered = (
        b"Return-Path: <ann@a.example>\r\nDelivered-To: bob@b.example\r\n"
        b"Received: from mx.b.example ([10.0.0.5])\r\n\tby imap.b.example with LMTP\r\n\tid xyz\r\n"
        b"\tfor <bob@b.example>; Fri, 20 Nov 2026 10:00:02 +0000\r\n"
        b"Authentication-Results: mx.b.example; spf=none\r\n%s"
    )
    hop = (
        b"Received: from a.example (a.example [192.0.2.1])\r\n\tby mx.b.example (Postfix) with "
        b"ESMTPS id 4CX\r\n"
        b"\tfor <bob@b.example>; Fri, 20 Nov 2026 10:00:01 +0000 (UTC)\r\n"
    )
    told = MAIL.replace(b"\r\n\r\n", b"\r\nX-Mras: Ok\r\nX-Mras-Id: abc\r\n\r\n", 1)
    assert slots(delivered % b"" + told) == slots(MAIL)
    more = slots(delivered % hop + told) ^ slots(MAIL)
    assert more
    # head and its words
    assert all(slot < EDGES[1] or EDGES[2] <= slot < EDGES[3] for slot in more)
