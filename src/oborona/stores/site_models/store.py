"""What the files of the final models hold on all machines of a site."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from typing import Final, NamedTuple

from oborona.errors import StoreError
from oborona.policy.models.final.file import MAX_OCTETS
from oborona.sqlite_file import SharedSqliteFile
from oborona.stores.site_models import schema

KNOWN: Final = 5_000  # digests of what files held once: some years of a training each day
LEVEL: Final = 6  # of zlib: a model is written once a day, and read by each machine


class SiteModelsDamagedError(StoreError):
    """What a file is to hold is not what was put in."""


class ModelStanding(NamedTuple):
    """Who said last what the files hold."""

    machine: str
    at: float  # Unix seconds


class SiteModelStore(SharedSqliteFile):
    """One process's access to them; see `SharedSqliteFile`."""

    shared = schema.SHARED

    def digests(self) -> dict[str, str]:
        """Return the digest of what each file holds, by its name."""
        return dict(self.rows("SELECT name, digest FROM file ORDER BY name"))

    def standing(self) -> ModelStanding | None:
        """Return who said last what the files hold; None = no machine has yet."""
        rows = self.rows("SELECT machine, at FROM standing")
        return ModelStanding(*rows[0]) if rows else None

    def knows(self, digest: str) -> bool:
        """Whether any file held this once."""
        return bool(self.rows("SELECT 1 FROM content WHERE digest = ?", (digest,)))

    def content(self, name: str, digest: str) -> bytes:
        """Return what a file holds.

        Args:
            name: of the file, for errors.
            digest: of what it holds.

        Raises:
            SiteModelsDamagedError: it is gone, or not what was put in.
        """
        rows = self.rows("SELECT octets FROM content WHERE digest = ?", (digest,))
        reader = zlib.decompressobj()
        try:
            octets = reader.decompress(rows[0][0], MAX_OCTETS + 1) if rows else None
        except (zlib.error, TypeError):
            octets = None
        if octets is None or digest_of(octets) != digest:
            raise SiteModelsDamagedError(
                f"{self.path}: what the site has as {name} is damaged, and is not used"
            )
        return octets

    def replace(self, files: Mapping[str, bytes | None], *, machine: str, now: float) -> None:
        """Let files hold something else on all machines; within `transaction`.

        Args:
            files: what is in each, by its name; None = there is none any more.
            machine: that says so.
            now: Unix seconds.
        """
        with self.told() as db:
            db.execute(
                "INSERT INTO standing (single, machine, at) VALUES (1, ?, ?)"
                " ON CONFLICT (single) DO UPDATE SET machine = excluded.machine, at = excluded.at",
                (machine, now),
            )
            for name, octets in files.items():
                db.execute("DELETE FROM file WHERE name = ?", (name,))
                if octets is None:
                    continue
                packed, digest = zlib.compress(octets, LEVEL), digest_of(octets)
                db.execute(
                    "INSERT INTO content (digest, octets) VALUES (?, ?)"
                    " ON CONFLICT (digest) DO UPDATE SET octets = excluded.octets",
                    (digest, packed),
                )
                db.execute("INSERT INTO file (name, digest) VALUES (?, ?)", (name, digest))
            db.execute(
                "UPDATE content SET octets = NULL WHERE octets IS NOT NULL"
                " AND digest NOT IN (SELECT digest FROM file)"
            )
            db.execute(
                "DELETE FROM content WHERE octets IS NULL"
                " AND number <= (SELECT max(number) FROM content) - ?",
                (KNOWN,),
            )


def digest_of(octets: bytes) -> str:
    """Return the digest by which what is in a file is known."""
    return hashlib.sha256(octets).hexdigest()
