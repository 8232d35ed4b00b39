"""Keeps the file of charts: looks at what the processes say of themselves, once a minute.

    status/*   ─┐
    journal    ─┼─ look ──▶ chart.db, in one transaction with the marks of how far each had counted
    the stores ─┘

A look that brings nothing is followed by none until the journal, what people said or the moves
have changed: the stamps of their files are compared by the second's look that the keeper takes
anyway, so that nobody is woken while nobody sends mail.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec

from oborona import state_files, store_birth
from oborona.doorbell import WRITTEN, Doorbell
from oborona.errors import StoreError
from oborona.ident import first_id_at
from oborona.journal import schema as journal_file
from oborona.metrics import Histogram
from oborona.sqlite_damage import set_aside
from oborona.sqlite_file import ERRORS, SqliteFileDamaged
from oborona.stores.charts.differences import ProcessCount
from oborona.stores.charts.schema import TEN_S
from oborona.stores.charts.sources import (
    BYTES,
    DOMAINS,
    counts_of,
    queues_of,
    series_name,
)
from oborona.stores.charts.store import ChartSample, ChartStore, TakenSample
from oborona.telemetry import status
from oborona.telemetry.log import event
from oborona.telemetry.metric_table import described_metrics
from oborona.telemetry.trouble import TroubleNotice

EVERY_S: Final = 60.0  # between looks while mail comes
ASLEEP_S: Final = 5.0  # between looks at stamps when none does: what processes say is as old
SETTLE_S: Final = 15.0  # workers write in batches: later messages may have lower ids for so long
BACK_S: Final = 3600.0  # a clock that goes back by more was wrong before
MOST_ROWS: Final = 20_000  # of the journal in one look: some 0.2 s
DOMAIN_LETTERS: Final = 100
_FOLDERS: Final = (
    state_files.COUNTERS,
    state_files.INDEX,
    state_files.SEARCH,
    state_files.JOURNAL_SPOOL,
)
_MOVING: Final = (state_files.JOURNAL, state_files.EVENTS, state_files.MOVES)
"""Whose stamps move when anything is done that has a chart."""

log = logging.getLogger("oborona.charts")

_RECIPIENTS: Final = msgspec.json.Decoder(list[str])


class ChartKeeper:
    """Looks, and adds what is new; close it when `run` has ended.

    Args:
        state: folder of the stores.
        clock: Unix seconds.
    """

    def __init__(self, state: Path, clock: Callable[[], float]) -> None:
        self._state = state
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "charts")
        self._store: ChartStore | None = None
        self._trouble = TroubleNotice("charts are not drawn", "charts are drawn again")
        self._no_journal = TroubleNotice(
            "charts of recipients' domains are not drawn", "charts of domains are drawn again"
        )
        self._next = 0.0  # when the next look is due
        self._moves = True  # the last look brought something
        self._quiet_at = 0.0
        self._stamps: list[object] = []
        self._sized = 0  # ten minutes for which sizes were taken
        described = described_metrics()["worker"]
        self._steps = {one.name: one.steps for one in described if one.kind == Histogram.kind}

    async def run(self) -> None:
        """Look for ever, until cancelled."""
        loop = asyncio.get_running_loop()
        with Doorbell(anyway=self.due) as bell:
            while True:
                await bell.rung()
                await loop.run_in_executor(self._thread, self.look)

    def due(self) -> bool:
        """Tell whether to look now."""
        now = self._clock()
        if now < self._next <= now + EVERY_S:
            return False
        if self._moves or self._stamps != self._stamped():
            return True
        self._quiet_at, self._next = now, now + ASLEEP_S
        return False

    def look(self) -> None:
        """Add what is new; trouble is told once, and tried again at the next look."""
        now, self._stamps = self._clock(), self._stamped()
        self._next, self._moves = now + EVERY_S, True
        with self._trouble.noted():
            try:
                taken = self._take(now)
            except SqliteFileDamaged as damage:
                self._begin_anew(damage, now)
                taken = self._take(now)
            self._moves = taken.changed
            for room in sorted(taken.full):
                event(log, logging.WARNING, "no room for more series: they are summed", of=room)

    def close(self) -> None:
        """Let the file go; waits for the look that is being taken."""
        self._thread.shutdown()
        if self._store is not None:
            self._store.close()

    def _take(self, now: float) -> TakenSample:
        if self._store is None:
            self._store = ChartStore(self._state / state_files.CHARTS)
        processes, queues = self._said(now)
        if now // TEN_S != self._sized:
            queues |= self._sizes()
        dated, place = self._domains(now, self._store.place())
        taken = self._store.take(
            ChartSample(
                time=now,
                processes=processes,
                queues=queues,
                dated=dated,
                place=place,
                quiet_at=self._quiet_at,
            )
        )
        self._sized = int(now // TEN_S)
        return taken

    def _said(self, now: float) -> tuple[dict[str, ProcessCount], dict[str, int]]:
        processes, queues = dict[str, ProcessCount](), dict[str, int]()
        for name, kind, said in self._statuses(now):
            counts = counts_of(said.metrics, kind, self._steps)
            processes[name] = ProcessCount(pid=said.pid, time=said.time, counts=counts)
            for queue, size in queues_of(said.metrics, kind).items():
                queues[queue] = queues.get(queue, 0) + size
        return processes, queues

    def _statuses(
        self, now: float
    ) -> Iterator[tuple[str, str, status.WorkerStatus | status.ProcessStatus]]:
        for worker in status.read_workers(self._state, now):
            yield f"worker-{worker.worker}", "worker", worker
        for name, said in (
            ("reader", status.read_process(self._state, status.ReaderStatus, now)),
            ("trainer", status.read_process(self._state, status.TrainerStatus, now)),
            ("recheck", status.read_process(self._state, status.RecheckStatus, now)),
        ):
            if said is not None:
                yield name, name, said

    def _domains(
        self, now: float, place: int | None
    ) -> tuple[dict[int, dict[str, int]], int | None]:
        """Return recipients' domains of what was journaled since, and up to where that was read.

        A journal that can't be read stops nothing else.
        """
        last = first_id_at(now - SETTLE_S) - 1
        if place is None or place > first_id_at(now + BACK_S):  # a new file; or the clock was wrong
            return {}, last
        if place >= last:
            return {}, None
        dated: dict[int, dict[str, int]] = {}
        try:
            with closing(journal_file.open_reader(self._state / state_files.JOURNAL)) as db:
                rows = _journaled(db, place, last)
        except StoreError as error:
            self._no_journal.failed(error)
            return {}, None
        except ERRORS as error:
            self._no_journal.failed(
                journal_file.classify_error(error, self._state / state_files.JOURNAL)
            )
            return {}, None
        self._no_journal.over()
        for _, time, verdict, recipients in rows:
            counts = dated.setdefault(int(time // TEN_S) * TEN_S, {})
            for domain in _domains_of(recipients):
                name = series_name(DOMAINS, str(verdict), domain)
                counts[name] = counts.get(name, 0) + 1
        if len(rows) == MOST_ROWS:
            self._next = now  # there is more
            last = rows[-1][0]
        return dated, last

    def _sizes(self) -> dict[str, int]:
        """Return how large the stores are."""
        sizes: dict[str, int] = {}
        for folder in ("", *_FOLDERS):
            for file in _files(self._state / folder):
                of = folder or file.name.removesuffix("-wal").removesuffix("-shm")
                if folder or of.endswith(".db"):
                    name = series_name(BYTES, of)
                    sizes[name] = sizes.get(name, 0) + file.stat().st_size
        return sizes

    def _stamped(self) -> list[object]:
        return [_stamp(self._state / f"{name}{suffix}") for name in _MOVING for suffix in WRITTEN]

    def _begin_anew(self, damage: SqliteFileDamaged, now: float) -> None:
        path = self._state / state_files.CHARTS
        if self._store is not None:
            self._store.close()
            self._store = None
        aside = set_aside(path, "damaged", now)
        words = str(damage).removeprefix(f"{path}: ").partition(";")[0]
        event(log, logging.ERROR, "charts begin anew", error=words, set_aside=aside)
        store_birth.note_lost(
            self._state, path.name, f"{words}, and was set aside whole as {aside}"
        )


def _journaled(db: sqlite3.Connection, place: int, last: int) -> list[tuple[Any, ...]]:
    return db.execute(
        "SELECT id, time, verdict, recipients FROM verdict WHERE id > ? AND id <= ?"
        " ORDER BY id LIMIT ?",
        (place, last, MOST_ROWS),
    ).fetchall()


def _domains_of(recipients: str | bytes) -> set[str]:
    """Return the domains of a message's recipients, each once."""
    try:
        named = _RECIPIENTS.decode(recipients)
    except (msgspec.DecodeError, UnicodeError):
        return set()
    return {
        address.rpartition("@")[2].lower()[:DOMAIN_LETTERS].encode("utf-8", "replace").decode()
        for address in named
        if "@" in address
    }


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if entry.is_file(follow_symlinks=False))
    except OSError:  # it is not there yet
        return


def _stamp(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
