"""The shipped Dovecot files in a real Dovecot: what goes to the inbox, and what to the spam
folder.
"""

from __future__ import annotations

import smtplib
from collections.abc import Iterator

import imapclient
import pytest

from tests.peers.dovecot import PASSWORD, Dovecot

USERS = [f"user{number}" for number in range(40)]


@pytest.fixture(scope="module")
def dovecot() -> Iterator[Dovecot]:
    with Dovecot(USERS) as running:
        yield running


@pytest.fixture
def user(dovecot: Dovecot) -> str:
    """A user without mail."""
    return next(user for user in USERS if not (dovecot.root / "mail" / user).exists())


def letter(*headers: str) -> bytes:
    lines = [*headers, "From: ann@example.org", "Subject: Hello", "", "Good day."]
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize(
    ("headers", "mailbox"),
    [
        pytest.param([], "INBOX", id="no header: the daemon was down"),
        pytest.param(["X-Mras: Ok"], "INBOX", id="ok"),
        pytest.param(["x-mras: ok"], "INBOX", id="ok in lower case"),
        pytest.param(["X-Mras:  Ok "], "INBOX", id="ok with blanks"),
        pytest.param(["X-Mras: Ok", "X-Spam-Flag: NO"], "INBOX", id="ok, flag says no"),
        pytest.param(["X-Spam-Flag: NO"], "INBOX", id="flag says no"),
        pytest.param(["X-Mras-Score: 5 / 100"], "INBOX", id="score alone"),
        pytest.param(["X-Mras: Probable", "X-Spam-Flag: YES"], "Junk", id="probable"),
        pytest.param(["X-Mras: Spam", "X-Spam-Flag: YES"], "Junk", id="spam that was not refused"),
        pytest.param(["X-Mras: Probable"], "Junk", id="probable without flag"),
        pytest.param(["X-Mras: Perhaps"], "Junk", id="a word that is not Ok"),
        pytest.param(["X-Mras:"], "Junk", id="empty"),
        pytest.param(["X-Mras: Ok, surely"], "Junk", id="not exactly Ok"),
        pytest.param(["X-Spam-Flag: YES"], "Junk", id="another filter's flag"),
        pytest.param(["X-Mras: Ok", "X-Spam-Flag: YES"], "Junk", id="another filter behind us"),
        pytest.param(["X-Mras: Ok", "X-Mras: Spam"], "Junk", id="two verdicts: the severer"),
    ],
)
def test_the_header_decides_the_folder(
    dovecot: Dovecot, user: str, headers: list[str], mailbox: str
) -> None:
    dovecot.deliver(letter(*headers), f"{user}@example.test")
    other = {"INBOX": "Junk", "Junk": "INBOX"}[mailbox]
    assert len(dovecot.messages(user, mailbox)) == 1, dovecot.log()
    assert dovecot.messages(user, other) == []


def test_every_user_has_a_spam_folder_that_clients_know(dovecot: Dovecot, user: str) -> None:
    with imapclient.IMAPClient("127.0.0.1", port=dovecot.imap_port, ssl=False) as client:
        client.login(user, PASSWORD)
        assert client.find_special_folder(b"\\Junk") == "Junk"
        assert "Junk" in [name for _, _, name in client.list_sub_folders()]


def test_a_users_own_script_does_not_see_what_was_filed(dovecot: Dovecot, user: str) -> None:
    home = dovecot.root / "mail" / user
    dovecot.deliver(letter(), f"{user}@example.test")  # makes the home
    (home / ".dovecot.sieve").write_text(
        'require ["fileinto", "mailbox"]; fileinto :create "Mine";'
    )
    dovecot.deliver(letter("X-Mras: Ok"), f"{user}@example.test")
    dovecot.deliver(letter("X-Mras: Probable"), f"{user}@example.test")
    assert [len(dovecot.messages(user, name)) for name in ("INBOX", "Mine", "Junk")] == [1, 1, 1]


def test_messages_come_in_the_order_of_delivery_and_are_counted() -> None:
    with Dovecot() as dovecot:
        for number in range(5):
            dovecot.deliver(letter(f"X-Number: {number}"), "joe@example.test", "eve@example.test")
        dovecot.deliver(letter("X-Mras: Probable"), "eve@example.test")
        numbers = [message.split(b"X-Number: ")[1][:1] for message in dovecot.messages("joe")]
        assert numbers == [b"0", b"1", b"2", b"3", b"4"]
        assert dovecot.counts() == {"INBOX": 10, "Junk": 1}
        root = dovecot.root
    assert not root.exists()


def test_an_unknown_user_is_refused(dovecot: Dovecot) -> None:
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        dovecot.deliver(letter(), "nobody-here@example.test")
