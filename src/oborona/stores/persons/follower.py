"""A worker's persons: those who have said anything are known by a filter, what they have said is
read when there is mail for them.

The store is followed as `oborona.stores.followed_store` tells, by who has changed alone: what they
have said is read on a thread of the store's own, and kept, up to `CACHE_OCTETS`, until that person
changes. When the store can't be used, policy decides alone for those who were not read before.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import OrderedDict
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Final

import aiosqlite

from oborona.doorbell import Doorbell
from oborona.errors import StoreError
from oborona.journal.queries import aiosqlite_connection
from oborona.metrics import Counter, Gauge
from oborona.reputation.personal import NOBODY, PersonalProfile, mail_address
from oborona.sqlite_file import ERRORS
from oborona.stores.followed_store import READ_WHOLE, file_of
from oborona.stores.persons.filter import PersonFilter
from oborona.stores.persons.schema import SHARED
from oborona.stores.persons.store import COLUMNS, read
from oborona.telemetry.log import event

# that reading one person may take, some 0.3 ms where the machine is not busy; then policy decides
# alone
READ_S: Final = 2.0
LATE_TURNS: Final = 5  # of the loop, from an answer of the store's thread to whoever waits for it
REST_S: Final = 1.0  # that nobody is read after that: mail to a hundred people waits once
CACHE_OCTETS: Final = 8 << 20  # of memory for what was read: some 700 persons of 100 entries

_VERSION: Final = "SELECT number FROM version"
_CHANGED: Final = "SELECT address FROM person WHERE changed > ?"
_PERSON: Final = (
    f"SELECT p.strictness, {COLUMNS} FROM person p LEFT JOIN entry e ON e.person = p.id"  # noqa: S608 - literals
    " WHERE p.address = ?"
)
# ValueError: aiosqlite, of one that is closed
_ERRORS: Final = (StoreError, sqlite3.Error, ValueError)
PERSONS: Final = Gauge(
    "oborona_persons", "Persons who may have lists, as far as the worker knows.", ()
)
LOOKS: Final = Counter(
    "oborona_person_looks",
    "How often a person's lists were looked for, by outcome; failed: policy decided alone.",
    ("outcome",),
)
STALE: Final = Gauge(
    "oborona_persons_stale",
    (
        "1 while the store of persons can't be read; policy decides alone for those who were "
        "not read before."
    ),
    (),
)

log = logging.getLogger("oborona.personal")


class FollowedPersons:
    """The persons of a worker; a `Persons` of its scans.

    Args:
        path: the store's file; need not exist yet.

    Attributes:
        looked: how often a person who may have said something was looked for, by outcome: kept,
            read, failed.
        known: persons that the filter holds.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: aiosqlite.Connection | None = None
        self._file: tuple[int, int] | None = None  # device and inode of what is open
        self._version = READ_WHOLE
        self._filter = PersonFilter()
        self._kept: OrderedDict[str, PersonalProfile] = OrderedDict()
        self._octets = 0
        self._changes = 0  # seen: what was read before one is not kept after it
        self._trouble = ""
        self._of_one = False  # the trouble came with reading a person: only reading one ends it
        self._rests_until = 0.0  # on the clock of the loop
        self.looked = {"kept": 0, "read": 0, "failed": 0}
        self.known = 0
        PERSONS.set_function(lambda: {(): self.known})
        LOOKS.set_function(lambda: {(outcome,): number for outcome, number in self.looked.items()})
        STALE.set_function(lambda: {(): self.stale})

    @property
    def stale(self) -> bool:
        """The store can't be read now."""
        return bool(self._trouble)

    async def of(self, address: str) -> PersonalProfile:
        """Return what is known of the person behind a recipient's address; see `Persons.of`.

        `joe+shop@` is `joe@`, unless it is somebody too.
        """
        if not self.known:
            return NOBODY
        exact = mail_address(address)
        for name in (exact, untagged(exact)):
            if name and name in self._filter:
                profile = await self._person(name)
                if not profile.empty:
                    return profile
        return NOBODY

    async def watch(self) -> None:
        """Follow the store for ever."""
        with Doorbell(self._path, sqlite=True, anyway=lambda: self.stale) as bell:
            while True:
                await bell.rung()
                await self.look()

    async def look(self) -> None:
        """Forget what was read of those who have changed."""
        try:
            if not await self._open():
                return
            ((number,),) = await self._rows(_VERSION)
            if number == self._version:
                self._well(of_one=False)
                return
            # it was put back to what it was, or is new
            whole = number < self._version or self._version < 0
            changed = await self._rows(_CHANGED, (READ_WHOLE if whole else self._version,))
        except _ERRORS as error:
            await self._failed(error)
            return
        self._changes += 1
        if whole:
            self._filter, self.known, self._octets = PersonFilter(), 0, 0
            self._kept.clear()
        for (name,) in changed:
            self.known += self._filter.add(name)
            self._drop(name)
        self._version = number
        self._well(of_one=False)

    async def close(self) -> None:
        """Let the store go."""
        if self._db is not None:
            await self._db.close()
            self._db = None

    async def _person(self, name: str) -> PersonalProfile:
        profile = self._kept.get(name)
        if profile is not None:
            self._kept.move_to_end(name)
            self.looked["kept"] += 1
            return profile
        changes = self._changes
        loop = asyncio.get_running_loop()
        if loop.time() < self._rests_until:
            self.looked["failed"] += 1
            return NOBODY
        try:
            rows = await _within(READ_S, self._rows(_PERSON, (name,)))
        except (*_ERRORS, TimeoutError) as error:
            if isinstance(error, TimeoutError):
                self._rests_until = loop.time() + REST_S
            self.looked["failed"] += 1
            self._of_one |= not self._trouble
            self._say(error)
            return NOBODY
        self.looked["read"] += 1
        self._well(of_one=True)
        stored = read(rows)
        profile = PersonalProfile(name, stored.strictness, stored.entries)
        if changes == self._changes:
            self._keep(name, profile)
        return profile

    def _keep(self, name: str, person: PersonalProfile) -> None:
        self._drop(name)
        self._kept[name] = person
        self._octets += person.size
        while self._octets > CACHE_OCTETS:
            self._octets -= self._kept.popitem(last=False)[1].size

    def _drop(self, name: str) -> None:
        profile = self._kept.pop(name, None)
        self._octets -= 0 if profile is None else profile.size

    async def _open(self) -> bool:
        """Open the store, anew where another file has its name.

        Return whether there is one, or ever was.
        """
        try:
            file = file_of(self._path)
        except StoreError as error:
            if self._file is None and isinstance(error.__cause__, FileNotFoundError):
                return False  # nobody has said anything yet
            raise
        if self._db is None or file != self._file:
            await self.close()
            self._db = await aiosqlite_connection(
                await asyncio.to_thread(SHARED.open, self._path, make=False)
            )
            self._file, self._version, self._of_one = file, READ_WHOLE, False
        return True

    async def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        if self._db is None:
            raise StoreError(f"{self._path}: can't be used")
        return list(await self._db.execute_fetchall(sql, values))

    async def _failed(self, error: Exception) -> None:
        self._say(error)
        if isinstance(error, ERRORS):  # what is open may be damaged: it is opened anew
            await self.close()

    def _say(self, error: Exception) -> None:
        problem = error if isinstance(error, StoreError) else SHARED.told(error, self._path)
        if isinstance(error, TimeoutError):
            problem = StoreError(f"{self._path}: takes longer than {READ_S:g} seconds")
        if not self._trouble:
            event(log, logging.ERROR, "persons can't be read, policy decides alone", error=problem)
        self._trouble = str(problem)

    def _well(self, *, of_one: bool) -> None:
        if self._trouble and of_one >= self._of_one:
            event(log, logging.WARNING, "persons are read again")
            self._trouble, self._of_one = "", False


async def _within(seconds: float, reading: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    """Return what is read within some seconds of the store's own: while our loop stood still,
    behind a scan, the answer may have come.

    Raises:
        TimeoutError: it takes longer.
    """
    task = asyncio.ensure_future(reading)
    try:
        await asyncio.wait({task}, timeout=seconds)
        for _ in range(LATE_TURNS):
            if task.done():
                return task.result()
            await asyncio.sleep(0)
        raise TimeoutError
    finally:
        task.cancel()


def untagged(address: str) -> str:
    """Return an address without what follows a plus sign in its name; empty where nothing does."""
    local, _, domain = address.rpartition("@")
    name, plus, _ = local.partition("+")
    return f"{name}@{domain}" if name and plus else ""
