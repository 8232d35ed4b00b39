"""How often signatures were found: in all, today, and by the day for two weeks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from oborona.stores.followed_store import FollowedStore
from oborona.stores.signatures.rows import SignatureHits

DAY_S: Final = 86_400
DAYS: Final = 14  # of which hits are kept by the day


class CountedSignatures(FollowedStore):
    """The hits of a store of signatures."""

    def hits(self, now: float, names: Sequence[str] | None = None) -> dict[str, SignatureHits]:
        """Return how often signatures were found, by id.

        Args:
            now: Unix seconds.
            names: of these alone; None = of all.
        """
        today, only = int(now // DAY_S), ""
        if names is not None:
            only = f" WHERE id IN ({', '.join('?' * len(names))})"
        rows = self.rows(f"SELECT id, total, day, today, last FROM hits{only}", tuple(names or ()))  # noqa: S608 - marks alone
        return {
            name: SignatureHits(total=total, today=count if day == today else 0, last=last)
            for name, total, day, count, last in rows
        }

    def add_hits(self, counts: Mapping[str, tuple[int, float]]) -> None:
        """Add to the hits.

        Args:
            counts: how many by id, and when the last was, Unix seconds.
        """
        rows = [
            (name, count, int(last // DAY_S), count, last) for name, (count, last) in counts.items()
        ]
        with self.transaction():
            self._db.executemany(
                "INSERT INTO hits (id, total, day, today, last) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " total = total + excluded.total,"
                " today = CASE WHEN day >= excluded.day THEN today ELSE 0 END"
                " + CASE WHEN day <= excluded.day THEN excluded.today ELSE 0 END,"
                " day = max(day, excluded.day), last = max(last, excluded.last)",
                rows,
            )
            self._db.executemany(
                "INSERT INTO day_hits (day, id, number) VALUES (?, ?, ?)"
                " ON CONFLICT (day, id) DO UPDATE SET number = number + excluded.number",
                [(day, name, count) for name, count, day, _, _ in rows],
            )
            newest = max((row[2] for row in rows), default=0)
            self._db.execute("DELETE FROM day_hits WHERE day <= ?", (newest - DAYS,))

    def fortnight_hits(self, names: Sequence[str], now: float) -> dict[str, int]:
        """Return how often some signatures were found in the last 14 days, by id."""
        first = int(now // DAY_S) - DAYS + 1
        marks, days = ", ".join("?" * len(names)), ", ".join("?" * DAYS)
        # by day and id at once, which the table is in order of
        rows = self.rows(
            f"SELECT id, sum(number) FROM day_hits WHERE day IN ({days}) AND id IN ({marks}) GROUP BY id",  # noqa: S608 - marks alone
            (*range(first, first + DAYS), *names),
        )
        return {name: int(number) for name, number in rows}
