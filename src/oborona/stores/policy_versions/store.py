"""Versions of the site's policy folder: what it held when, and who made it so."""

from __future__ import annotations

import sqlite3
import zlib
from enum import StrEnum
from typing import Any, Final

import msgspec

from oborona.errors import StoreError
from oborona.sqlite_file import SharedSqliteFile
from oborona.stores.policy_versions import schema
from oborona.stores.policy_versions.digests import (
    FileSet,
    digest_of,
    digest_of_all,
    digests_of,
)

MOST_VERSIONS: Final = 1000  # some years of a busy site; what none of them holds goes, too
MOST_COMMENT: Final = 2000  # characters
OUTSIDE: Final = "edited outside"
_COLUMNS: Final = (
    "number, at, author, way, comment, sort, state, trouble, meaning, of, digest, files, approved"
)


class VersionSort(StrEnum):
    """How a version came to be."""

    FIRST = "first"  # what was there when versions began to be kept
    LIVE = "live"
    SHADOW = "shadow"
    BACK = "back"  # an earlier one again
    OUTSIDE = "outside"  # files were edited on the disk


class VersionState(StrEnum):
    """What became of it."""

    BEGUN = "begun"  # its files may be there or not: who looks next finds out
    PUBLISHED = "published"
    REFUSED = "refused"  # the files of before were put back


class PolicyVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version.

    Args:
        number: rising.
        at: Unix seconds.
        author: who made it.
        way: how they came.
        comment: why.
        sort: how it came to be.
        state: what became of it.
        trouble: why it was refused.
        meaning: version of what the whole policy means with it; empty where that is not known.
        of: of one that is an earlier one again, that one's number.
        digest: of all files.
        files: digests of what was in them, by name.
        approved: who approved what the author has proposed; empty = nobody had to.
    """

    number: int = 0
    at: float
    author: str = ""
    way: str = ""
    comment: str = ""
    sort: VersionSort
    state: VersionState = VersionState.PUBLISHED
    trouble: str = ""
    meaning: str = ""
    of: int = 0
    digest: str = ""
    files: dict[str, str] = {}
    approved: str = ""


class VersionStore(SharedSqliteFile):
    """One process's access to the versions; see `SharedSqliteFile`."""

    shared = schema.SHARED

    def list(self, most: int, before: int = 0) -> list[PolicyVersion]:
        """Return the newest versions, newest first, those below a number if one is given."""
        rows = self.rows(
            f"SELECT {_COLUMNS} FROM version WHERE number < ? ORDER BY number DESC LIMIT ?",  # noqa: S608 - names of ours
            (before or 1 << 62, most),
        )
        return [_version(row) for row in rows]

    def get(self, number: int) -> PolicyVersion | None:
        """Return a version; None where there is none of that number."""
        rows = self.rows(f"SELECT {_COLUMNS} FROM version WHERE number = ?", (number,))  # noqa: S608 - names of ours
        return _version(rows[0]) if rows else None

    def latest(self) -> PolicyVersion | None:
        """Return the newest version that was published."""
        rows = self.rows(
            f"SELECT {_COLUMNS} FROM version WHERE state = ? ORDER BY number DESC LIMIT 1",  # noqa: S608 - names of ours
            (VersionState.PUBLISHED,),
        )
        return _version(rows[0]) if rows else None

    def files(self, version: PolicyVersion) -> dict[str, bytes]:
        """Return the files of a version.

        Raises:
            StoreError: what was in one is gone or damaged.
        """
        return {name: self.content(digest) for name, digest in version.files.items()}

    def content(self, digest: str) -> bytes:
        """Return what is in a file, by its digest.

        Raises:
            StoreError: it is gone or damaged.
        """
        rows = self.rows("SELECT octets FROM content WHERE digest = ?", (digest,))
        try:
            raw = zlib.decompress(rows[0][0]) if rows else None
        except (zlib.error, TypeError):
            raw = None
        if raw is None or digest_of(raw) != digest:
            raise StoreError(f"{self.path}: what a version of the policy held is gone or damaged")
        return raw

    def begin(self, version: PolicyVersion, files: FileSet) -> PolicyVersion:
        """Write a version down with its files; it is on the disk when this returns."""
        with self.transaction() as db:
            return self._put(db, version, files)

    def end(
        self, number: int, state: VersionState, *, meaning: str = "", trouble: str = ""
    ) -> None:
        """Write what became of a version."""
        with self.transaction() as db:
            db.execute(
                "UPDATE version SET state = ?, trouble = ?,"
                " meaning = CASE WHEN ? = '' THEN meaning ELSE ? END WHERE number = ?",
                (state, trouble, meaning, meaning, number),
            )

    def notice(self, files: FileSet, now: float) -> PolicyVersion:
        """Return the version that the folder holds now.

        What a publication left that was killed is settled; what nobody published was edited
        outside, and is written down as that.

        Args:
            files: of the folder.
            now: Unix seconds.
        """
        digest = digest_of_all(files)
        with self.transaction() as db:
            latest = self.latest()
            open_ones = [
                version
                for version in self.list(20)
                if version.state is VersionState.BEGUN
                and (latest is None or version.number > latest.number)
            ]
            found = next((version for version in open_ones if version.digest == digest), None)
            for version in open_ones:
                done = version is found
                db.execute(
                    "UPDATE version SET state = ?, trouble = ? WHERE number = ?",
                    (
                        VersionState.PUBLISHED if done else VersionState.REFUSED,
                        "" if done else "was broken off before a file was written",
                        version.number,
                    ),
                )
            if found is not None:
                return msgspec.structs.replace(found, state=VersionState.PUBLISHED)
            if latest is not None and latest.digest == digest:
                return latest
            outside = latest is not None
            return self._put(
                db,
                PolicyVersion(
                    at=now,
                    comment=OUTSIDE if outside else "",
                    sort=VersionSort.OUTSIDE if outside else VersionSort.FIRST,
                ),
                files,
            )

    def _put(self, db: sqlite3.Connection, version: PolicyVersion, files: FileSet) -> PolicyVersion:
        named = digests_of(files)
        for name, digest in named.items():
            db.execute(
                "INSERT OR IGNORE INTO content VALUES (?, ?)",
                (digest, zlib.compress(files[name], 6)),
            )
        whole = msgspec.structs.replace(
            version,
            comment=version.comment[:MOST_COMMENT],
            digest=digest_of_all(files),
            files=named,
        )
        number = db.execute(
            "INSERT INTO version (at, author, way, comment, sort, state, trouble, meaning, of,"
            " digest, files, approved) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                whole.at,
                whole.author,
                whole.way,
                whole.comment,
                whole.sort,
                whole.state,
                whole.trouble,
                whole.meaning,
                whole.of,
                whole.digest,
                msgspec.json.encode(named).decode(),
                whole.approved,
            ),
        ).lastrowid
        assert number is not None
        self._forget(db, number)
        return msgspec.structs.replace(whole, number=number)

    def _forget(self, db: sqlite3.Connection, newest: int) -> None:
        gone = db.execute("DELETE FROM version WHERE number <= ?", (newest - MOST_VERSIONS,))
        if gone.rowcount > 0:
            db.execute(
                "DELETE FROM content WHERE digest NOT IN"
                " (SELECT value FROM version, json_each(version.files))"
            )


def _version(row: tuple[Any, ...]) -> PolicyVersion:
    names = _COLUMNS.split(", ")
    fields = dict(zip(names, row, strict=True))
    try:
        fields["files"] = msgspec.json.decode(fields["files"], type=dict[str, str])
        return msgspec.convert(fields, PolicyVersion, strict=False)
    except (msgspec.MsgspecError, TypeError) as error:
        raise StoreError(f"a version of the policy is damaged: {error}") from error
