"""The shipped Dovecot files, a real Dovecot, and our own intake: what a person does in a mailbox
becomes an event, and nothing else does.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import imapclient
import pytest

from oborona.feedback.events.model import EventChannel, EventKind, StoredEvent
from tests.peers.dovecot_feedback import FeedbackDovecot, left
from tests.peers.intake import DOMAIN, Intake

USERS = [f"user{number}" for number in range(40)]
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def dovecot() -> Iterator[FeedbackDovecot]:
    with FeedbackDovecot(USERS) as running:
        yield running


@pytest.fixture(scope="module")
def intake(dovecot: FeedbackDovecot) -> Iterator[Intake]:
    with Intake(
        {"intake.listen": f"unix:{dovecot.socket}", "intake.spool": dovecot.spool}
    ) as running:
        yield running


class Box:
    """The mailbox of a user without mail, and what was said of it."""

    def __init__(self, dovecot: FeedbackDovecot, intake: Intake) -> None:
        self.user = next(user for user in USERS if not (dovecot.root / "mail" / user).exists())
        self.person = f"{self.user}@{DOMAIN}"
        self._dovecot = dovecot
        self._intake = intake

    def deliver(self, *headers: str, number: int = 0, body: str = "Good day.") -> int:
        """Deliver a message that we have seen; return its id."""
        number = number or next(numbers)
        lines = [
            *headers,
            f"X-Mras-Id: {self._intake.sign(number)}",
            f"Message-ID: <{number}@a.example>",
            "From: ann@a.example",
            "Subject: Hello",
            "",
            body,
        ]
        self._dovecot.deliver("\r\n".join(lines).encode(), self.person)
        return number

    def client(self, folder: str = "INBOX", *, master: bool = False) -> imapclient.IMAPClient:
        client = self._dovecot.client(self.user, master=master)
        client.select_folder(folder)
        return client

    def said(self) -> list[StoredEvent]:
        return [one for one in self._intake.events() if one.person == self.person]

    def lost(self) -> int:
        """Return how many connections Dovecot gave up."""
        lines = self._dovecot.log().splitlines()
        return sum(
            f"imap({self.user})" in line and "Connection timed out" in line for line in lines
        )

    def until(self, number: int) -> list[StoredEvent]:
        """Return what was said, once it is so much."""
        self._intake.until(lambda found: sum(one.person == self.person for one in found) >= number)
        return self.said()


@pytest.fixture
def box(dovecot: FeedbackDovecot, intake: Intake) -> Box:
    return Box(dovecot, intake)


def test_a_move_to_the_spam_folder_is_a_complaint(box: Box, intake: Intake) -> None:
    ident = box.deliver(body=".dot\r\n\r\nand more")
    before = time.time()
    with box.client() as client:
        client.move([1], "Junk")
    (one,) = box.until(1)
    assert (one.what, one.way, one.mailbox) == (EventKind.COMPLAINT, EventChannel.SIEVE, "Junk")
    assert (one.ident, one.message_id, one.source) == (
        ident,
        f"{ident}@a.example",
        "dovecot",
    )
    assert before <= one.time <= time.time()
    raw = intake.raw(one.id)
    assert raw.startswith(b"Return-Path: ")
    assert raw.endswith(b"\r\n\r\n.dot\r\n\r\nand more\r\n")


def test_a_move_out_of_the_spam_folder_is_a_pardon_but_not_into_the_trash(box: Box) -> None:
    idents = [box.deliver("X-Mras: Probable") for _ in range(4)]
    assert box.said() == []  # what Sieve files at delivery is nobody's word
    with box.client("Junk") as client:
        client.move([1], "INBOX")
        client.move([2], "Trash")
        client.move([3], "Bin")  # a trash by its mark alone
        client.copy([4], "Archive")
    assert [(one.what, one.ident, one.mailbox) for one in box.until(2)] == [
        (EventKind.PARDON, idents[0], "INBOX"),
        (EventKind.PARDON, idents[3], "Archive"),
    ]


def test_what_a_mail_program_puts_into_the_spam_folder_is_a_complaint(box: Box) -> None:
    with box.client() as client:
        client.append("Junk", b"Subject: from another mailbox\r\n\r\nBuy!\r\n")
        client.append("INBOX", b"Subject: from another mailbox\r\n\r\nGood day.\r\n")
    (one,) = box.until(1)
    assert (one.what, one.ident, one.mailbox) == (EventKind.COMPLAINT, None, "Junk")


def test_our_own_moves_and_those_of_a_master_user_are_nobodys_word(box: Box) -> None:
    for _ in range(2):
        box.deliver()
    with box.client() as client:
        client.add_flags([1], ["OboronaMoving"])
        client.move([1], "Junk")
        client.select_folder("Junk")
        client.move([1], "INBOX")  # ... and an undo
        client.select_folder("INBOX")
    with box.client(master=True) as client:
        client.move([2], "Junk")
        client.add_flags([3], ["\\Seen"])
        client.append("Junk", b"Subject: from the old server\r\n\r\nBuy!\r\n")
    assert box.said() == []
    with box.client("Junk") as client:  # the person takes it back himself: that is one
        client.add_flags([2], ["OboronaMoved"])
        client.move([2], "INBOX")
    assert [one.what for one in box.until(1)] == [EventKind.PARDON]


def test_reading_and_throwing_away_unread_are_said_once(box: Box) -> None:
    idents = [box.deliver() for _ in range(6)]
    with box.client() as client:
        client.fetch([1], ["BODY[]"])
        client.fetch([2], ["BODY.PEEK[]", "ENVELOPE"])  # listed, not read
        client.remove_flags([1], ["\\Seen"])
        client.fetch([1], ["BODY[]"])  # once more
        client.add_flags([3], ["\\Deleted"])
        client.move([4], "Trash")
        client.add_flags([5], ["\\Deleted", "\\Seen"])  # in one go: it was not read
        client.add_flags([1], ["\\Deleted"])  # it was read
        client.add_flags([6], ["\\Flagged", "OboronaMoving"])
        client.expunge()
        client.append("INBOX", b"Subject: not ours\r\n\r\nGood day.\r\n")
        client.fetch([7], ["BODY[]"])
    lost = box.lost()  # Dovecot has said them, and a busy machine did not connect it within 5 ms
    said = box.until(4 - lost)
    assert len(said) <= 4
    assert {one.way for one in said} <= {EventChannel.MAILBOX}
    assert {(one.what, one.ident) for one in said} <= {
        (EventKind.READ, idents[0]),
        (EventKind.DELETED, idents[2]),
        (EventKind.DELETED, idents[3]),
        (EventKind.DELETED, idents[4]),
    }


def test_what_becomes_of_mail_in_the_spam_folder_and_the_trash_says_nothing(box: Box) -> None:
    for _ in range(3):
        box.deliver("X-Mras: Probable")
    with box.client("Junk") as client:
        client.fetch([1], ["BODY[]"])
        client.add_flags([2], ["\\Deleted"])
        client.move([3], "Trash")
        client.select_folder("Trash")
        client.fetch([1], ["BODY[]"])
        client.add_flags([1], ["\\Deleted"])
        client.append("INBOX", b"Subject: last\r\n\r\nGood day.\r\n")
        client.append("Junk", b"Subject: last\r\n\r\nGood day.\r\n")
    assert [one.what for one in box.until(1)] == [EventKind.COMPLAINT]  # the last one alone


def test_two_hundred_messages_moved_at_once_are_two_hundred_events(
    box: Box, intake: Intake
) -> None:
    idents = list(itertools.islice(numbers, 200))
    with box.client() as client:
        for ident in idents:
            client.append("INBOX", f"X-Mras-Id: {intake.sign(ident)}\r\n\r\nGood day.\r\n".encode())
        client.move(client.search(), "Junk")
        client.select_folder("Junk")
        assert len(client.search()) == 200
    assert sorted(one.ident or 0 for one in box.until(200)) == idents


def test_while_nobody_answers_the_move_succeeds_and_the_word_waits_in_the_spool(
    box: Box, dovecot: FeedbackDovecot, intake: Intake
) -> None:
    idents = [box.deliver(body="x" * 70 + "\r\n" * 3), box.deliver()]
    intake.halt()
    before = time.time()
    with box.client() as client:
        client.move([1, 2], "Junk")
        client.select_folder("Junk")
        assert len(client.search()) == 2
        client.move([1], "INBOX")
    assert len(left(dovecot)) == 3, dovecot.log()
    assert box.said() == []
    after = time.time()
    intake.start()
    found = box.until(3)
    assert [(one.what, one.ident) for one in found] == [
        (EventKind.COMPLAINT, idents[0]),
        (EventKind.COMPLAINT, idents[1]),
        (EventKind.PARDON, idents[0]),
    ]
    assert all(before - 1 <= one.time <= after + 1 for one in found)
    assert intake.raw(found[0].id) == intake.raw(found[2].id)
    deadline = time.monotonic() + 60
    while left(dovecot) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left(dovecot) == []
