"""What persons have said of mail and whom they know, written and read.

Any number of processes use one file.

Each change counts up `version.number`, and the person it is about has that number: who follows
reads the persons with a higher one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from oborona.errors import StoreError
from oborona.reputation.personal import (
    LAXEST,
    STRICTEST,
    EntryAction,
    PersonalEntry,
    PersonalEntryKind,
    PersonalEntrySource,
)
from oborona.stores.followed_store import FollowedStore
from oborona.stores.persons.schema import SHARED

# entries of a person that are no contacts; of those from words the oldest make room
MAX_SAID: Final = 2_000
MAX_TEXTS: Final = 100  # of these about texts: each costs a message 3 µs
MAX_CONTACTS: Final = 10_000  # of a person; the first of those written to make room
# contacts of a person learned from outgoing mail: a stolen password makes no more
WRITTEN_A_DAY: Final = 100
WRITTEN_S: Final = 400 * 86_400  # without another message to somebody, they are a contact so long
DAY_S: Final = 86_400

_SIDES: Final = {member.value: member for member in EntryAction}
_KINDS: Final = {member.value: member for member in PersonalEntryKind}
_SOURCES: Final = {member.value: member for member in PersonalEntrySource}

COLUMNS: Final = "side, kind, value, beside, text, time, source, expires, word, note"
_ROOM: Final = (
    ("contact = 0 AND kind = 'text'", MAX_TEXTS),
    ("contact = 0", MAX_SAID),
    ("contact = 1", MAX_CONTACTS),
)
_PUT: Final = (
    f"INSERT OR REPLACE INTO entry (person, contact, {COLUMNS}) VALUES ({', '.join('?' * 12)})"  # noqa: S608 - literals above
)
_WRITTEN: Final = (
    f"INSERT INTO entry (person, contact, {COLUMNS}) VALUES (?, 1, 'contact', 'address', ?, '', x'', ?, 'written', ?, 0, '')"  # noqa: S608
    " ON CONFLICT DO UPDATE SET expires = excluded.expires WHERE source = 'written'"
)


class StoredPerson(NamedTuple):
    """A person's stored data."""

    strictness: float
    entries: list[PersonalEntry]


class PersonStoreCounts(NamedTuple):
    """The numbers of persons and entries."""

    persons: int
    entries: int  # contacts included
    contacts: int


