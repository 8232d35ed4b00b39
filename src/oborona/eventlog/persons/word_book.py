"""What an admin says of persons of a log: fraud, or good."""

from __future__ import annotations

import msgspec

from oborona.eventlog.batch.store import LogStore


class PersonWord(msgspec.Struct, frozen=True, kw_only=True):
    """The last word of an admin on a person."""

    person: int  # keyed hash
    fraud: bool
    why: str
    time: float  # Unix seconds


class PersonWordBook:
    """The part of the file of event logs that holds these words.

    Args:
        store: the file.
        log: name of a log.
    """

    def __init__(self, store: LogStore, log: str) -> None:
        self._store = store
        self._log = log

    def say(self, word: PersonWord) -> None:
        """Write a word down, in the place of an earlier one."""
        with self._store.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO person_word (log, person, fraud, why, time)"
                " VALUES (?, ?, ?, ?, ?)",
                (self._log, *msgspec.structs.astuple(word)),
            )

    def take_back(self, person: int) -> bool:
        """Remove the word on a person; return whether there was one."""
        with self._store.transaction() as db:
            gone = db.execute(
                "DELETE FROM person_word WHERE log = ? AND person = ?", (self._log, person)
            )
            return gone.rowcount > 0

    def words(self) -> dict[int, PersonWord]:
        """Return the words on all persons, by person."""
        return {
            person: PersonWord(person=person, fraud=bool(fraud), why=why, time=time)
            for person, fraud, why, time in self._store.rows(
                "SELECT person, fraud, why, time FROM person_word WHERE log = ? ORDER BY person",
                (self._log,),
            )
        }
