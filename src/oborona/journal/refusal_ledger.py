"""Collapses refusals in one process until the journal's next batch: bounded, and without I/O.

Refusals of a network (/24, /64) by a door at a stage for a reason are one row for `COLLAPSE_S` from
the first, with how many there were.  Whoever is told a reference gets an answer for it:

    the same client, sender, recipient and login once more     the reference that was given before
    others, up to `REFERENCES` of a row, `APART` in all        their own, with who they are
    all others of the row                                      one reference for all of them
    networks beyond `OPEN_ROWS`                                are taken together, by reason alone

A repeated refusal so costs a look into a dictionary.  Rows that SQLite does not take wait, up to
`WAITING_ROWS`; what comes beyond is not recorded: then a reference has no answer, and the log says
so once.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final

from oborona.journal.refusal import COLLAPSE_S, REFERENCES, Refusal, RefusalSink
from oborona.journal.refusal_rows import (
    GrownRefusal,
    RefusalBatch,
    RefusalRow,
    pack_refusal,
    pack_shared,
)
from oborona.types import Action, Stage

OPEN_ROWS: Final = 20_000  # per process: a quarter of an hour of ten million messages a day
APART: Final = 50_000  # who is told apart, in all open rows; 100 bytes each
WAITING_ROWS: Final = 10_000  # some 10 MB; SQLite takes them in a second

_log = logging.getLogger("oborona.journal")

_Key = tuple[str, Stage, str, Action, str]


class _OpenRow:
    """Refusals of one network for one reason, while more are added."""

    __slots__ = ("began", "head", "known", "last", "named", "network", "rest", "times")

    def __init__(self, refusal: Refusal, network: str) -> None:
        self.head = refusal.id
        self.network = network
        self.began = self.last = refusal.time
        self.times = 1
        self.named = len(refusal.recipients)
        self.known: dict[int, int] = {}  # hash of who was refused → the reference
        self.rest = 0  # the reference of all others; 0 = none yet

    def grown(self) -> GrownRefusal:
        return GrownRefusal(self.times, self.named, self.last, self.head)


class RefusalLedger(RefusalSink):
    """The refusals of one process that are not in SQLite yet, and those that more may be added
    to.
    """

    def __init__(self) -> None:
        self.lost = 0  # references that have no answer, since the start
        self._open: dict[_Key, _OpenRow] = {}  # in the order in which they were begun
        self._apart = 0
        self._fresh: deque[RefusalRow] = deque()
        self._grown: dict[int, _OpenRow] = {}  # by head
        self._full = False  # which was said

    @property
    def waiting(self) -> int:
        """Rows that are to be written."""
        return len(self._fresh) + len(self._grown)

    def take(self, refusal: Refusal) -> int:
        """Take a refusal before it is told; at once, without I/O.

        Returns:
            The reference to tell.
        """
        network = refusal.network
        key = (network, refusal.stage, refusal.decided_by, refusal.verdict, refusal.door)
        row = self._open_row(key, refusal.time)
        if row is None and len(self._open) >= OPEN_ROWS:
            network, key = "", ("", *key[1:])
            row = self._open_row(key, refusal.time)
        if row is None:
            return self._begin(key, refusal)
        row.times += 1
        row.named += len(refusal.recipients)
        row.last = max(row.last, refusal.time)
        self._grown[row.head] = row
        who = _who(refusal)
        reference = row.known.get(who)
        if reference is not None:
            return reference
        if row.network and len(row.known) < REFERENCES and self._apart < APART:
            if self._add(pack_refusal(refusal, row.head)):
                row.known[who] = refusal.id
                self._apart += 1
            return refusal.id
        if not row.rest and self._add(pack_shared(refusal, row.head, row.network)):
            row.rest = refusal.id
        return row.rest or refusal.id

    def add_recipients(self, refusal: Refusal, number: int) -> None:
        """Take note that so many recipients more were told of a refusal that was taken.

        Of one whose row is over, let it be.
        """
        key = (
            refusal.network,
            refusal.stage,
            refusal.decided_by,
            refusal.verdict,
            refusal.door,
        )
        row = self._open.get(key) or self._open.get(("", *key[1:]))
        if row is not None and number > 0:
            row.named += number
            self._grown[row.head] = row

    def batch(self, most: int) -> RefusalBatch:
        """Return what is to be written next; it waits until `written` is called with it.

        Args:
            most: rows.
        """
        fresh = tuple(islice(self._fresh, most))
        if len(fresh) < len(self._fresh):  # a head is there before it grows
            return RefusalBatch(fresh)
        return RefusalBatch(
            fresh, tuple(row.grown() for row in islice(self._grown.values(), most - len(fresh)))
        )

    def written(self, batch: RefusalBatch) -> None:
        """Forget what SQLite has."""
        for _ in batch.fresh:
            self._fresh.popleft()
        for grown in batch.grown:
            row = self._grown.get(grown.head)
            if row is not None and row.grown() == grown:  # else it has grown meanwhile
                del self._grown[grown.head]
        if self._full:
            _log.warning(
                "journal: refusals are recorded again; %d references have no answer", self.lost
            )
            self._full = False

    def _begin(self, key: _Key, refusal: Refusal) -> int:
        """Open a row with its first refusal, unless there is no room to record that."""
        row = _OpenRow(refusal, key[0])
        if not row.network:
            row.rest = refusal.id
            packed = pack_shared(refusal, row.head, row.network)
        else:
            row.known[_who(refusal)] = refusal.id
            packed = pack_refusal(refusal, row.head)
        if self._add(packed):
            self._open[key] = row
            self._apart += len(row.known)
        return refusal.id

    def _open_row(self, key: _Key, now: float) -> _OpenRow | None:
        """Return the row that a refusal is added to; what is over, by whatever clock, is closed."""
        row = self._open.get(key)
        if row is not None and abs(now - row.began) < COLLAPSE_S:
            return row
        if row is not None:
            self._close(key)
        for oldest in self._over(now):
            self._close(oldest)
        return None

    def _over(self, now: float) -> Iterable[_Key]:
        over = list[_Key]()
        for key, row in self._open.items():
            if abs(now - row.began) < COLLAPSE_S:
                break
            over.append(key)
        return over

    def _close(self, key: _Key) -> None:
        row = self._open.pop(key)
        self._apart -= len(row.known)
        if len(self._grown) > OPEN_ROWS:  # nothing is written for long
            self._grown.pop(row.head, None)

    def _add(self, row: RefusalRow) -> bool:
        """Have a reference written; return whether there is room for it."""
        if len(self._fresh) < WAITING_ROWS:
            self._fresh.append(row)
            return True
        self.lost += 1
        if not self._full:
            self._full = True
            _log.error(
                "journal: %d refusals wait to be written; further ones are told, and their "
                "references have no answer",
                WAITING_ROWS,
            )
        return False


def _who(refusal: Refusal) -> int:
    """Return who was refused, as a number: nobody's texts stay in memory."""
    first = refusal.recipients[:1]
    return hash((refusal.client_ip, refusal.sender, first, refusal.login, refusal.told))