class PersonStore(FollowedStore):
    """One process's access to the store; see `FollowedStore`."""

    shared = SHARED

    def put(self, person: str, entries: Sequence[PersonalEntry], *, now: float) -> int:
        """Write down what a person says, all of it or nothing; return how much of it is new.

        Args:
            person: mail address in its normal form.
            entries: each takes the place of the one of the same word about the same thing.
            now: Unix seconds.

        Raises:
            StoreError: there would be more than one person may have; nothing is written.
        """
        with self._change() as change:
            row_id = change.person(person)
            new = change.put(row_id, entries)
            change.make_room(row_id, person, now)
        return new

    def say(
        self,
        person: str,
        word: int,
        entries: Sequence[PersonalEntry],
        *,
        replaced: int = 0,
        now: float,
    ) -> None:
        """Write down what follows from a person's word, in the place of what followed from another.

        Args:
            person: mail address in its normal form.
            word: its id.
            entries: that follow from it; they have its id.
            replaced: id of the word that it replaces; 0 = none.
            now: Unix seconds.
        """
        with self._change() as change:
            row_id = change.person(person)
            change.take_back([word, *([replaced] if replaced else [])])
            change.put(row_id, entries)
            change.make_room(row_id, person, now)

    def take_back(self, words: Iterable[int]) -> int:
        """Remove exactly what followed from some words; return how many entries."""
        positive = [word for word in words if word > 0]
        if not positive:
            return 0
        with self._change() as change:
            return change.take_back(positive)

    def remove(
        self,
        person: str,
        things: Collection[tuple[PersonalEntryKind, str]],
        *,
        contacts: bool = True,
    ) -> int:
        """Remove what a person has said of some things, whatever it followed from.

        Return how many entries.

        Args:
            person: mail address in its normal form.
            things: kind and value in its normal form.
            contacts: addresses among them cease to be contacts, too.
        """
        with self._change() as change:
            row_id, removed = change.known(person), 0
            for kind, value in things:
                removed += change.db.execute(
                    "DELETE FROM entry WHERE person = ? AND contact <= ? AND kind = ? AND value = ?",
                    (row_id, int(contacts), kind, value),
                ).rowcount
        return removed

    def replace(
        self,
        person: str,
        things: Collection[tuple[PersonalEntryKind, str]],
        entries: Sequence[PersonalEntry],
        *,
        now: float,
    ) -> None:
        """Write entries in the place of all that a person has said of some things; contacts stay.

        Args:
            person: mail address in its normal form.
            things: kind and value in its normal form.
            entries: of these.
            now: Unix seconds.

        Raises:
            StoreError: there would be more than one person may have; nothing is written.
        """
        with self._change() as change:
            row_id = change.person(person)
            change.db.executemany(
                "DELETE FROM entry WHERE person = ? AND contact = 0 AND kind = ? AND value = ?",
                [(row_id, kind, value) for kind, value in things],
            )
            change.put(row_id, entries)
            change.make_room(row_id, person, now)

    def clear(self, person: str) -> int:
        """Forget a person; return how many entries that were."""
        with self._change() as change:
            row_id = change.known(person)
            change.db.execute("UPDATE person SET strictness = 1 WHERE id = ?", (row_id,))
            return change.db.execute("DELETE FROM entry WHERE person = ?", (row_id,)).rowcount

    def strict(self, person: str, strictness: float) -> None:
        """Set a person's factor on the spam line.

        Raises:
            ValueError: it is out of bounds.
        """
        if not STRICTEST <= strictness <= LAXEST:
            raise ValueError(f"{strictness:g} is not within {STRICTEST:g} and {LAXEST:g}")
        with self._change() as change:
            change.db.execute(
                "UPDATE person SET strictness = ? WHERE id = ?", (strictness, change.person(person))
            )

    def written(self, letters: Mapping[str, Iterable[str]], *, now: float) -> int:
        """Note whom persons have written to; return how many new contacts that made.

        Args:
            letters: person → addresses, in their normal form.
            now: Unix seconds.

        A person gets at most `WRITTEN_A_DAY` new ones in 24 hours.
        """
        new = 0
        with self._change() as change:
            for person, addresses in letters.items():
                row_id = change.person(person)
                (today,) = change.db.execute(
                    "SELECT count(*) FROM entry WHERE person = ? AND contact = 1 AND source = 'written' AND time > ?",
                    (row_id, now - DAY_S),
                ).fetchone()
                for address in dict.fromkeys(addresses):
                    row = change.db.execute(
                        "SELECT 1 FROM entry WHERE person = ? AND contact = 1 AND kind = 'address' AND value = ?",
                        (row_id, address),
                    ).fetchone()
                    if row is None and today >= WRITTEN_A_DAY:
                        continue
                    change.db.execute(_WRITTEN, (row_id, address, now, now + WRITTEN_S))
                    new += row is None
                    today += row is None
                change.make_room(row_id, person, now)
        return new

    def of(self, person: str) -> StoredPerson:
        """Return what is kept of a person, the oldest first."""
        rows = self.rows(
            f"SELECT p.strictness, {COLUMNS} FROM person p LEFT JOIN entry e ON e.person = p.id"  # noqa: S608 - literals above
            " WHERE p.address = ? ORDER BY e.time, e.kind, e.value",
            (person,),
        )
        return read(rows)

    def persons(self) -> list[str]:
        """Return everybody of whom anything was ever kept."""
        return [address for (address,) in self.rows("SELECT address FROM person ORDER BY address")]

    def counted(self) -> PersonStoreCounts:
        """Return how much there is; it looks at all of it."""
        ((persons,),) = self.rows("SELECT count(*) FROM person")
        ((entries, contacts),) = self.rows("SELECT count(*), coalesce(sum(contact), 0) FROM entry")
        return PersonStoreCounts(persons, entries, contacts)

    @contextmanager
    def _change(self) -> Iterator[_Change]:
        """A transaction that is one change."""
        with self.changing() as number:
            yield _Change(self._db, number)


