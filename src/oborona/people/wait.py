"""Waits: who guesses passwords waits twice as long after each failure, up to a quarter of an hour.

Failures are counted for a name, whether or not somebody has it, and for the network of the client.
A browser from which this person has logged in before goes past both, and has a count of its own, as
has a session that gives its password again: so that who guesses at a name from elsewhere keeps
nobody out who has been here.

A try is counted as a failure before the password is looked at, and given back if it was none: tries
at the same time can't be more than tries one after another.  Who tries while they have to wait is
refused unseen and does not wait longer for it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from enum import Enum
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final, NamedTuple

LONGEST_S: Final = 900.0
FORGOTTEN_S: Final = 86_400.0  # a count that did not grow for so long is nothing any more
MAX_WAITS: Final = 100_000  # counts that are kept; then the oldest go
PREFIX_4: Final = 24
PREFIX_6: Final = 48  # what one customer is given at most
_MOST: Final = 1000  # letters of what is hashed
_WHOSE_BYTES: Final = 16


class WaitKind(Enum):
    """Whose failures are counted; the value is how many of them cost no wait."""

    NAME = 3
    NETWORK = 10  # many people may share one
    DEVICE = 4
    SESSION = 5


class WaitKey(NamedTuple):
    """Whose failures, as they are kept."""

    kind: WaitKind
    whose: bytes


def wait_key(kind: WaitKind, text: str) -> WaitKey:
    """Return the key of a name, network, device or session."""
    octets = f"{kind.name} {text[:_MOST]}".encode("utf-8", "surrogatepass")
    return WaitKey(kind, blake2b(octets, digest_size=_WHOSE_BYTES).digest())


def network_of(place: str) -> str:
    """Return the network that an address is counted with; what is no address stands for itself."""
    try:
        address = ip_address(place[:_MOST].partition("%")[0])
    except ValueError:
        return place[:_MOST]
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    prefix = PREFIX_4 if address.version == 4 else PREFIX_6
    return str(ip_network((address, prefix), strict=False))


def wait_after(failures: int, free: int) -> float:
    """Return how long one waits after so many failures, the first of which are free, in seconds."""
    beyond = failures - free
    return 0.0 if beyond < 1 else min(LONGEST_S, 2.0 ** min(beyond - 1, 30))


def charge(db: sqlite3.Connection, keys: Sequence[WaitKey], now: float) -> float:
    """Count a failure for each, unless one has to wait; return how long, 0 = it was counted.

    Args:
        db: within a transaction that writes.
        keys: whose.
        now: Unix seconds.
    """
    counts = [_failures(db, key, now) for key in keys]
    wait = max(
        (last + wait_after(failures, key.kind.value) - now)
        for key, (failures, last) in zip(keys, counts, strict=True)
    )
    if wait > 0:
        return wait
    for key, (failures, _) in zip(keys, counts, strict=True):
        db.execute("INSERT OR REPLACE INTO wait VALUES (?, ?, ?)", (key.whose, failures + 1, now))
    db.execute("DELETE FROM wait WHERE last < ?", (now - FORGOTTEN_S,))
    db.execute(
        "DELETE FROM wait WHERE whose IN (SELECT whose FROM wait ORDER BY last DESC"
        " LIMIT -1 OFFSET ?)",
        (MAX_WAITS,),
    )
    return 0.0


def next_wait(db: sqlite3.Connection, keys: Sequence[WaitKey], now: float) -> float:
    """Return how long the next try has to wait."""
    waits = []
    for key in keys:
        failures, last = _failures(db, key, now)
        waits.append(last + wait_after(failures, key.kind.value) - now)
    return max(0.0, *waits)


def give_back(db: sqlite3.Connection, keys: Sequence[WaitKey]) -> None:
    """Take back what a try was charged: it was no failure."""
    for key in keys:
        db.execute("UPDATE wait SET failures = failures - 1 WHERE whose = ?", (key.whose,))
        db.execute("DELETE FROM wait WHERE whose = ? AND failures < 1", (key.whose,))


def forget(db: sqlite3.Connection, keys: Sequence[WaitKey]) -> None:
    """Begin anew for who has shown who they are."""
    db.executemany("DELETE FROM wait WHERE whose = ?", [(key.whose,) for key in keys])


def _failures(db: sqlite3.Connection, key: WaitKey, now: float) -> tuple[int, float]:
    """Return how many, and when the last was; of a clock that was set back, no later than now."""
    row = db.execute("SELECT failures, last FROM wait WHERE whose = ?", (key.whose,)).fetchone()
    if row is None or row[1] < now - FORGOTTEN_S:
        return 0, now
    return int(row[0]), min(float(row[1]), now)
