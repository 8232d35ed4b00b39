"""The journal: the record of every verdict, with the evidence to repeat it.

`append` packs an entry, writes it into this process's spool (`journal.spool`) and returns: before
the mail server is answered. One task writes what waits into SQLite, a batch in each transaction.
Any number of processes write one file: each transaction takes SQLite's write lock at its start
(BEGIN IMMEDIATE) and holds it for milliseconds. What a process has left in its spool when it died,
any other takes over, within a second (`journal.spool_takeover`).

When the file can't be written (disk full, locked, broken), mail goes on: entries wait in memory,
`WAITING_BYTES` of them in each process; above that the oldest are dropped, counted in `lost` and
logged as an error, once and then each minute. Writing is tried again, every ten seconds at most,
and goes on by itself. When the spool can't be written, an error says so, and what is answered until
it can is kept in memory alone.

What can be lost: what SQLite had not yet synced when the machine loses power (the file stays
whole); what was dropped as above; of a process that is killed while its spool can't be written,
what waited less than `batch_s`. Nothing else.

From a piece to the messages that carry it: `journal.index`, which follows the table `arrival`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

import aiosqlite

from oborona import ident, sqlite_file, state_files
from oborona.atomic_file import OpenFileCheck
from oborona.errors import StoreError
from oborona.journal import batch_insert, retention, rows, schema
from oborona.journal.entry import CopyDelivery, JournalEntry, LateFindings
from oborona.journal.queries import JournalReader, aiosqlite_connection
from oborona.journal.refusal import Refusal, RefusalSink
from oborona.journal.refusal_ledger import RefusalLedger
from oborona.journal.refusal_rows import NO_REFUSALS, RefusalBatch, insert_refusals
from oborona.journal.spool import JournalSpool
from oborona.journal.spool_record import Spooled, Waiting, pack_policy
from oborona.journal.spool_takeover import take_over
from oborona.journal.trouble import JournalTrouble
from oborona.sqlite_file import SqliteFileDamaged

BATCH_S: Final = 0.25  # at 100 messages a second a batch of 25. As the setting
BATCH_ROWS: Final = 500  # in one transaction: other processes wait some 20 ms for it at most
WINDOW_S: Final = 86_400.0  # that a second look follows
REFUSED_S: Final = 259_200.0  # that references of refusals are kept. As the setting
WAITING_BYTES: Final = 32 << 20  # per process: some 8,000 messages, minutes of a busy worker


class _Taken(NamedTuple):
    """A row that is not in SQLite yet."""

    row: Waiting
    file: int  # of the spool that has it, or a later one


_log = logging.getLogger("oborona.journal")

# What SQLite says of a row that it can never take. Of a connection that is gone it may say the
# same.
_UNFIT: Final = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    OverflowError,
    TypeError,
    UnicodeEncodeError,
)


async def _opened(path: Path) -> tuple[OpenFileCheck, aiosqlite.Connection]:
    """Return a connection, and which file that is of.

    One that is found damaged is set aside, and a new one begun.
    """
    looked = False
    while True:
        file = OpenFileCheck(path)
        try:
            db = await asyncio.to_thread(schema.open_writer, path)
        except SqliteFileDamaged:
            if looked:
                raise
            looked = True
            await asyncio.to_thread(
                schema.prepare, path
            )  # else who is started while it is used could not begin
            continue
        if file.in_place():
            return file, await aiosqlite_connection(db)
        db.close()  # it was begun, or set aside, meanwhile


_KNOWN: Final = "SELECT id FROM verdict WHERE id IN (SELECT value FROM json_each(?))"


class JournalWriter(JournalReader, RefusalSink):
    """The journal of one process that writes it.

    Use `await JournalWriter.open(path)` in the process and loop that will use it (after a fork),
    once `schema.prepare` was called. Close it, or use it as a context manager: only then is
    everything written.
    """

    def __init__(
        self, path: Path, db: aiosqlite.Connection, *, batch_s: float, clock: Callable[[], float]
    ) -> None:
        super().__init__(path, db)
        self.lost = 0  # entries dropped since the start
        self.written = 0  # entries committed since the start
        self._batch_s = batch_s
        self._clock = clock
        self._waiting: deque[_Taken] = deque()
        self._waiting_bytes = 0
        self._refusals = RefusalLedger()
        # by version, to be written with the next entry
        self._policies: dict[str, Mapping[str, str]] = {}
        self._in_force: dict[
            str, Mapping[str, str]
        ] = {}  # the last of them: a journal that is begun anew lacks it
        self._unfit: Exception | None = None  # the last entry that could not be packed or stored
        self._wake = asyncio.Event()  # there is something to do
        self._hurry = asyncio.Event()  # at once
        self._flushes: list[asyncio.Future[None]] = []
        self._closing = False
        self._transaction = asyncio.Lock()  # one connection, one transaction at a time
        self._trouble = JournalTrouble(path)
        self._folder = path.with_name(state_files.JOURNAL_SPOOL)
        self._spool = JournalSpool(self._folder)
        self._spool_trouble = ""  # said once
        self._taking_over = asyncio.create_task(
            take_over(self._folder, self._write_left), name="journal-spools"
        )
        self._task = asyncio.create_task(self._run(), name="journal")

    @classmethod
    async def open(
        cls, path: Path, *, batch_s: float = BATCH_S, clock: Callable[[], float] = time.monotonic
    ) -> Self:
        """Open the journal for writing; makes the file when there is none.

        Args:
            path: the file; its folder exists.
            batch_s: seconds that an entry waits for others.
            clock: seconds that never go back, to say how long trouble has lasted.

        Raises:
            StoreVersion: written by a newer Oborona.
            StoreError: not ours, or cannot be written.
        """
        file, db = await _opened(path)
        journal = cls(path, db, batch_s=batch_s, clock=clock)
        journal._file = file
        return journal

    @property
    def waiting(self) -> int:
        """Entries that are neither on disk nor being written."""
        return len(self._waiting)

    def append(self, entry: JournalEntry) -> None:
        """Take an entry: into the spool now, into the file within `batch_s`.

        Never raises for what a peer sent.

        Call it on the loop that opened the journal.

        Raises:
            RuntimeError: the journal is closed.
        """
        self._take(lambda: rows.pack(entry))

    def append_late(self, late: LateFindings) -> None:
        """Take what was found in a message after its entry was appended; as `append`."""
        self._take(lambda: rows.pack_late(late))

    def append_went(self, went: CopyDelivery) -> None:
        """Take where a copy of a message went; as `append`."""
        self._take(lambda: rows.pack_went(went))

    def append_policy(self, version: str, asks: Mapping[str, str]) -> None:
        """Take what each rule of a policy asks; written before, or together with, the next entry.

        Args:
            version: of the policy.
            asks: its `recheck.rule_fingerprints.rule_fingerprints`.
        """
        self._policies[version] = asks
        self._in_force = {version: asks}
        self._spooled(pack_policy(version, asks))

    def take(self, refusal: Refusal) -> int:
        """Take a refusal before it is told: into memory now, into the file with the next batch.

        A process that is killed loses those of `batch_s`: the spool would cost each of them a
        write. Never raises.

        Returns:
            The reference to tell.
        """
        try:
            reference = self._refusals.take(refusal)
        except Exception as error:  # noqa: BLE001 - our own bug must not stop an answer; logged by the task
            self._drop_unfit(error)
            return refusal.id
        if not self._closing:
            self._wake.set()
        return reference

    def add_recipients(self, refusal: Refusal, number: int) -> None:
        """Take note that so many recipients more were told of a refusal that was taken."""
        self._refusals.add_recipients(refusal, number)
        if not self._closing:
            self._wake.set()

    def _take(self, packed: Callable[[], Waiting]) -> None:
        if self._closing:
            raise RuntimeError("the journal is closed")
        try:
            row = packed()
            file = self._spooled(row)
        except Exception as error:  # noqa: BLE001 - our own bug must not stop mail; logged by the task
            self._drop_unfit(error)
            return
        self._waiting.append(_Taken(row, file))
        self._waiting_bytes += row.bytes
        self._drop_excess()
        self._wake.set()
        if len(self._waiting) == BATCH_ROWS and not self._trouble.pause:
            self._hurry.set()

    def _spooled(self, row: Spooled) -> int:
        """Write a row into the spool; return the file that has it.

        Where that can't be, it is said, and the row is kept in memory alone.

        Raises:
            Exception: the row is not what its types say: our own bug.
        """
        try:
            file = self._spool.append(row)
        except StoreError as error:
            if str(error) != self._spool_trouble:
                self._spool_trouble = str(error)
                _log.error(
                    "journal: %s; mail goes on, and what is answered is kept in memory alone", error
                )
            return self._spool.number
        if self._spool_trouble:
            self._spool_trouble = ""
            _log.warning("journal: the spool is written again")
        return file

    async def flush(self) -> None:
        """Write everything that was appended before this call.

        Raises:
            StoreError: it could not be written; it waits on.
        """
        if self._closing:
            await asyncio.wait({self._task})
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._flushes.append(done)
        self._hurry.set()
        self._wake.set()
        await done

    async def close(self) -> None:
        """Write everything and let the file go.

        What can't be written now waits in the spool for who follows, and is logged.
        """
        self._closing = True
        self._taking_over.cancel()
        await asyncio.wait({self._taking_over})
        self._hurry.set()
        self._wake.set()
        await asyncio.wait({self._task})
        await super().close()

    async def purge(
        self,
        now: float,
        *,
        retention_s: float,
        max_rows: int,
        limit: int = 1000,
        evidence_s: float | None = None,
        window_s: float = WINDOW_S,
        refused_s: float = REFUSED_S,
    ) -> int:
        """Take one small step of purging: the oldest entries go first.

        Call it again, with pauses, until it returns 0.

        Args:
            now: Unix time in seconds.
            retention_s: entries older than this go.
            max_rows: entries above this number go, whatever their age, and refusals likewise.
            limit: entries in one step, at least 1; each thousand holds other writers up for about
                10 ms.
            evidence_s: facts, findings and shingles older than this go, the verdict stays; None =
                with the entry.
            window_s: what came before is followed by nobody any more.
            refused_s: references of refusals older than this go.

        Returns:
            Entries (or their evidence, or refusals) that went.

        Raises:
            StoreError: the file cannot be written.
        """
        cutoff = ident.first_id_at(now - retention_s)
        evidence_cutoff = cutoff if evidence_s is None else ident.first_id_at(now - evidence_s)
        try:
            async with self._transaction:
                try:
                    await self._begin()
                    deleted = await retention.delete_oldest(
                        self._db,
                        cutoff=cutoff,
                        evidence_cutoff=evidence_cutoff,
                        refusal_cutoff=ident.first_id_at(now - refused_s),
                        arrival_cutoff=ident.first_id_at(now - window_s),
                        max_rows=max_rows,
                        limit=limit,
                    )
                    await self._db.execute("COMMIT")
                except BaseException:
                    await self._db.rollback()
                    raise
                await retention.shrink(self._db)
        except sqlite_file.ERRORS as error:
            raise schema.classify_error(error, self.path) from error
        return deleted

    async def _begin(self) -> None:
        """Begin a transaction in the file that has the journal's name: one that is gone is begun
        anew, one that was set aside is left.
        """
        while True:
            if not self._file.in_place():
                await asyncio.to_thread(schema.prepare, self.path)
                left = self._db
                self._file, self._db = await _opened(self.path)
                await left.close()
                self._policies = self._in_force | self._policies
            await self._db.execute("BEGIN IMMEDIATE")
            if self._file.in_place():  # nobody sets it aside from here on
                return
            await self._db.rollback()

    async def _run(self) -> None:
        """Write what waits, until the journal is closed."""
        while True:
            await self._wake.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._trouble.pause or self._batch_s):
                    await self._hurry.wait()
            self._wake.clear()
            self._hurry.clear()
            flushes, self._flushes = self._flushes, []
            failure = await self._write_waiting()
            for done in flushes:
                if done.done():
                    continue  # its caller gave up
                if failure is None:
                    done.set_result(None)
                else:
                    done.set_exception(failure)
            if self._closing:
                break
            if self._waiting or self._refusals.waiting:
                self._wake.set()
        if self._refusals.waiting:
            _log.error("journal: %d refusals were not recorded", self._refusals.waiting)
        self._close_spool()
        self._waiting.clear()
        self._trouble.over(lost=self.lost)

    async def _write_waiting(self) -> StoreError | None:
        """Return what stopped it; the entries then wait on."""
        failure: StoreError | None = None
        pending = self._refusals.waiting  # in a flood there are new ones at once: those can wait
        while (self._waiting or pending > 0) and failure is None:
            batch = [self._waiting.popleft() for _ in range(min(BATCH_ROWS, len(self._waiting)))]
            refused = self._refusals.batch(BATCH_ROWS - len(batch))
            try:
                await self._write([entry.row for entry in batch], refused=refused)
            except sqlite_file.ERRORS as error:
                failure = schema.classify_error(error, self.path)
            except StoreError as error:
                failure = error
            except Exception as error:  # noqa: BLE001 - the barrier of this task: without it nothing is journaled
                _log.exception("journal: a fault of ours; the entries wait")
                failure = StoreError(f"{self.path}: {error}")
            else:
                self._waiting_bytes -= sum(entry.row.bytes for entry in batch)
                self._refusals.written(refused)
                pending -= len(refused.fresh) + len(refused.grown)
                if batch:
                    self._drop_spooled()
                continue
            self._waiting.extendleft(reversed(batch))
            self._drop_excess()
        if self._unfit is not None:
            _log.error("journal: an entry that cannot be stored was dropped", exc_info=self._unfit)
            self._unfit = None
        if failure is None:
            self._trouble.succeeded(lost=self.lost, now=self._clock())
        else:
            self._trouble.failed(
                failure, waiting=len(self._waiting), lost=self.lost, now=self._clock()
            )
        return failure

    def _drop_spooled(self) -> None:
        """Drop of the spool what SQLite has."""
        try:
            self._spool.written(self._waiting[0].file if self._waiting else None)
        except StoreError as error:
            _log.warning("journal: %s", error)

    def _close_spool(self) -> None:
        """Let the spool go, with what SQLite has not taken."""
        if self._waiting and self._spool_trouble:
            self.lost += len(self._waiting)
        elif self._waiting:
            _log.error(
                "journal: %d entries wait in %s for the next start",
                len(self._waiting),
                self._folder,
            )
        try:
            self._spool.close(written=not self._waiting)
        except StoreError as error:
            _log.warning("journal: %s", error)

    async def _write_left(
        self, batch: Sequence[Waiting], policies: Mapping[str, Mapping[str, str]]
    ) -> int:
        """Write rows that another took, but those that it had written itself.

        Return how many entries these are.

        Raises:
            StoreError: the file can't be written.
        """
        try:
            return await self._write(list(batch), policies, of_another=True)
        except sqlite_file.ERRORS as error:
            raise schema.classify_error(error, self.path) from error

    async def _write(
        self,
        batch: list[Waiting],
        more: Mapping[str, Mapping[str, str]] = {},
        *,
        of_another: bool = False,
        refused: RefusalBatch = NO_REFUSALS,
    ) -> int:
        """Write a batch in one transaction.

        Rows that SQLite can never take are dropped, the others are written.

        Return how many entries were added.

        Args:
            batch: of this process, or of one that died.
            more: what the rules of policies ask, beside what was appended here.
            of_another: that one may have written some of it.
            refused: refusals that are written with it.
        """
        try:
            async with self._transaction:
                try:
                    while True:
                        await self._begin()
                        policies = {**more, **self._policies}
                        fresh = await self._unknown(batch) if of_another else batch
                        added = await batch_insert.insert(self._db, fresh, policies)
                        await insert_refusals(self._db, refused)
                        await self._db.execute("COMMIT")
                        if (
                            self._file.in_place()
                        ):  # set aside by who could not wait for us: it has to be in the new one
                            break
                except BaseException:
                    await self._db.rollback()
                    raise
        except _UNFIT as error:
            # raises if it is the connection, and no row is to blame
            await self._db.execute("SELECT 1")
            if refused != NO_REFUSALS:
                return await self._write_apart(batch, refused, error)
            if len(batch) == 1:
                self._drop_unfit(error)
                return 0
            return sum([await self._write([row], more, of_another=of_another) for row in batch])
        self.written += added
        for version in policies:
            self._policies.pop(version, None)
        duplicates = sum(isinstance(row, rows.EntryRow) for row in fresh) - added
        if duplicates:
            _log.warning("journal: %d entries were there already, or share an id", duplicates)
        return added

    async def _write_apart(
        self, batch: list[Waiting], refused: RefusalBatch, error: Exception
    ) -> int:
        """Write a batch, and the refusals by themselves, where one of both can't be stored."""
        if batch:
            added = await self._write(batch)
            await self._write([], refused=refused)
            return added
        _log.error("journal: refusals that cannot be stored were dropped", exc_info=error)
        self._refusals.lost += len(refused.fresh)
        return 0

    async def _unknown(self, batch: Sequence[Waiting]) -> list[Waiting]:
        """Return rows but the entries that the journal has: asked within the transaction, of the
        file that is written.
        """
        idents = json.dumps([row.ident for row in batch if isinstance(row, rows.EntryRow)])
        idents_known = {number for (number,) in await self._db.execute_fetchall(_KNOWN, (idents,))}
        return [
            row
            for row in batch
            if not isinstance(row, rows.EntryRow) or row.ident not in idents_known
        ]

    def _drop_excess(self) -> None:
        dropped = False
        while self._waiting_bytes > WAITING_BYTES and self._waiting:
            self._waiting_bytes -= self._waiting.popleft().row.bytes
            self.lost += 1
            dropped = True
        if dropped:
            self._drop_spooled()  # it has the same bound

    def _drop_unfit(self, error: Exception) -> None:
        self.lost += 1
        self._unfit = error
        self._wake.set()
