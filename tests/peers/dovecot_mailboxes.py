"""A real Dovecot whose mailboxes can be entered by all three ways: its API, a master user, the
Maildirs.

    with MailboxDovecot(["joe"]) as dovecot:
        dovecot.deliver_letter("joe", number) gives the letter that was delivered
        dovecot.opened("doveadm") gives the mailboxes, as the settings open them

It reads the shipped files of the API and of the feedback: what IMAPSieve tells is in
`dovecot.reports`.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from oborona.config import MailboxSettings, RecheckSettings, Settings
from oborona.ident import JournalIdGenerator, sign, to_text
from oborona.recheck.mailboxes.model import MailboxItem, SiteMailboxes
from oborona.stores.mailboxes import open_mailboxes
from tests.peers.dovecot import READY_S, SHIPPED
from tests.peers.dovecot_feedback import MASTER, MASTER_PASSWORD, FeedbackDovecot
from tests.peers.ports import free_port

KEY: Final = "sekret"
_SIGNATURE_KEY: Final = b"0" * 16
_numbers: Final = JournalIdGenerator(7)


class MailboxDovecot(FeedbackDovecot):
    """A Dovecot in a folder of its own.

    Args:
        users: local parts that exist.
        extra: configuration after all other.
    """

    # thousands of small files, made and removed
    place = "/dev/shm" if Path("/dev/shm").is_dir() else "/tmp"

    def __init__(self, users: Sequence[str], *, extra: str = "") -> None:
        self.api_port = free_port()
        super().__init__(users)
        self._extra = f"{self._extra}\n!include {self.root}/92-oborona-recheck.conf\n{extra}"

    def _configure(self) -> None:
        (self.root / "key").write_text(KEY)
        (self.root / "password").write_text(f"{MASTER_PASSWORD}\n")
        shipped = (SHIPPED / "92-oborona-recheck.conf").read_text()
        (self.root / "92-oborona-recheck.conf").write_text(
            shipped.replace("/etc/oborona/doveadm.key", f"{self.root}/key").replace(
                "port = 8088", f"port = {self.api_port}"
            )
        )
        super()._configure()

    @property
    def pid(self) -> int:
        """The number of its first process."""
        assert self._process is not None
        return self._process.pid

    def restart(self) -> None:
        """Stop it as an admin does, and start it again."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(timeout=READY_S)
        self.start()

    def settings(self, kind: str, *, move_listed: bool = False, **others: object) -> Settings:
        """Return settings by which the mailboxes are reached."""
        given: dict[str, object] = {
            "kind": kind,
            "user": "{local}",
            "url": f"http://127.0.0.1:{self.api_port}/doveadm/v1",
            "key_file": str(self.root / "key"),
            "imap": f"inet:{self.imap_port}@127.0.0.1",
            "imap_tls": "none",
            "master_user": MASTER,
            "master_password_file": str(self.root / "password"),
            "maildir": f"{self.root}/mail/{{local}}/Maildir",
        }
        mailboxes = MailboxSettings(**(given | others))  # type: ignore[arg-type]
        return Settings(mailboxes=mailboxes, recheck=RecheckSettings(move_listed=move_listed))

    def opened(self, kind: str, *, move_listed: bool = False, **others: object) -> SiteMailboxes:
        """Return the mailboxes."""
        mailboxes = open_mailboxes(self.settings(kind, move_listed=move_listed, **others))
        assert mailboxes is not None
        return mailboxes

    def deliver_letter(
        self, user: str, *, headers: Sequence[str] = ("X-Mras: Ok",), subject: str = "Hello"
    ) -> MailboxItem:
        """Deliver a message of ours to a user and return its letter."""
        raw, letter = made(user, headers=headers, subject=subject)
        self.deliver(raw, f"{user}@example.test")
        return letter

    def maildir(self, user: str, mailbox: str = "INBOX") -> Path:
        """Return the folder of a mailbox."""
        maildir = self.root / "mail" / user / "Maildir"
        return maildir if mailbox == "INBOX" else maildir / f".{mailbox}"

    def files(self, user: str, mailbox: str = "INBOX") -> list[str]:
        """Return the files of a mailbox, as new/NAME or cur/NAME."""
        folder = self.maildir(user, mailbox)
        return sorted(
            f"{part}/{file.name}" for part in ("new", "cur") for file in (folder / part).glob("*")
        )


def made(
    user: str, *, headers: Sequence[str] = ("X-Mras: Ok",), subject: str = "Hello"
) -> tuple[bytes, MailboxItem]:
    """Return a message that we have judged, and its letter to a user."""
    now = time.time()
    ident = _numbers.next(now)
    name = f"{ident}@a.example"
    lines = [
        *headers,
        f"X-Mras-Id: {sign(ident, _SIGNATURE_KEY)}",
        f"Message-ID: <{name}>",
        "From: ann@example.org",
        f"Subject: {subject}",
        "",
        "Good day.",
        "",
    ]
    letter = MailboxItem(user=user, ident=to_text(ident), message_id=name, delivered=now)
    return "\r\n".join(lines).encode(), letter


class Reports:
    """What Dovecot says on the socket of the feedback: taken, and agreed to.

    Args:
        dovecot: that says it.
    """

    def __init__(self, dovecot: FeedbackDovecot) -> None:
        self.said: list[bytes] = []
        dovecot.socket.parent.mkdir(exist_ok=True)
        dovecot.socket.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(dovecot.socket))
        dovecot.socket.chmod(0o666)
        self._listener.listen(50)
        self._thread = threading.Thread(target=self._listen)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(20)

    def _listen(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with peer:
                peer.settimeout(20)
                heard = bytearray()
                while piece := peer.recv(65536):
                    heard += piece
                    if b"Good day." in heard:
                        break
                self.said.append(bytes(heard))
                peer.sendall(b"+\n")
