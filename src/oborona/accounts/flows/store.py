"""What is known of flows: files that were taken, windows and exporters of the last day."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from oborona.accounts.flows.schema import SHARED
from oborona.sqlite_file import SharedSqliteFile

DAY_S: Final = 86_400.0
FILES_S: Final = 30 * DAY_S  # that files are remembered: 15 times as long as they are looked at


class FileState(StrEnum):
    """What became of a file."""

    STAGED = "staged"  # taken; the counters may not have it yet
    TAKEN = "taken"
    FAILING = "failing"  # it is tried again
    DAMAGED = "damaged"  # it is not


class FlowFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of flows, as the store knows it."""

    name: str
    size: int
    state: FileState
    spool: str = ""
    tries: int = 0
    why: str = ""
    records: int = 0
    wrong: int = 0
    start: int = 0
    taken: float


class SourceWindow(msgspec.Struct, frozen=True, kw_only=True):
    """A source with many streams, in one window."""

    start: int
    address: str
    packets: int
    octets: int
    streams: int
    at_once: int | None
    destinations: int
    refused: int
    sampled: bool
    networks: int | None = None  # of its destinations; None: nobody has counted them
    account: str = ""  # id of who had the address when it was written; empty: nobody is known
    customer: str = ""  # id of who answers for the account
    state: str = ""  # of the account then


class FlowMark(msgspec.Struct, frozen=True, kw_only=True):
    """A source that was beyond a limit, by the window that showed it."""

    start: int
    address: str
    limit: str


class SourceSums(msgspec.Struct, frozen=True, kw_only=True):
    """What a source sent in several windows of a minute."""

    address: str
    streams: float
    packets: float
    octets: float
    refused: float  # streams
    destinations: int  # in one window, the most
    at_once: int | None  # the same; None: of no window is it known
    timed: bool  # at once is known of each window
    sampled: bool  # a sampled exporter told of some
    latest: int  # Unix seconds, begin of the last one


class ExporterWindow(msgspec.Struct, frozen=True, kw_only=True):
    """What an exporter told in one file."""

    start: int
    exporter: str
    records: int
    flows: int
    datagrams: int
    failures: int
    times_wrong: int
    lag_s: float
    shared: float
    sampling: int


