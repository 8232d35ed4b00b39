"""What is known of suppressions: of whom, by whom, why, until when; in the file of event logs.

What is judged looks at those that are in force in its own time: a table at those of its five
minutes, a pass at those of its day, however late either comes.
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.errors import ConfigError
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.slots import day_span
from oborona.eventlog.suppression.quiet_rule import EVERY, QuietRule

MOST: Final = 1_000
"""Suppressions of a log that are in force at once: each batch writes them down."""
_COLUMNS: Final = "id, person, rule, since, until, who, why, asked, taken_back, taken_back_by"
_END: Final = "coalesce(min(until, taken_back), until)"


class RuleSuppression(msgspec.Struct, frozen=True, kw_only=True):
    """That rules are not held against a person for a while."""

    id: int = 0
    person: int  # keyed hash
    rule: str = EVERY
    since: float  # Unix seconds
    until: float
    who: str  # login of who said so
    why: str
    asked: float
    taken_back: float | None = None  # when, before its end
    taken_back_by: str = ""

    def is_open(self, now: float) -> bool:
        """Tell whether it is in force, or will be, at a time in Unix seconds."""
        return self.taken_back is None and self.until > now


class SuppressionBook:
    """The part of the file of event logs that holds suppressions.

    Args:
        store: the file.
        log: name of a log.
    """

    def __init__(self, store: LogStore, log: str) -> None:
        self._store = store
        self._log = log

    def begin(self, one: RuleSuppression) -> None:
        """Write a suppression down.

        Raises:
            ConfigError: so many are in force that this one would be one too many.
        """
        with self._store.transaction() as db:
            ((number,),) = db.execute(
                f"SELECT count(*) FROM suppression WHERE log = ? AND {_END} > ?",  # noqa: S608 - a text of ours
                (self._log, one.asked),
            ).fetchall()
            if number >= MOST:
                raise ConfigError(
                    f"{number} suppressions are in force in {self._log}, and at most {MOST} may be;"
                    " a condition in the rule suits so many better"
                )
            db.execute(
                "INSERT INTO suppression (log, person, rule, since, until, who, why, asked)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    self._log,
                    one.person,
                    one.rule,
                    one.since,
                    one.until,
                    one.who,
                    one.why,
                    one.asked,
                ),
            )

    def take_back(self, person: int, rule: str | None, who: str, now: float) -> int:
        """End the suppressions of a person now; return how many were in force.

        Args:
            person: keyed hash.
            rule: those of this name alone; None = all.
            who: says so.
            now: Unix seconds.
        """
        with self._store.transaction() as db:
            return db.execute(
                "UPDATE suppression SET taken_back = ?, taken_back_by = ?"  # noqa: S608 - a text of ours
                f" WHERE log = ? AND person = ? AND (? IS NULL OR rule = ?) AND {_END} > ?",
                (now, who, self._log, person, rule, rule, now),
            ).rowcount

    def in_force(self, start: float, end: float) -> tuple[QuietRule, ...]:
        """Return what is in force at any moment of a span, in an order of its own.

        Args:
            start: Unix seconds.
            end: the same; it is not in the span.
        """
        rows = self._store.rows(
            f"SELECT DISTINCT person, rule, since, {_END} FROM suppression"  # noqa: S608 - a text of ours
            f" WHERE log = ? AND since < ? AND {_END} > ? ORDER BY 1, 2, 3, 4",
            (self._log, end, start),
        )
        return tuple(QuietRule(*row) for row in rows)

    def in_force_on(self, date: str) -> tuple[QuietRule, ...]:
        """Return what is in force at any moment of a day.

        Args:
            date: such as 2026-11-23.
        """
        return self.in_force(*day_span(date))

    def all(self, person: int | None = None) -> list[RuleSuppression]:
        """Return all suppressions, of one person or of all; the last first."""
        return [
            RuleSuppression(**dict(zip(_COLUMNS.split(", "), row, strict=True)))
            for row in self._store.rows(
                f"SELECT {_COLUMNS} FROM suppression WHERE log = ? AND (? IS NULL OR person = ?)"  # noqa: S608 - names of ours
                " ORDER BY id DESC",
                (self._log, person, person),
            )
        ]
