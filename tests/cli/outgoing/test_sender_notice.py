"""The mail that tells an account what became of its own, whatever its messages hold."""

from __future__ import annotations

import email
import email.policy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.cli.outgoing.sender_notice import NAMED, NoticeKind, address_of, sender_notice
from oborona.desk.outgoing.queue_entry import QueueEntry
from oborona.desk.outgoing.queue_listing import QueuedMessage
from oborona.journal.entry import JournalEntry
from oborona.types import Action

NOW = 1_800_000_000.0


def held(subject: str = "Sold", to: str = "bo@b.example", recipients: int = 1) -> QueueEntry:
    entry = JournalEntry(
        id=4711 << 22,
        time=NOW,
        verdict=Action.SPAM,
        score=150.0,
        line=100.0,
        decided_by="SOLD",
        login="ann@a.example",
        subject=subject,
    )
    queued = QueuedMessage(
        queue_id="4ZqX1k2pYz", since=NOW, sender="x@y.example", recipients=(to,) * recipients
    )
    return QueueEntry(queued=queued, entry=entry)


@pytest.mark.parametrize(
    ("login", "address"),
    [
        ("Ann@A.example", "ann@a.example"),
        ("ann", ""),
        ("", ""),
        ("jörg@a.example", ""),
        ("a b@c.example\r\nBcc: x@y.example", ""),
    ],
)
def test_a_login_that_is_no_address_has_none(login: str, address: str) -> None:
    assert address_of(login) == address


def test_many_messages_are_one_mail_of_bounded_length() -> None:
    raw = sender_notice(
        NoticeKind.DROPPED,
        "ann@a.example",
        [held(recipients=5000)] * 3000,
        site="mx.test",
        contact="",
        now=NOW,
    )
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    text = mail.get_content()
    assert mail["Subject"] == "3000 messages of yours were not sent"
    assert f"and {3000 - NAMED} more." in text
    assert len(raw) < 10_000
    assert "Questions" not in text


@given(subject=st.text(max_size=300), to=st.text(max_size=300))
def test_what_spam_says_stays_a_line_of_the_text(subject: str, to: str) -> None:
    """No header, no control character, and no other recipient comes of it."""
    raw = sender_notice(
        NoticeKind.HELD,
        "ann@a.example",
        [held(subject, to)],
        site="mx.test",
        contact="https://c.example",
        now=NOW,
    )
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    assert sorted(mail.keys()) == sorted(
        [
            "From",
            "To",
            "Subject",
            "Date",
            "Message-ID",
            "Auto-Submitted",
            "MIME-Version",
            "Content-Type",
            "Content-Transfer-Encoding",
        ]
    )
    assert mail["To"] == "ann@a.example"
    assert mail["Subject"] == "A message of yours is held"
    assert all(line.isprintable() for line in mail.get_content().replace("\r\n", "\n").split("\n"))
    raw.decode("ascii")
