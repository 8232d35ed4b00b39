"""The file of charts as those use it who look."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from oborona.sqlite_file import ERRORS, checked_version, closed_on_error, connect
from oborona.stores.charts import schema
from oborona.stores.charts.schema import DAY_S, TEN_S


class ChartStep(StrEnum):
    """How long the times of a chart are."""

    TEN_MINUTES = "10m"
    DAY = "1d"  # of UTC

    @property
    def seconds(self) -> int:
        """The length."""
        return TEN_S if self is ChartStep.TEN_MINUTES else DAY_S


_LAST: Final = "\U0010ffff"  # no name has a letter behind it
_TABLE: Final = {ChartStep.TEN_MINUTES: "ten", ChartStep.DAY: "day"}


class ChartSeries(NamedTuple):
    """A series, as it is kept."""

    name: str
    most: int  # 1: the largest of each time; 0: the sum


class ChartReader:
    """A file of charts that is only read; to be used by one thread at a time, and closed.

    Args:
        path: of the file.

    Raises:
        StoreError: there is none, or it can't be read; so does every method.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = connect(path, write=False, absent=schema.SHARED.absent)
        with closed_on_error(self._db, path):
            checked_version(self._db, path, schema.SHARED.format)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def series(self, prefix: str = "") -> list[ChartSeries]:
        """Return the series whose names begin so, by name."""
        rows = self._rows(
            "SELECT name, most FROM series WHERE name >= ? AND name < ? ORDER BY name",
            (prefix, f"{prefix}{_LAST}"),
        )
        return [ChartSeries(*row) for row in rows]

    def named(self, name: str) -> list[ChartSeries]:
        """Return the series of a name; where there is none, those of the group of that name."""
        exact = self._rows("SELECT name, most FROM series WHERE name = ?", (name,))
        return [ChartSeries(*exact[0])] if exact else self.series(f"{name}/")

    def values(
        self, names: Sequence[str], step: ChartStep, first: int, last: int
    ) -> dict[str, dict[int, int]]:
        """Return the values of some series, by the numbers of their times since 1970.

        Args:
            names: of the series; of one that is not there nothing is returned.
            step: how long the times are.
            first: number of the first time.
            last: of the last.
        """
        found: dict[str, dict[int, int]] = {}
        for name in names:
            rows = self._rows(
                f"SELECT bucket, value FROM {_TABLE[step]} WHERE series ="  # noqa: S608 - a name of ours
                " (SELECT id FROM series WHERE name = ?) AND bucket BETWEEN ? AND ?",
                (name, first, last),
            )
            if rows:
                found[name] = dict(rows)
        return found

    def sums(self, prefix: str, step: ChartStep, first: int, last: int) -> dict[str, int]:
        """Return the sums of the series whose names begin so."""
        rows = self._rows(
            f"SELECT name, sum(value) FROM series JOIN {_TABLE[step]} ON series = id"  # noqa: S608 - a name of ours
            " WHERE substr(name, 1, ?) = ? AND bucket BETWEEN ? AND ? GROUP BY id",
            (len(prefix), prefix, first, last),
        )
        return dict(rows)

    def begins(self, names: Sequence[str] | None = None) -> int | None:
        """Return when the first day began that has a value, Unix seconds; None = none has.

        Args:
            names: of the series that are looked at; None = all.
        """
        first = "SELECT min((SELECT min(bucket) FROM day WHERE series = id)) FROM series"
        asked = ((),) if names is None else ((name,) for name in names)
        named = "" if names is None else " WHERE name = ?"
        days = [self._rows(f"{first}{named}", values)[0][0] for values in asked]
        known = [day for day in days if day is not None]
        return min(known) * DAY_S if known else None

    def _rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            return self._db.execute(sql, values).fetchall()
        except ERRORS as error:
            raise schema.SHARED.told(error, self.path) from error
