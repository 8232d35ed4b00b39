"""Mail is trained on as it came to the door, not as it lies in a mailbox."""

from hypothesis import given
from hypothesis import strategies as st

from oborona.feedback.final.backtest import undo_delivery


def test_what_came_after_delivery_is_taken_off() -> None:
    raw = (
        b"From bob@b.example Thu Aug 22 12:36:23 2002\n"
        b"Return-Path: <a@a.example>\nDelivered-To: bob@localhost\n"
        b"Received: from mail by localhost\n\twith IMAP (fetchmail-5.9.0) for bob; Thu, 22 Aug "
        b"2002 13:36:23 +0100\n"
        b"Received: from a.example by b.example; Thu, 22 Aug 2002 12:36:23 +0100\n"
        b"Subject: one\nX-Spam-Level: ****\nStatus: RO\nTo: bob@b.example\n\nReturn-Path: stays "
        b"in the body\n"
    )
    assert undo_delivery(raw) == (
        b"Received: from a.example by b.example; Thu, 22 Aug 2002 12:36:23 +0100\n"
        b"Subject: one\nTo: bob@b.example\n\nReturn-Path: stays in the body\n"
    )
    assert undo_delivery(b"no header at all") == b"no header at all"


def test_no_filters_verdict_is_left_to_learn_from_ours_least_of_all() -> None:
    raw = (
        b"X-Mras: Spam\r\nX-Mras-Score: 120 / 100\r\nX-Spam-Flag: YES\r\nX-Bogosity: "
        b"Spam\r\nSubject: one\r\n\r\nbody\r\n"
    )
    assert undo_delivery(raw) == b"Subject: one\n\nbody\n"


@given(st.binary(max_size=300))
def test_whatever_comes_nothing_is_added_and_twice_is_once(raw: bytes) -> None:
    once = undo_delivery(raw)
    assert len(once) <= len(raw)
    assert undo_delivery(once) == once or once.startswith(b"From ")
