"""New snapshots, and what they make superfluous: done by one machine at a time, whichever looks
first.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from oborona.daemon.site.snapshot import last_snapshot, take_snapshot
from oborona.replication.log import ReplicationLog, StoreHead

MANY: Final = 5_000  # changes since the last snapshot that make another due, as large as that is
LARGE: Final = 64 << 20  # octets of them, however few they are: a model is a change
MOST: Final = 50_000  # that make one due, however small they are
AWAY_DAYS: Final = 7  # a machine that was not seen for longer begins with a snapshot
_DUTY: Final = 0x4F42534E  # of the advisory lock: "OBSN"


def renew_snapshots(log: ReplicationLog, state: Path, heads: Mapping[str, StoreHead]) -> list[str]:
    """Take the snapshots that are due, unless another machine does; return of which stores.

    What all machines have that were seen lately, and is in each snapshot that is kept, goes out of
    the log.

    Raises:
        StoreError: as of `take_snapshot`.
    """
    with log.connected() as db:
        row = db.execute("SELECT pg_try_advisory_lock(%s)", (_DUTY,)).fetchone()
        if row is None or not row[0]:
            return []
        try:
            done = [name for name, head in heads.items() if _renewed(log, state / name, head)]
        finally:
            db.execute("SELECT pg_advisory_unlock(%s)", (_DUTY,))
    return done


def _octets_since(log: ReplicationLog, store: str, number: int) -> int:
    rows = log.question(
        "SELECT coalesce(sum(length(statements)), 0)::bigint FROM change"
        " WHERE store = %s AND number > %s",
        (store, number),
    )
    return int(rows[0][0])


def _renewed(log: ReplicationLog, path: Path, head: StoreHead) -> bool:
    last = last_snapshot(log, path.name)
    number = 0 if last is None else last.number
    since = head.number - number
    if since == 0 or not path.exists():
        return False
    octets = _octets_since(log, path.name, number)
    if since < MANY and octets < LARGE:
        return False
    if last is not None and since < MOST and octets < last.octets:
        return False  # what is copied is not to be more than what was said
    take_snapshot(log, path)
    with log.connected() as db:
        db.execute(
            "DELETE FROM change WHERE store = %s"
            " AND number <= (SELECT min(number) FROM snapshot WHERE store = %s)"
            " AND number <= coalesce((SELECT min(p.number) FROM position p JOIN machine m"
            " ON m.name = p.machine WHERE p.store = %s"
            " AND m.seen > now() - make_interval(days => %s)), 0)",
            (path.name, path.name, path.name, AWAY_DAYS),
        )
    return True
