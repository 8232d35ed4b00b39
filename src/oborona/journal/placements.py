"""Where the messages of a long time went, and the entries of some of them: for who reads the
journal in bulk, without an event loop.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import msgspec

from oborona import ident
from oborona.journal import schema
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import DAMAGED, ENTRIES, entry_of
from oborona.journal.texts import unpack_text
from oborona.sqlite_file import ERRORS
from oborona.types import Action

AT_ONCE: Final = 500  # rows, and ids that are asked for
_TEXTS: Final = msgspec.json.Decoder(tuple[str, ...])
_PLACEMENTS: Final = (
    "SELECT id, time, verdict, recipients, header_from FROM verdict"
    " WHERE id > ? AND verdict IN ('accept', 'spam') AND login = '' ORDER BY id LIMIT ?"
)


class MessagePlacement(NamedTuple):
    """A message that was delivered, and whether to the spam folder."""

    id: int
    time: float  # Unix seconds, when it was judged
    filed: bool  # to the spam folder
    recipients: tuple[str, ...]  # as the envelope names them
    header_from: str  # the first mailbox in From


class JournalPlacements:
    """The journal, read in bulk; to be closed, or used as a context manager.

    Args:
        path: of the journal.

    Raises:
        StoreError: there is none, or it can't be read; as all methods do.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = schema.open_reader(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def since(self, when: float) -> Iterator[MessagePlacement]:
        """Yield the messages that were delivered from a time on, oldest first.

        Those of people who log in, and those that were refused, put off or whose row is damaged,
        are left out.

        Args:
            when: Unix seconds.
        """
        last = ident.first_id_at(when) - 1
        elsewhere = self._delivered(last)
        while rows := self._fetch(_PLACEMENTS, (last, AT_ONCE)):
            last = rows[-1][0]
            for number, time, verdict, recipients, header_from in rows:
                try:
                    yield MessagePlacement(
                        number,
                        time,
                        elsewhere.get(number, verdict == Action.SPAM),
                        _TEXTS.decode(recipients),
                        unpack_text(header_from),
                    )
                except DAMAGED:
                    continue

    def entries(self, idents: Sequence[int]) -> Iterator[JournalEntry]:
        """Yield the entries of some ids, in order of time; those that are gone or damaged are left
        out.
        """
        wanted = sorted(set(idents))
        for start in range(0, len(wanted), AT_ONCE):
            some = wanted[start : start + AT_ONCE]
            marks = ", ".join("?" * len(some))
            for row in self._fetch(f"{ENTRIES} WHERE v.id IN ({marks}) ORDER BY v.id", some):
                try:
                    yield entry_of(row)
                except DAMAGED:
                    continue

    def _delivered(self, after: int) -> dict[int, bool]:
        """Return where the delivery door put messages of one copy: what a reader's list made of it
        is not the verdict.
        """
        return {
            number: bool(spam)
            for number, spam in self._fetch(
                "SELECT id, max(spam) FROM went WHERE id > ? GROUP BY id"
                " HAVING min(spam) = max(spam)",
                (after,),
            )
        }

    def _fetch(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(sql, tuple(values)).fetchall()
        except (*ERRORS, sqlite3.Error) as error:
            raise schema.classify_error(error, self._path) from error
