"""Sends digests: each hour those whose time it is, one a person and day, and none without news."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from oborona import state_files
from oborona.config import Settings
from oborona.daemon.alarm.alert_mail import submit_mail
from oborona.daemon.alarm.webhook import DeliveryFailed
from oborona.desk.digest.letter import DigestPlan, digest_mail
from oborona.desk.digest.news import FIRST_S, LONGEST_S, gather_news
from oborona.desk.digest.recipient import address_of, gets_digest
from oborona.desk.digest.texts import ENGLISH, TEXTS
from oborona.desk.site import Site
from oborona.errors import OboronaError, StoreError
from oborona.people.digest_book import OFF, DigestBook, DigestRow, DigestState
from oborona.people.person import Person
from oborona.people.store import PeopleStore
from oborona.telemetry.log import event

LOOK_S: Final = 60.0  # between looks whose time it is

log = logging.getLogger("oborona.digest")


class DigestPostman:
    """Sends the digests of a site, on a thread of its own.

    Args:
        site: whose; digests are on, and the console's address is set.
        clock: Unix seconds.
    """

    def __init__(self, site: Site, clock: Callable[[], float] = time.time) -> None:
        self._site = site
        self._clock = clock
        self._stopped = threading.Event()

    def run(self) -> None:
        """Send until `stop`."""
        self.tell_left()
        while not self._stopped.wait(LOOK_S):
            self.step()

    def stop(self) -> None:
        """Send no more after the one that is on its way."""
        self._stopped.set()

    def tell_left(self) -> int:
        """Say of digests that were begun and have no end that nobody knows; return how many."""
        try:
            with self._books() as (_, book):
                left = len(book.left_begun())
        except StoreError as error:
            event(log, logging.ERROR, "digests can't be sent", error=error)
            return 0
        if left:
            event(
                log,
                logging.WARNING,
                "digests were on their way when we were ended: they may have been sent, are not "
                "sent again, and the next ones say so",
                digests=left,
            )
        return left

    def step(self) -> int:
        """Send those whose time it is; return how many were sent."""
        sent = 0
        try:
            with self._books() as (people, book):
                known = people.all()
                kept = {person.id for person in known}
                for gone in set(book.people()) - kept:
                    book.forget(gone)
                for person in known:
                    if self._stopped.is_set():
                        break
                    if self._is_due(person, book.of(person.id)):
                        sent += self._send(people, book, person)
        except OboronaError as error:
            event(log, logging.ERROR, "digests can't be sent", error=error)
        return sent

    @contextmanager
    def _books(self) -> Iterator[tuple[PeopleStore, DigestBook]]:
        state = self._site.state
        with (
            PeopleStore(state / state_files.PEOPLE) as people,
            DigestBook(state / state_files.DIGESTS) as book,
        ):
            yield people, book

    def _is_due(self, person: Person, row: DigestRow) -> bool:
        if not gets_digest(person):
            return False
        hour = self._site.loaded.settings.console.digest_hour if row.hour is None else row.hour
        now = self._clock()
        return hour != OFF and time.localtime(now).tm_hour >= hour and row.day < _day_of(now)

    def _send(self, people: PeopleStore, book: DigestBook, person: Person) -> bool:
        now = self._clock()
        before = book.begin(person.id, _day_of(now), now - FIRST_S)
        if before is None:  # another process was faster
            return False
        lost = before.state is DigestState.BEGUN  # nobody knows: said by the next that goes out
        since = max(before.told, now - LONGEST_S)
        try:
            news = gather_news(self._site, person, since)
        except OboronaError as error:
            book.end(person.id, DigestState.BEGUN if lost else DigestState.FAILED)
            event(log, logging.WARNING, "no digest", person=person.name, error=error)
            return False
        if not news.filed and not news.refused:
            book.end(person.id, DigestState.BEGUN if lost else DigestState.NOTHING, now)
            return False
        still = people.of(person.id)
        if still is None or not gets_digest(still):  # forgotten while it was written
            book.forget(person.id)
            return False
        settings = self._site.loaded.settings
        plan = DigestPlan(
            person=person.id,
            to=address_of(still),
            sender=sender_of(settings, self._site.name),
            url=settings.console.url.rstrip("/"),
            key=self._site.keys().digest,
            texts=TEXTS.get(still.language, ENGLISH),
            perhaps=lost,
            now=now,
        )
        try:
            asyncio.run(self._submit(digest_mail(plan, news), plan.to))
        except DeliveryFailed as error:
            # it stays begun: who hangs up after the last line may have taken it
            event(
                log,
                logging.WARNING,
                "a digest was not taken; its news come with the next one",
                person=person.name,
                error=error,
            )
            return False
        book.end(person.id, DigestState.SENT, now)
        event(
            log,
            logging.INFO,
            "digest sent",
            person=person.name,
            filed=len(news.filed),
            refused=len(news.refused),
        )
        return True

    async def _submit(self, raw: bytes, to: str) -> None:
        settings = self._site.loaded.settings
        name = self._site.name
        await submit_mail(
            raw, [to], settings.alarm.server, name=name, within_s=settings.alarm.deadline_s
        )


def _day_of(now: float) -> str:
    """Return the day of the server's clock, as 2026-11-28."""
    return time.strftime("%Y-%m-%d", time.localtime(now))


def sender_of(settings: Settings, name: str) -> str:
    """Return who digests are from."""
    return settings.alarm.mail_from or f"oborona@{name}"
