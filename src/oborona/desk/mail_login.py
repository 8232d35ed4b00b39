"""Signing in by a link that goes to a mailbox, for readers.

    login.mail_send   address → a link is on its way, or it is no reader's: the answer is the same
    login.mail        the link → a session

Mail is handed in by a thread of its own, after the answer: neither its words nor its time tell
whether there is such a mailbox.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from typing import Final

import msgspec

from oborona.config import Settings
from oborona.daemon.alarm.alert_mail import alert_mail, submit_mail
from oborona.daemon.alarm.webhook import DeliveryFailed
from oborona.desk.call import CallError, NotFoundError
from oborona.desk.reader_rule import makes_reader, reader_address
from oborona.errors import ConfigError
from oborona.people.login_book import LoggedIn, LoginRefused
from oborona.people.login_way import LoginWay
from oborona.people.mail_link_book import MailLinkBook
from oborona.people.outside_book import OutsideBook
from oborona.people.session_book import cut
from oborona.telemetry.log import event

PATH: Final = "/sign-in/mail/"  # of the console, before the token
WAITING: Final = 100  # mails that wait to be handed in; further ones are not sent
SUBJECTS: Final = {"en": "Sign in to {site}", "ru": "Вход на {site}"}
TEXTS: Final = {
    "en": "Open this address to sign in. It is good once, for 15 minutes:\n\n{url}\n\n"
    "It was asked for from {place}. If that was not you, nothing is to be done.\n",
    "ru": "Откройте этот адрес, чтобы войти. Он действует один раз, 15 минут:\n\n{url}\n\n"
    "Запрос пришёл от {place}. Если это были не вы, ничего делать не нужно.\n",
}

log = logging.getLogger("oborona.desk")


class MailLinkWish(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `login.mail_send` is told."""

    address: str
    language: str = "en"


class MailLinkUse(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `login.mail` is told."""

    token: str
    device: str = ""


class MailingLimitError(CallError):
    """Links were asked for too often."""

    status = 429

    def __init__(self, wait_s: float) -> None:
        super().__init__("links were asked for too often")
        self.wait_s = wait_s


class MailLogin:
    """Signs readers in by links.

    Args:
        settings: of the site.
        site: its name.
        people: of the site.
        links: of the same store.

    Raises:
        ConfigError: the settings can't work.
    """

    def __init__(
        self, settings: Settings, site: str, people: OutsideBook, links: MailLinkBook
    ) -> None:
        self._url = settings.console.pages_url
        if not self._url:
            raise ConfigError("console.url is empty: links that are sent have to lead somewhere")
        self._settings = settings
        self._site = site
        self._people = people
        self._links = links
        self._mails = queue.Queue[tuple[bytes, str]](WAITING)
        threading.Thread(target=self._hand_in, name="links by mail", daemon=True).start()

    def send(self, asked: MailLinkWish, _token: str, place: str, _agent: str) -> dict[str, bool]:
        """Send a link, where the address is a reader's or of one that may be.

        Raises:
            MailingLimitError: it was asked for too often.
        """
        now = time.time()
        address = reader_address(asked.address)
        waits = self._links.charge(address or asked.address, place, now)
        if waits > 0:
            raise MailingLimitError(waits)
        console = self._settings.console
        if self._people.found(address) is not None:
            wanted = self._people.reader_of(address, make="", now=now) is not None
        else:
            wanted = makes_reader(address, console)
        # made for everybody, so that it costs everybody the same; what is not sent, nobody knows
        token = self._links.make(address, now)
        language = asked.language if asked.language in TEXTS else "en"
        sender = self._settings.alarm.mail_from or f"oborona@{self._site}"
        raw = alert_mail(
            SUBJECTS[language].format(site=self._site),
            TEXTS[language].format(url=f"{self._url}{PATH}{token}", place=cut(place) or "?"),
            sender=sender,
            recipients=[address or sender],
            now=now,
        )
        if wanted:
            try:
                self._mails.put_nowait((raw, address))
            except queue.Full:
                event(log, logging.WARNING, "a link is not sent: too many wait")
        return {"sent": True}

    def log_in(self, asked: MailLinkUse, place: str, agent: str) -> LoggedIn | LoginRefused:
        """Log in who has the link that went to their mailbox.

        Raises:
            NotFoundError: it is none, too old, was used, or its mailbox is no reader's.
        """
        now = time.time()
        keys = self._people.charge("", place, now)
        if isinstance(keys, LoginRefused):
            return keys
        address = self._links.use(asked.token, now)
        make = LoginWay.MAIL if makes_reader(address, self._settings.console) else ""
        person = self._people.reader_of(address, make=make, now=now) if address else None
        if person is None:
            known = self._people.found(address)
            self._people.wrong(known, LoginWay.MAIL, place, agent, keys, now)
            raise NotFoundError("this link was used, or is too old")
        return self._people.begin(person, LoginWay.MAIL, place, agent, asked.device, keys, now)

    def _hand_in(self) -> None:
        alarm = self._settings.alarm
        while True:
            raw, address = self._mails.get()
            sending = submit_mail(
                raw, [address], alarm.server, name=self._site, within_s=alarm.deadline_s
            )
            try:
                asyncio.run(sending)
            except DeliveryFailed as error:
                event(log, logging.WARNING, "a link to sign in was not sent", error=error)
