"""Where clients are, by the databases that the settings name; followed while the daemon runs.

A file is looked at every few seconds and read again when it was replaced: whole or not at all.  One
that cannot be used is said once, and what was known before stays known; without any the daemon goes
on, and no place is known.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from oborona.config import GeoIpSettings
from oborona.errors import ConfigError
from oborona.policy.list_files import Look, file_state
from oborona.reputation.geoip import NOWHERE, autonomous_system, country
from oborona.reputation.networks import plain
from oborona.telemetry.log import event
from oborona.types import Location

if TYPE_CHECKING:
    from oborona.stores.mmdb import MmdbDatabase

WATCH_S: Final = 5.0  # between looks at the files: makers bring out a new one twice a week
CACHED: Final = 4096  # addresses whose place is kept: a worker's clients of some minutes

log = logging.getLogger("oborona.places")

COUNTRY: Final = "country"
SYSTEM: Final = "autonomous system"
_SAYS: Final = {
    COUNTRY: lambda record: bool(country(record)),
    SYSTEM: lambda record: bool(autonomous_system(record)[0]),
}


def files(settings: GeoIpSettings) -> dict[Path, list[str]]:
    """Return each file that the settings name, with what it is for."""
    purposes: dict[Path, list[str]] = {}
    for name, purpose in ((settings.country_file, COUNTRY), (settings.as_file, SYSTEM)):
        if name:
            purposes.setdefault(Path(name), []).append(purpose)
    return purposes


def open_database(path: Path, purposes: list[str]) -> MmdbDatabase:
    """Return a database, read and tried.

    Raises:
        ConfigError: it can't be used for that.
    """
    from oborona.stores.mmdb import MmdbDatabase  # noqa: PLC0415 - for sites that have one

    return MmdbDatabase(path, {purpose: _SAYS[purpose] for purpose in purposes})


class GeoIpDatabases:
    """The GeoIP databases of one process.

    Args:
        settings: which files; none is fine. They are read at once.

    Attributes:
        errors: what is wrong with a file as it is now, by file.
    """

    def __init__(self, settings: GeoIpSettings) -> None:
        self._files = files(settings)
        self._seen: dict[Path, Look] = {}
        self._open: dict[Path, MmdbDatabase] = {}
        self._broken: set[Path] = set()  # those of whose records one could not be read, said once
        self.errors: dict[Path, ConfigError] = {}
        self._find = lru_cache(maxsize=CACHED)(self._look_up)
        for path in self._files:
            self._seen[path] = file_state(path)
            self._keep(path, self._try(path))

    def find(self, ip: str) -> Location:
        """Return where a client's address is; what is not known is empty."""
        return self._find(ip) if self._open and ip else NOWHERE

    async def watch(self) -> None:
        """Say what was read, and follow the files, for ever."""
        for path in self._files:
            self._say(path)
        while self._files:
            await asyncio.sleep(WATCH_S)
            await self.refresh()

    async def refresh(self) -> None:
        """Read again what was replaced since the last look."""
        for path in self._files:
            state = file_state(path)
            if state != self._seen[path]:
                self._seen[path] = state
                before = str(self.errors.get(path, ""))
                # in a thread: a large file takes its time to be read
                self._keep(path, await asyncio.to_thread(self._try, path))
                if str(self.errors.get(path, "")) != before or path not in self.errors:
                    self._say(path)

    def _try(self, path: Path) -> MmdbDatabase | ConfigError:
        try:
            return open_database(path, self._files[path])
        except ConfigError as error:
            return error

    def _keep(self, path: Path, database: MmdbDatabase | ConfigError) -> None:
        if isinstance(database, ConfigError):
            self.errors[path] = database
            return
        self.errors.pop(path, None)
        self._broken.discard(path)
        self._open[path] = database
        self._find.cache_clear()

    def _say(self, path: Path) -> None:
        if path not in self.errors:
            database = self._open[path]
            event(
                log,
                logging.INFO,
                "database loaded",
                file=path,
                kind=database.kind,
                built=day_of(database.built),
            )
        elif path in self._open:
            event(
                log, logging.ERROR, "database refused, the old one stays", error=self.errors[path]
            )
        else:
            event(
                log,
                logging.ERROR,
                "database refused, its places are not known",
                error=self.errors[path],
            )

    def _look_up(self, ip: str) -> Location:
        address = plain(ip)
        if address is None:
            return NOWHERE
        record_fields: dict[str, Any] = {}
        for path, database in self._open.items():
            record = self._record(path, database, address)
            if COUNTRY in self._files[path]:
                record_fields["country"] = country(record)
            if SYSTEM in self._files[path]:
                record_fields["as_number"], record_fields["as_name"] = autonomous_system(record)
        return Location(**record_fields)

    def _record(
        self, path: Path, database: MmdbDatabase, address: IPv4Address | IPv6Address
    ) -> object:
        try:
            return database.get(address)
        except ConfigError as error:
            if path not in self._broken:
                event(log, logging.ERROR, "a place cannot be told", error=error)
            self._broken.add(path)
            return None


def day_of(unix: float) -> str:
    """Return the day of a time, as in 2026-11-03."""
    return datetime.fromtimestamp(unix, UTC).date().isoformat()