class _Change:
    """What is written within one transaction."""

    def __init__(self, db: sqlite3.Connection, number: int) -> None:
        self.db = db
        self._number = number

    def person(self, address: str) -> int:
        """Return the id of a person, who has changed now."""
        ((row_id,),) = self.db.execute(
            "INSERT INTO person (address, changed) VALUES (?, ?) ON CONFLICT DO UPDATE SET changed = excluded.changed"
            " RETURNING id",
            (address, self._number),
        ).fetchall()
        return int(row_id)

    def known(self, address: str) -> int | None:
        """Return the id of a person, who has changed now.

        None of somebody who has never said anything.
        """
        rows_changed = self.db.execute(
            "UPDATE person SET changed = ? WHERE address = ? RETURNING id", (self._number, address)
        ).fetchall()
        return int(rows_changed[0][0]) if rows_changed else None

    def put(self, row_id: int, entries: Iterable[PersonalEntry]) -> int:
        """Write entries; return how many were not there."""
        ((before,),) = self._count(row_id)
        self.db.executemany(
            _PUT,
            [
                (
                    row_id, int(entry.side is EntryAction.CONTACT), entry.side, entry.kind, entry.value, entry.beside, entry.text, entry.time,
                    entry.source, entry.expires, entry.word, entry.note,
                )
                for entry in entries
            ],
        )  # fmt: skip
        ((after,),) = self._count(row_id)
        return int(after - before)

    def _count(self, row_id: int) -> list[Any]:
        return self.db.execute("SELECT count(*) FROM entry WHERE person = ?", (row_id,)).fetchall()

    def take_back(self, words: Sequence[int]) -> int:
        """Remove what followed from words."""
        removed = 0
        for word in words:
            self.db.execute(
                "UPDATE person SET changed = ? WHERE id IN (SELECT person FROM entry WHERE word = ? AND word <> 0)",
                (self._number, word),
            )
            removed += self.db.execute(
                "DELETE FROM entry WHERE word = ? AND word <> 0", (word,)
            ).rowcount
        return removed

    def make_room(self, row_id: int, person: str, now: float) -> None:
        """Remove what is over, and the oldest of what nobody has typed where there is too much.

        Raises:
            StoreError: there is too much all the same.
        """
        self.db.execute(
            "DELETE FROM entry WHERE person = ? AND 0 < expires AND expires <= ?", (row_id, now)
        )
        for which, most in _ROOM:
            ((number,),) = self.db.execute(
                f"SELECT count(*) FROM entry WHERE person = ? AND {which}",  # noqa: S608 - literals above
                (row_id,),
            ).fetchall()
            if number <= most:
                continue
            removed = self.db.execute(
                "DELETE FROM entry WHERE person = ?1 AND (contact, kind, value, word) IN (SELECT contact, kind, value, word"  # noqa: S608
                f" FROM entry WHERE person = ?1 AND {which} AND source IN ('word', 'written') ORDER BY time LIMIT ?2)",
                (row_id, number - most),
            ).rowcount
            if number - removed > most:
                kind_name = "contacts" if "1" in which else "entries"
                raise StoreError(
                    f"{person} would have more than {most} {kind_name}; remove some first"
                )


def read(rows: Sequence[Sequence[Any]]) -> StoredPerson:
    """Return what rows of strictness and `COLUMNS` hold.

    An entry that this version can't read is left out.
    """
    entries = []
    for _strictness, side, kind, value, beside, text, time, source, expires, word, note in rows:
        if side is None:  # of a person without any
            continue
        try:
            entry = PersonalEntry(
                side=_SIDES[side],
                kind=_KINDS[kind],
                value=str(value),
                beside=str(beside),
                text=bytes(text),
                time=float(time),
                source=_SOURCES[source],
                expires=float(expires),
                word=int(word),
                note=str(note),
            )
        except (KeyError, ValueError, TypeError):
            continue
        entries.append(entry)
    return StoredPerson(float(rows[0][0]) if rows else 1.0, entries)
