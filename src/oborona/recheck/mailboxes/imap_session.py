r"""An IMAP session in one mailbox, as a master user: the commands that moves need.

    EXAMINE, UID SEARCH, UID FETCH BODY.PEEK    finds a letter: no \Seen, no \Recent is touched
    SELECT, UID STORE, UID MOVE                 only once something is to be moved: all messages of
                                                the folder lose \Recent

Blocking: it runs in a thread.  imapclient may raise anything when a server talks nonsense; the
caller catches everything.

Source: RFC 3501; RFC 7162 (UNCHANGEDSINCE); RFC 6851 (MOVE); RFC 4315 (UID EXPUNGE).
"""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from typing import Final, NamedTuple

from imapclient import IMAPClient, SocketTimeout
from imapclient.exceptions import IMAPClientError

from oborona.recheck.mailboxes.located_copy import LocatedCopy, carries
from oborona.recheck.mailboxes.model import HEADER, MOVED, MOVING, MailboxItem
from oborona.recheck.mailboxes.requests import LINGER_S

FOLDERS: Final = 100  # looked into, at most, for what is nowhere else
FOUND: Final = 20  # messages that a search may find for one letter; more are no letter's copies
EARLIER: Final = timedelta(days=2)  # SINCE knows days alone, and those of the server's time zone

_HEADERS: Final = f"BODY.PEEK[HEADER.FIELDS ({HEADER.upper()} MESSAGE-ID)]"

logging.getLogger("imapclient").setLevel(logging.WARNING)  # else it tells of each connection


class ImapServer(NamedTuple):
    """The address of an IMAP server, and its master user."""

    host: str
    port: int
    tls: str  # "tls", "starttls" or "none"
    certificates: str  # file of those that vouch for the server; "" = the system's
    master: str
    password: str
    separator: str  # between user and master at LOGIN; "" = by SASL PLAIN


class ImapCopy(NamedTuple):
    """One copy of a letter in the folder that was looked into last."""

    uid: int
    found: LocatedCopy
    changed: int  # its MODSEQ; 0 = the server keeps none


class ImapUnsupported(Exception):  # noqa: N818 - reads as what happened
    """A mailbox does not support it, now or later; the text says why."""


