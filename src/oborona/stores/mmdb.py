"""One database in MaxMind's format, held in memory: what is on disk may be replaced, cut short or
taken away under it.

A mapped file would be shared by all workers and be looked up in 1 µs instead of 15; but it ends the
process with SIGBUS when somebody copies a new one over it.  A database of countries takes 9 MB of
each worker, one of autonomous systems 11, one of cities 60 and more, for the same answer.
"""

from __future__ import annotations

import io
import stat
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Final

from maxminddb import MODE_FD, InvalidDatabaseError
from maxminddb.reader import Reader

from oborona.errors import ConfigError

# of a file: every free database, and most that are sold; each worker holds it
MAX_BYTES: Final = 256 << 20
LOOKED_AT: Final = 1000  # records among which one must say what the database is for

# Unix seconds of the end of the year 9999, for times that are none
LAST_DAY: Final = 253_402_300_799

# What the reader raises for broken data, beside its own: text that is no UTF-8, a key or number
# that is none, a tree that leads back to itself.
_BROKEN: Final = (InvalidDatabaseError, ValueError, TypeError, RecursionError)


class MmdbDatabase:
    """A database with a usable kind of record.

    Args:
        path: of the file.
        says: whether a record says what the database is wanted for, each with a word for that.

    Raises:
        ConfigError: there is no such file, it is no database, or one of something else.

    Attributes:
        built: when its maker made it, Unix seconds.
        kind: its maker's name for it.
    """

    def __init__(self, path: Path, says: dict[str, Callable[[object], bool]]) -> None:
        self._path = path
        try:
            self._reader = Reader(io.BytesIO(_read(path)), MODE_FD)
            metadata = self._reader.metadata()
            self.built, self.kind = int(metadata.build_epoch), str(metadata.database_type)[:100]
            if not 0 <= self.built <= LAST_DAY:
                raise ValueError(f"made {self.built} seconds after 1970")
            self._six = metadata.ip_version == 6
            missing = self._missing(says)
        except _BROKEN as error:
            raise ConfigError(
                f"is no database in MaxMind's format, or broken: {error}", file=str(path)
            ) from error
        if missing:
            raise ConfigError(
                (
                    f"none of its first {LOOKED_AT:,} records names a {' or '.join(missing)}; "
                    f"it calls itself {self.kind!r}"
                ),
                file=str(path),
            )

    def _missing(self, says: dict[str, Callable[[object], bool]]) -> list[str]:
        missing = dict(says)
        for place, (_, record) in enumerate(self._reader):
            missing = {
                word: predicate for word, predicate in missing.items() if not predicate(record)
            }
            if not missing or place >= LOOKED_AT:
                break
        return list(missing)

    def get(self, address: IPv4Address | IPv6Address) -> object:
        """Return the record of an address, None when there is none.

        Raises:
            ConfigError: the record is broken.
        """
        if address.version == 6 and not self._six:
            return None
        try:
            return self._reader.get(address)
        except _BROKEN as error:
            raise ConfigError(f"has broken records: {error}", file=str(self._path)) from error


def _read(path: Path) -> bytes:
    try:
        # Looked at before it is opened: opening a pipe waits for its writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConfigError("is not a plain file", file=str(path))
        with path.open("rb") as handle:
            raw = handle.read(MAX_BYTES + 1)
    except OSError as fault:
        raise ConfigError(f"cannot be read: {fault.strerror or fault}", file=str(path)) from fault
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"is larger than {MAX_BYTES >> 20} MiB", file=str(path))
    return raw