class FlowStore(SharedSqliteFile):
    """The file of flows, open; for one thread at a time."""

    shared = SHARED

    def take(
        self,
        file: FlowFile,
        windows: Iterable[SourceWindow],
        exporters: Iterable[ExporterWindow],
    ) -> None:
        """Write down that a file is taken, and what it says; all or nothing.

        Raises:
            StoreError: nothing is written.
        """
        with self.transaction() as db:
            self._put(file)
            self._keep(file, list(windows))
            db.executemany(
                f"INSERT INTO flow_exporter VALUES (?, ?, ?, {_marks(8)})",  # noqa: S608 - marks alone
                [
                    (e.start, e.exporter, file.name, *msgspec.structs.astuple(e)[2:])
                    for e in exporters
                ],
            )

    def _keep(self, file: FlowFile, windows: list[SourceWindow]) -> None:
        """Write windows, under one number that is higher than all before."""
        if not windows:
            return
        starts = [window.start for window in windows]
        take = self._db.execute(
            "INSERT INTO flow_take (start, until, written) VALUES (?, ?, ?)",
            (min(starts), max(starts), file.taken),
        ).lastrowid
        names = SourceWindow.__struct_fields__
        self._db.executemany(
            f"INSERT INTO flow_window (file, take, {', '.join(names)})"  # noqa: S608 - names of columns
            f" VALUES ({_marks(len(names) + 2)})",
            [(file.name, take, *msgspec.structs.astuple(window)) for window in windows],
        )

    def mark(self, marks: Iterable[FlowMark]) -> None:
        """Write down who was beyond a limit; what is there already stays.

        Raises:
            StoreError: nothing is written.
        """
        with self.transaction() as db:
            db.executemany(
                "INSERT OR IGNORE INTO flow_excess VALUES (?, ?, ?)",
                map(msgspec.structs.astuple, marks),
            )

    def note(self, file: FlowFile) -> None:
        """Write down what became of a file.

        Raises:
            StoreError: it is not written.
        """
        with self.transaction():
            self._put(file)

    def _put(self, file: FlowFile) -> None:
        values = msgspec.structs.astuple(file)
        self._db.execute(
            f"INSERT OR REPLACE INTO flow_file VALUES ({_marks(len(values))})",  # noqa: S608 - marks alone
            (values[0], values[1], file.state.value, *values[3:]),
        )

    def files(self, since: float = 0.0) -> list[FlowFile]:
        """Return the files that were met since a time, the latest first."""
        rows = self.rows(
            "SELECT name, size, state, spool, tries, why, records, wrong, start, taken"
            " FROM flow_file WHERE taken >= ? ORDER BY taken DESC, name DESC",
            (since,),
        )
        return [
            FlowFile(
                **dict(zip(FlowFile.__struct_fields__, row, strict=True))
                | {"state": FileState(row[2])}
            )
            for row in rows
        ]

    def staged(self) -> list[FlowFile]:
        """Return the files whose counts may not be released yet."""
        return [file for file in self.files() if file.state is FileState.STAGED]

    def windows(self, since: int) -> list[SourceWindow]:
        """Return the windows that begin at a time or later, most streams first."""
        fields = ", ".join(SourceWindow.__struct_fields__)
        rows = self.rows(
            f"SELECT {fields} FROM flow_window WHERE start >= ? ORDER BY streams DESC",  # noqa: S608 - names of columns
            (since,),
        )
        return [
            msgspec.convert(
                dict(zip(SourceWindow.__struct_fields__, row, strict=True)),
                SourceWindow,
                strict=False,
            )
            for row in rows
        ]

    def streams_of(self, address: str, since: int) -> int:
        """Return the streams of an address in the windows that begin at a time or later."""
        ((total,),) = self.rows(
            "SELECT total(streams) FROM flow_window WHERE start >= ? AND address = ?",
            (since, address),
        )
        return int(total)

    def latest(self, until: float) -> int | None:
        """Return when the last window began, up to a Unix time; None: there is none."""
        ((start,),) = self.rows("SELECT max(start) FROM flow_exporter WHERE start <= ?", (until,))
        return None if start is None else int(start)

    def sums(self, since: int) -> list[SourceSums]:
        """Return what each source sent in the windows that begin at a time or later."""
        rows = self.rows(  # total() is a float: sums of hostile files may be beyond 64 bits
            "SELECT address, total(streams), total(packets), total(octets), total(refused),"
            " max(destinations), max(at_once), count(*) = count(at_once), max(sampled), max(start)"
            " FROM flow_window WHERE start >= ? GROUP BY address",
            (since,),
        )
        return [
            msgspec.convert(
                dict(zip(SourceSums.__struct_fields__, row, strict=True)), SourceSums, strict=False
            )
            for row in rows
        ]

    def exporters(self, since: int) -> list[ExporterWindow]:
        """Return what exporters told in windows that begin at a time or later, oldest first."""
        fields = ", ".join(ExporterWindow.__struct_fields__)
        rows = self.rows(
            f"SELECT {fields} FROM flow_exporter WHERE start >= ? ORDER BY start",  # noqa: S608 - names of columns
            (since,),
        )
        return [
            ExporterWindow(**dict(zip(ExporterWindow.__struct_fields__, row, strict=True)))
            for row in rows
        ]

    def purge(self, now: float) -> None:
        """Drop what nobody asks for any more at Unix time `now`.

        A window of a file that came late stays a day all the same: the log of events follows it.
        """
        with self.transaction() as db:
            for table in ("flow_exporter", "flow_excess"):
                db.execute(f"DELETE FROM {table} WHERE start < ?", (now - DAY_S,))  # noqa: S608 - names above
            db.execute("DELETE FROM flow_take WHERE written < ?", (now - DAY_S,))
            db.execute(
                "DELETE FROM flow_window"
                " WHERE start < ? AND take NOT IN (SELECT number FROM flow_take)",
                (now - DAY_S,),
            )
            db.execute(
                "DELETE FROM flow_file WHERE taken < ? AND state <> 'staged'", (now - FILES_S,)
            )


def _marks(number: int) -> str:
    return ", ".join("?" * number)
