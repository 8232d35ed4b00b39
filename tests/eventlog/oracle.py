"""The rules of the system once more, in dictionaries: what the engine must come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from oborona.eventlog.slots import delivered_at

DAY_S = 86_400
SLOT_S = 300
FIRST_S = 946_684_800  # 2000

Row = Mapping[str, Any]


class _Checked(NamedTuple):
    slot: int
    rows: Sequence[Row]


class BruteForceOracle:
    """Checks batches one after the other, all of them remembered.

    Args:
        thresholds: by event.
        threshold: of all others.
    """

    def __init__(self, thresholds: Mapping[str, float], threshold: float) -> None:
        self._thresholds = thresholds
        self._threshold = threshold
        self._checked: list[_Checked] = []

    def batch(self, tables: Mapping[str, Sequence[Row]]) -> dict[str, list[list[str]]]:
        """Return the rules of each row of each table, by name in the order of delivery."""
        return {name: self._table(delivered_at(name), rows) for name, rows in tables.items()}

    def _table(self, slot: int, rows: Sequence[Row]) -> list[list[str]]:
        newest = max([slot, *(table.slot for table in self._checked)])
        day = [table for table in self._checked if table.slot > newest - DAY_S]
        told: dict[int, float] = {}
        for table in day:
            for row in table.rows:
                moment = _moment(row, table.slot)
                told[row["key"]] = min(told.get(row["key"], moment), moment)
        first: dict[int, tuple[float, int]] = {}
        for place, row in enumerate(rows):
            here = (_moment(row, slot), place)
            first[row["key"]] = min(first.get(row["key"], here), here)
        counts = Counter((row["person"], row["event"]) for table in day for row in table.rows)
        counts.update((row["person"], row["event"]) for row in rows)
        abnormal = {
            person
            for (person, event), count in counts.items()
            if person is not None and count > self._thresholds.get(event, self._threshold)
        }
        self._checked.append(_Checked(slot, rows))
        rules = []
        for place, row in enumerate(rows):
            moment, key = _moment(row, slot), row["key"]
            repeated = key is not None and (
                first[key] != (moment, place) or (key in told and told[key] <= moment)
            )
            rules.append(["DUPLICATE"] * repeated + ["ABNORMAL"] * (row["person"] in abnormal))
        return rules


def _moment(row: Row, slot: int) -> float:
    time = row["time"]
    if time is None:
        return float("inf")
    seconds = time.timestamp()
    return seconds if FIRST_S <= seconds <= slot + SLOT_S + DAY_S else float("inf")
