"""What is known of passes over whole days, and who was caught: in the file of event logs.

It needs none of the packages of event logs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.suppression.quiet_rule import QuietRule, read_quiet_rules, written

DAY: Final = "1d"  # the period whose slots are days
PERSONS_DAYS: Final = 90.0  # that it is known who was caught
_THRESHOLDS: Final = msgspec.json.Decoder(dict[str, float])
_FIRED: Final = msgspec.json.Decoder(dict[str, int])
_COLUMNS: Final = (
    "id, date, rules, thresholds, suppressed, rows, begun, tries, change, revised, marked, persons,"
    " fired, done, cpu_s, why"
)


class PassedDay(msgspec.Struct, frozen=True, kw_only=True):
    """A pass over a day, all that its outcome hangs on, and what came of it."""

    id: int
    date: str
    rules: str  # version of the rules
    thresholds: Mapping[str, float]  # by event; `batch.store.OTHERS`
    suppressed: tuple[QuietRule, ...] = ()  # none of one that is done
    rows: int  # that the day had; -1: it was written anew since
    begun: float  # Unix seconds
    tries: int = 0  # how often it was begun again
    change: str = ""  # of the day's checksum, as digits; empty: it is not judged yet
    revised: int = 0  # rows that were given out again
    marked: int = 0  # rows that have a rule now
    persons: int = 0  # who were caught
    fired: Mapping[str, int] = {}  # rows by rule
    done: float | None = None
    cpu_s: float | None = None
    why: str = ""  # it was given up


class CaughtDay(msgspec.Struct, frozen=True, kw_only=True):
    """A person who was caught, as the book knows it."""

    person: int  # keyed hash
    events: int  # rows of the day
    marked: int  # those that a rule marked


class DayPassBook:
    """The part of the file of event logs that is about passes.

    Args:
        store: the file.
        log: name of a log.
    """

    def __init__(self, store: LogStore, log: str) -> None:
        self._store = store
        self._log = log

    def unfinished(self) -> PassedDay | None:
        """Return the pass that was begun and is neither done nor given up."""
        found = self._passes("AND done IS NULL AND why = '' ORDER BY id LIMIT 1", ())
        return found[0] if found else None

    def last(self, date: str | None = None) -> PassedDay | None:
        """Return the last pass that is done or was given up: of a day, or of any."""
        where = "AND (done IS NOT NULL OR why != '') AND (? IS NULL OR date = ?)"
        found = self._passes(f"{where} ORDER BY id DESC LIMIT 1", (date, date))
        return found[0] if found else None

    def outcomes(self, first: str) -> list[PassedDay]:
        """Return the last pass of each day that is done or was given up, by day.

        Args:
            first: such as 2026-11-23: earlier days are left out.
        """
        return self._passes(
            "AND date >= ? AND id IN (SELECT max(id) FROM day_pass WHERE log = ? AND"
            " (done IS NOT NULL OR why != '') GROUP BY date) ORDER BY date",
            (first, self._log),
        )

    def days(self, first: str, last: str) -> dict[str, int]:
        """Return the days of a span that have rows, each with their number.

        Args:
            first: such as 2026-11-23.
            last: the same; it is in the span.
        """
        return dict(
            self._store.rows(
                "SELECT slot, sum(rows) FROM event_slot WHERE log = ? AND period = ?"
                " AND slot BETWEEN ? AND ? AND merge IS NOT NULL GROUP BY slot ORDER BY slot",
                (self._log, DAY, first, last),
            )
        )

    def request(self, date: str) -> None:
        """Write down that somebody wants a day to be gone over."""
        with self._store.transaction() as db:
            db.execute("INSERT OR IGNORE INTO day_request VALUES (?, ?)", (self._log, date))

    def requested(self) -> list[str]:
        """Return the days that somebody asked for."""
        rows = self._store.rows(
            "SELECT date FROM day_request WHERE log = ? ORDER BY date", (self._log,)
        )
        return [date for (date,) in rows]

    def begin(self, one: PassedDay, above: int) -> PassedDay:
        """Write down a pass; return it with its number. Who asked for its day has it.

        Args:
            one: the pass.
            above: its number is greater than this, which the table of days may know of a book that
                is gone.
        """
        with self._store.transaction() as db:
            number = db.execute(
                "INSERT INTO day_pass (id, log, date, rules, thresholds, suppressed, rows, begun)"
                " VALUES (max(?,"
                " coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'day_pass'), 0)) + 1,"
                " ?, ?, ?, ?, ?, ?, ?)",
                (
                    above,
                    self._log,
                    one.date,
                    one.rules,
                    _text(dict(one.thresholds)),
                    written(one.suppressed),
                    one.rows,
                    one.begun,
                ),
            ).lastrowid
            db.execute("DELETE FROM day_request WHERE log = ? AND date = ?", (self._log, one.date))
        return msgspec.structs.replace(one, id=number or 0)

    def retry(self, one: PassedDay) -> None:
        """Write down that a pass is begun again: it could not be ended."""
        with self._store.transaction() as db:
            db.execute("UPDATE day_pass SET tries = tries + 1 WHERE id = ?", (one.id,))

    def judge(self, one: PassedDay) -> None:
        """Write down what a pass changes, before it does."""
        with self._store.transaction() as db:
            db.execute(
                "UPDATE day_pass SET change = ?, revised = ?, marked = ?, persons = ?, fired = ?"
                " WHERE id = ?",
                (one.change, one.revised, one.marked, one.persons, _text(dict(one.fired)), one.id),
            )

    def finish(
        self, one: PassedDay, persons: Sequence[CaughtDay], now: float, cpu_s: float, kept: str
    ) -> None:
        """Write down that a pass is done, and who was caught: all or nothing.

        Args:
            one: the pass.
            persons: who were caught on its day.
            now: Unix seconds.
            cpu_s: of the process.
            kept: the first day of which it stays known who was caught.
        """
        with self._store.transaction() as db:
            db.execute(
                "DELETE FROM fraud_person WHERE log = ? AND (date = ? OR date < ?)",
                (self._log, one.date, kept),
            )
            db.executemany(
                "INSERT INTO fraud_person (log, date, person, events, marked)"
                " VALUES (?, ?, ?, ?, ?)",
                [
                    (self._log, one.date, person.person, person.events, person.marked)
                    for person in persons
                ],
            )
            db.execute(
                "UPDATE day_pass SET done = ?, cpu_s = ?, suppressed = '[]' WHERE id = ?",
                (now, cpu_s, one.id),
            )

    def drop(self, one: PassedDay) -> None:
        """Forget a pass that has changed nothing; its day is due again."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM day_pass WHERE id = ?", (one.id,))

    def give_up(self, one: PassedDay, why: str, *, changed: bool) -> None:
        """Write down that a pass can't be ended.

        Args:
            one: the pass.
            why: in words.
            changed: its rows are in the day.
        """
        with self._store.transaction() as db:
            db.execute(
                "UPDATE day_pass SET why = ?, suppressed = '[]',"
                " change = CASE WHEN ? THEN change ELSE '' END WHERE id = ?",
                (why, changed, one.id),
            )

    def persons(self, date: str) -> list[CaughtDay]:
        """Return who was caught on a day, those with most marked rows first."""
        return [
            CaughtDay(person=person, events=events, marked=marked)
            for person, events, marked in self._store.rows(
                "SELECT person, events, marked FROM fraud_person WHERE log = ? AND date = ?"
                " ORDER BY marked DESC, person",
                (self._log, date),
            )
        ]

    def days_of(self, person: int) -> dict[str, CaughtDay]:
        """Return the days on which a person was caught."""
        return {
            date: CaughtDay(person=person, events=events, marked=marked)
            for date, events, marked in self._store.rows(
                "SELECT date, events, marked FROM fraud_person WHERE log = ? AND person = ?"
                " ORDER BY date",
                (self._log, person),
            )
        }

    def forget(self, before: str) -> None:
        """Forget passes over days that are removed."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM day_pass WHERE log = ? AND date < ?", (self._log, before))

    def _passes(self, where: str, values: tuple[object, ...]) -> list[PassedDay]:
        return [
            PassedDay(
                id=number,
                date=date,
                rules=rules,
                thresholds=_THRESHOLDS.decode(thresholds),
                suppressed=read_quiet_rules(suppressed),
                rows=rows,
                begun=begun,
                tries=tries,
                change=change,
                revised=revised,
                marked=marked,
                persons=persons,
                fired=_FIRED.decode(fired),
                done=done,
                cpu_s=cpu_s,
                why=why,
            )
            for (
                number,
                date,
                rules,
                thresholds,
                suppressed,
                rows,
                begun,
                tries,
                change,
                revised,
                marked,
                persons,
                fired,
                done,
                cpu_s,
                why,
            ) in self._store.rows(
                f"SELECT {_COLUMNS} FROM day_pass WHERE log = ? {where}",  # noqa: S608 - texts of ours
                (self._log, *values),
            )
        ]


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
