"""Signing in with the password of a mailbox, for readers: the site's own IMAP server is asked.

The password is passed on to that server, and neither kept nor logged.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import Final

import msgspec
from imapclient.exceptions import IMAPClientAbortError, LoginError

from oborona.config import Settings
from oborona.config.mailboxes import fill_template
from oborona.desk.call import CallError
from oborona.desk.reader_rule import makes_reader, reader_address
from oborona.errors import ConfigError
from oborona.people.login_book import BUSY_S, LoggedIn, LoginFault, LoginRefused
from oborona.people.login_way import LoginWay
from oborona.people.outside_book import OutsideBook
from oborona.recheck.mailboxes.imap_session import ImapServer, ImapSession
from oborona.telemetry.log import event

WITHIN_S: Final = 5.0  # for the connection, and for each answer
AT_ONCE: Final = 2  # of the few threads that calls have
PATIENCE_S: Final = 0.5  # for a turn
MAX_PASSWORD: Final = 1024  # letters
LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})

log = logging.getLogger("oborona.desk")


class MailboxPassword(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `login.mailbox` is told."""

    address: str
    password: str
    device: str = ""


class MailboxAwayError(CallError):
    """The IMAP server can't be asked."""

    status = 503


class MailboxBusyError(CallError):
    """Too many ask the IMAP server."""

    status = 503


class MailboxLogin:
    """Signs readers in by the password of their mailbox.

    Args:
        settings: of the site.
        people: of the site.

    Raises:
        ConfigError: passwords would go over a network in the clear.
    """

    def __init__(self, settings: Settings, people: OutsideBook) -> None:
        console = settings.console
        server = console.imap_server
        if console.imap_tls == "none" and server.host not in LOCAL:
            raise ConfigError(
                'console.imap_tls = "none": passwords would go to '
                f"{server.host} in the clear; take tls or starttls"
            )
        self._settings = settings
        self._people = people
        self._server = ImapServer(
            server.host, server.port, console.imap_tls, console.imap_certificates, "", "", ""
        )
        self._turns = threading.BoundedSemaphore(AT_ONCE)

    def log_in(self, asked: MailboxPassword, place: str, agent: str) -> LoggedIn | LoginRefused:
        """Log in whose mailbox it is.

        Raises:
            MailboxAwayError: the server can't be asked.
        """
        now = time.time()
        address = reader_address(asked.address)
        keys = self._people.charge(address or asked.address, place, now, asked.device)
        if isinstance(keys, LoginRefused):
            return keys
        make = LoginWay.MAILBOX if makes_reader(address, self._settings.console) else ""
        known = self._people.found(address)
        right = False
        try:
            if address and (make or known) and _may_be_password(asked.password):
                right = self._is_theirs(address, asked.password)
        except MailboxBusyError:
            self._people.give_back(keys)
            return LoginRefused(fault=LoginFault.BUSY, wait_s=BUSY_S)
        except MailboxAwayError:
            self._people.give_back(keys)
            raise
        person = self._people.reader_of(address, make=make, now=now) if right else None
        if person is None:
            return self._people.wrong(known, LoginWay.MAILBOX, place, agent, keys, now)
        return self._people.begin(person, LoginWay.MAILBOX, place, agent, asked.device, keys, now)

    def _is_theirs(self, address: str, password: str) -> bool:
        """Return whether the server takes a password.

        Raises:
            MailboxBusyError: too many ask it.
            MailboxAwayError: it can't be asked.
        """
        if not self._turns.acquire(timeout=PATIENCE_S):
            raise MailboxBusyError("too many ask the mailboxes just now")
        try:
            return self._asked(address, password)
        except IMAPClientAbortError as error:
            raise self._away(error) from None
        except (LoginError, UnicodeError):
            return False
        except Exception as error:  # noqa: BLE001 - imapclient may raise anything of a server's nonsense
            raise self._away(error) from None
        finally:
            self._turns.release()

    def _away(self, error: Exception) -> MailboxAwayError:
        # its kind alone: what a server says may hold what it was told
        event(log, logging.WARNING, "the IMAP server can't be asked", error=type(error).__name__)
        return MailboxAwayError("the mailboxes can't be asked now; try again later")

    def _asked(self, address: str, password: str) -> bool:
        session = ImapSession(self._server, wait_s=WITHIN_S)
        try:
            session.secure()
            local, _, domain = address.rpartition("@")
            user = fill_template(self._settings.mailboxes.user, address, local, domain)
            if session.has_capability("AUTH=PLAIN"):
                session.plain_login(user, password)
            else:
                session.login(user, password)
        finally:
            with suppress(Exception):
                session.logout()
        return True


def _may_be_password(password: str) -> bool:
    """Whether a server may be sent it: no octets that end a line or a word of its protocol."""
    return 0 < len(password) <= MAX_PASSWORD and not any(
        letter in "\x00\r\n" for letter in password
    )