class ImapSession(IMAPClient):  # type: ignore[misc]  # imapclient has no types
    """A connection for one user.

    Args:
        server: to connect to.
        wait_s: for the connection.

    Raises:
        LoginError: it does not let us in.
        OSError, IMAPClientError: it is away, or no IMAP server.
    """

    def __init__(self, server: ImapServer, *, wait_s: float) -> None:
        context = None
        if server.tls != "none":
            context = ssl.create_default_context(cafile=server.certificates or None)
        timeout = SocketTimeout(wait_s, LINGER_S)
        super().__init__(
            server.host, server.port, ssl=server.tls == "tls", ssl_context=context, timeout=timeout
        )
        self._server = server
        self._context = context

    def secure(self) -> None:
        """Go over to TLS, where that is asked for after the greeting."""
        if self._server.tls == "starttls":
            self.starttls(self._context)

    def enter(self, user: str) -> None:
        """Log in as a user."""
        server = self._server
        self.secure()
        if server.separator:
            self.login(f"{user}{server.separator}{server.master}", server.password)
        else:
            self.plain_login(server.master, server.password, user)
        if self.has_capability("CONDSTORE") and self.has_capability("ENABLE"):
            self.enable("CONDSTORE")

    def cut(self) -> None:
        """End the connection from another thread: who waits for an answer gets an error."""
        with suppress(OSError, AttributeError):
            self.socket().shutdown(socket.SHUT_RDWR)

    def find(self, letters: Sequence[MailboxItem], folder: str) -> list[list[ImapCopy]] | None:
        """Return each letter's copies in a folder; None when there is no such folder."""
        try:
            self.select_folder(folder, readonly=True)
        except IMAPClientError as error:
            if _missing(error):
                return None
            raise
        return [self._copies(letter, folder) for letter in letters]

    def everywhere(self, letters: Sequence[MailboxItem]) -> list[list[LocatedCopy]]:
        """Return each letter's copies in all folders."""
        letter_copies: list[list[LocatedCopy]] = [[] for _ in letters]
        for flags, _, folder in self.list_folders()[:FOLDERS]:
            if b"\\Noselect" in flags or b"\\NonExistent" in flags:
                continue
            for mine, copies in zip(letter_copies, self.find(letters, folder) or (), strict=False):
                mine += [copy.found for copy in copies]
        return letter_copies

    def _copies(self, letter: MailboxItem, folder: str) -> list[ImapCopy]:
        since = (datetime.fromtimestamp(max(0.0, letter.delivered), UTC) - EARLIER).date()
        uids = self.search(["SINCE", since, "HEADER", HEADER, letter.ident])
        if not uids or len(uids) > FOUND:
            return []
        changes = ["MODSEQ"] if self.has_capability("CONDSTORE") else []
        copies = []
        for uid, data in self.fetch(uids, ["FLAGS", _HEADERS, *changes]).items():
            octets = next((value for key, value in data.items() if key.startswith(b"BODY[")), b"")
            headers = message_from_bytes(octets or b"")
            if carries(letter, str(headers.get(HEADER, "")), str(headers.get("Message-ID", ""))):
                copy = LocatedCopy.of(folder, _text(data.get(b"FLAGS", ())))
                changed = data.get(b"MODSEQ", (0,))[0]
                copies.append(ImapCopy(uid, copy, changed))
        return copies

    def open(self, folder: str) -> None:
        r"""Select a folder to change it; all its messages lose \Recent for everybody else.

        Raises:
            Unable: it keeps no keywords of ours, so that a person's moves could not be told from
                ours.
        """
        permanent = self.select_folder(folder).get(b"PERMANENTFLAGS", ())
        names = {flag.lower() for flag in _text(permanent)}
        if "\\*" not in names and not {MOVED.lower(), MOVING.lower()} <= names:
            raise ImapUnsupported(f"the mail server keeps no keywords in {folder}")

    def mark(self, copies: Sequence[ImapCopy], folder: str) -> list[ImapCopy]:
        """Put OboronaMoving on what has not changed since it was found; return how it all is then.

        Args:
            copies: of a folder that is open.
            folder: its name.
        """
        for copy in copies:
            unchanged = [f"(UNCHANGEDSINCE {copy.changed})"] if copy.changed else []
            words = [str(copy.uid), *unchanged, "+FLAGS.SILENT", f"({MOVING})"]
            self._command_and_check("store", *words, uid=True)
        now = self.get_flags([copy.uid for copy in copies])
        return [
            copy._replace(found=LocatedCopy.of(folder, _text(now[copy.uid])))
            for copy in copies
            if copy.uid in now
        ]

    def carry(self, uids: Sequence[int], target: str, *, copied: Collection[int]) -> None:
        """Move messages of the folder that is open.

        Args:
            uids: of those.
            target: made where it is missing.
            copied: those that are in the target already; a server that knows MOVE leaves none
                behind.

        Raises:
            Unable: the server can't move.
        """
        moves = self.has_capability("MOVE")
        if not moves and not self.has_capability("UIDPLUS"):
            raise ImapUnsupported("the mail server knows neither MOVE nor UIDPLUS")
        if fresh := [uid for uid in uids if uid not in copied]:
            step = self.move if moves else self.copy
            try:
                step(fresh, target)
            except IMAPClientError as error:
                if not _missing(error):
                    raise
                self.create_folder(target)
                self.subscribe_folder(target)
                step(fresh, target)
        if not moves:
            self.delete_messages(uids, silent=True)
            self.uid_expunge(uids)


def no_room(error: IMAPClientError) -> bool:
    """Tell whether a server has refused for want of room."""
    return "[OVERQUOTA]" in str(error).upper()


def _missing(error: IMAPClientError) -> bool:
    text = str(error).upper()
    return (
        "[TRYCREATE]" in text
        or "[NONEXISTENT]" in text
        or "DOESN'T EXIST" in text
        or "DOES NOT EXIST" in text
    )


def _text(flags: Sequence[bytes]) -> list[str]:
    return [flag.decode("ascii", "replace") for flag in flags]
