"""What is known of own addresses on DNS lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from oborona.accounts.addresses.list_round import ListRound
from oborona.accounts.addresses.listing import ListingState, OwnListing
from oborona.accounts.addresses.schema import SHARED
from oborona.sqlite_file import SharedSqliteFile

_COLUMNS: Final = ", ".join(OwnListing.__struct_fields__)


class AddressStore(SharedSqliteFile):
    """The file of own addresses, open; for one thread at a time.

    A power failure may take the last seconds: they are asked about again.
    """

    shared = SHARED

    def rounds(self) -> dict[str, ListRound]:
        """Return how far each list was asked, by its name."""
        rows = self.rows("SELECT list, begun, last, asked, finished FROM list_round", ())
        return {
            row[0]: ListRound(**dict(zip(ListRound.__struct_fields__, row, strict=True)))
            for row in rows
        }

    def listings(self, address: str = "", state: ListingState | None = None) -> list[OwnListing]:
        """Return what is kept of an address, or of all: those listed longest first.

        Args:
            address: canonical text; "" = all.
            state: only those in it.
        """
        rows = self.rows(
            f"SELECT {_COLUMNS} FROM listing WHERE (?1 = '' OR address = ?1)"  # noqa: S608 - names of columns
            " AND (?2 = '' OR state = ?2) ORDER BY since, address, list",
            (address, "" if state is None else state.value),
        )
        return [
            OwnListing(
                **dict(zip(OwnListing.__struct_fields__, row, strict=True))
                | {"state": ListingState(row[2])}
            )
            for row in rows
        ]

    def note(
        self,
        rounds: Iterable[ListRound] = (),
        put: Iterable[OwnListing] = (),
        drop: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Write down what was heard, all of it or nothing.

        Args:
            rounds: as they are now.
            put: in place of what was kept.
            drop: addresses and lists of which nothing is kept any more.

        Raises:
            StoreError: nothing is written.
        """
        with self.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO list_round VALUES (?, ?, ?, ?, ?)",
                map(msgspec.structs.astuple, rounds),
            )
            db.executemany(
                "INSERT OR REPLACE INTO listing VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (one.address, one.list, one.state.value, *msgspec.structs.astuple(one)[3:])
                    for one in put
                ],
            )
            db.executemany("DELETE FROM listing WHERE address = ? AND list = ?", drop)

    def keep(self, lists: Sequence[str]) -> None:
        """Forget what other lists have said: they are asked no more."""
        marks = ", ".join("?" * len(lists))
        with self.transaction() as db:
            for table in ("listing", "list_round"):
                db.execute(f"DELETE FROM {table} WHERE list NOT IN ({marks})", tuple(lists))  # noqa: S608 - names above
