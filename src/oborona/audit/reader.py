"""The audit log as those use it who look: acts, newest first, and whether the chain is whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, Self

import msgspec

from oborona.audit import schema
from oborona.audit.row import (
    COLUMNS,
    NO_HASH,
    ActOutcome,
    AuditRow,
    RowKind,
    known_form,
    row_hash,
)
from oborona.audit.store import ChainEnd, head_fault
from oborona.sqlite_file import ERRORS, checked_version, closed_on_error, connect

MOST_FAULTS: Final = 20  # that are told; a chain may be broken at every row
_FETCH: Final = 500
_SHOWN: Final = (
    "number, kind, at, act, person, roles, source, way, place, about, arguments, reason, dry"
)
_ENDS: Final = "outcome, status, message, took, undo"


class AuditedAct(msgspec.Struct, frozen=True, kw_only=True):
    """An act with what came of it, or a look at somebody's mail."""

    number: int
    looked: bool
    at: float  # Unix seconds
    act: str
    person: str
    roles: str
    source: str
    way: str
    place: str
    about: str
    arguments: str
    reason: str
    dry: bool
    outcome: ActOutcome
    status: int
    message: str
    took: float | None  # seconds; None = it has no end
    undo: str  # the call that takes it back, a JSON object


class AuditQuery(NamedTuple):
    """Which acts; an empty text is any."""

    since: float | None = None  # Unix seconds
    until: float | None = None
    person: str = ""  # as a whole; also as who they were before (su, sudo)
    act: str = ""  # as a whole, or what it begins with before a dot
    about: str = ""  # a part
    open_only: bool = False  # those without an end
    looks: bool = False  # also who looked at whose mail
    before: int | None = None  # numbers below this one: the next page
    own: str = ""  # of this person by pages and keys alone: a login of that name may be another


class ChainReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at the whole chain found."""

    rows: int
    first: int  # number of the first row, 0 = there is none
    end: ChainEnd  # the last row
    dropped: int  # rows that retention has dropped since the log was begun
    unkeyed: int  # rows from before the site had a secret
    faults: tuple[str, ...]  # what is wrong, MOST_FAULTS of them
    more: int  # how many more there are


class AuditReader:
    """An audit log that is only read; to be used by one thread at a time, and closed.

    Args:
        path: a `pathlib.Path`; there is a file.

    Raises:
        StoreError: there is none, or it can't be read; so does every method.
    """

    def __init__(self, path: Any) -> None:
        self.path = path
        self._db = connect(path, write=False, absent=schema.SHARED.absent)
        with closed_on_error(self._db, path):
            checked_version(self._db, path, schema.SHARED.format)
            # a text that was changed to none is a changed row, and no reason to stop
            self._db.text_factory = lambda octets: octets.decode("utf-8", "backslashreplace")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def acts(self, query: AuditQuery, most: int) -> list[AuditedAct]:
        """Return at most so many acts, the newest first.

        By the order in which they were begun, whatever the clock said.
        """
        kinds = "('begun', 'looked')" if query.looks else "('begun')"
        wheres, values = [f"begun.kind IN {kinds}"], list[object]()
        for sql, value in _conditions(query):
            wheres.append(sql)
            values += value
        ask = (
            f"SELECT {_columns('begun', _SHOWN)}, {_columns('ended', _ENDS)}"  # noqa: S608 - our own names
            " FROM audit AS begun LEFT JOIN audit AS ended"
            " ON ended.of = begun.number AND ended.kind = 'ended'"
            f" WHERE {' AND '.join(wheres)} ORDER BY begun.number DESC LIMIT ?"
        )
        try:
            rows = self._db.execute(ask, (*values, most)).fetchall()
        except ERRORS as error:
            raise schema.SHARED.told(error, self.path) from error
        return [_act(row) for row in rows]

    def verify(self, key: bytes, anchor: ChainEnd | None = None) -> ChainReport:
        """Look at every row and every hash.

        Args:
            key: of the site; empty = it has none.
            anchor: a row as it was noted elsewhere, which has to be there as it was.
        """
        check = _ChainCheck(key, anchor)
        try:
            self._db.execute("BEGIN")  # one view, whoever writes meanwhile
            cuts = self._cuts()
            for row in self._rows():
                check.take(row, cuts)
            check.finish(self._db.execute("SELECT number, hash, seal FROM head").fetchone())
            self._db.execute("COMMIT")
        except ERRORS as error:
            raise schema.SHARED.told(error, self.path) from error
        return check.report()

    def _cuts(self) -> dict[int, str]:
        asked = self._db.execute("SELECT of, message FROM audit WHERE kind = 'cut' ORDER BY number")
        return dict(asked.fetchall())

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        cursor: sqlite3.Cursor = self._db.execute(
            f"SELECT {', '.join(COLUMNS)}, before, hash FROM audit ORDER BY number"  # noqa: S608 - our own names
        )
        while rows := cursor.fetchmany(_FETCH):
            yield from rows


class _ChainCheck:
    """A walk along the chain."""

    def __init__(self, key: bytes, anchor: ChainEnd | None) -> None:
        self._key = key
        self._anchor = anchor
        self._end = ChainEnd(0, NO_HASH)
        self._rows = self._first = self._dropped = self._unkeyed = self._more = 0
        self._keyed = False  # a row under the key has come
        self._faults = list[str]()

    def take(self, values: tuple[Any, ...], cuts: dict[int, str]) -> None:
        """Look at the next row."""
        *fields, before, own = values
        number = fields[0]
        if not self._rows:
            self._first = number
            self._begin(number, before, cuts)
        elif number != self._end.number + 1:
            self._fault(f"{_span(self._end.number + 1, number - 1)} missing")
        elif before != self._end.hash:
            self._fault(f"row {number} does not follow on row {number - 1} as that is now")
        self._look(number, fields, before, own)
        if self._anchor is not None and self._anchor.number == number:
            if own != self._anchor.hash:
                self._fault(f"row {number} is another one than was noted")
            self._anchor = None
        self._rows += 1
        self._end = ChainEnd(number, own)

    def _begin(self, number: int, before: object, cuts: dict[int, str]) -> None:
        if number == 1:
            if before != NO_HASH:
                self._fault("row 1 follows on another row")
            return
        self._dropped = number - 1
        if not isinstance(before, bytes) or cuts.get(number - 1) != before.hex():
            self._fault(f"{_span(1, number - 1)} missing, and no row says that they were dropped")

    def _look(self, number: int, fields: list[Any], before: object, own: object) -> None:
        try:
            row = msgspec.convert(fields, AuditRow)
        except msgspec.ValidationError:
            row = None
        if row is None or not known_form(row) or not isinstance(before, bytes):
            self._fault(f"row {number} was changed, or written by a newer Oborona")
            return
        key = self._key if row.keyed else b""
        if row.keyed and not self._key:
            self._fault(f"row {number} is hashed under the site's secret, which is not here")
            return
        if row_hash(row, before, key) != own:
            self._fault(f"row {number} was changed, or is hashed under another secret")
        elif not row.keyed:
            self._unkeyed += 1
            if self._keyed:
                self._fault(f"row {number} is hashed under no key, and those before it are")
        elif row.kind == RowKind.BROKEN:
            self._fault(f"row {number} says of the end before it: {row.message}")
        self._keyed |= bool(row.keyed)
        self._last_key = key

    _last_key = b""

    def finish(self, head: tuple[Any, Any, Any] | None) -> None:
        """Look at the end of the chain."""
        if (head is not None or self._rows) and (
            fault := head_fault(head, self._end.number, self._end.hash, self._last_key)
        ):
            self._fault(fault)
        if self._anchor is not None and self._anchor.number >= self._first:
            self._fault(f"row {self._anchor.number}, which was noted, is missing")

    def report(self) -> ChainReport:
        """Return what was found."""
        return ChainReport(
            rows=self._rows,
            first=self._first,
            end=self._end,
            dropped=self._dropped,
            unkeyed=self._unkeyed,
            faults=tuple(self._faults),
            more=self._more,
        )

    def _fault(self, text: str) -> None:
        if len(self._faults) < MOST_FAULTS:
            self._faults.append(text)
        else:
            self._more += 1


def _conditions(query: AuditQuery) -> Iterator[tuple[str, list[object]]]:
    if query.since is not None:
        yield "begun.at >= ?", [int(query.since * 1e6)]
    if query.until is not None:
        yield "begun.at < ?", [int(query.until * 1e6)]
    if query.person:
        part = f"={query.person} "
        yield "(begun.person = ? OR instr(begun.source || ' ', ?))", [query.person, part]
    if query.own:
        begin = f"{query.own}/"  # of their keys
        yield (
            "begun.way != 'terminal' AND (begun.person = ? OR substr(begun.person, 1, ?) = ?)",
            [query.own, len(begin), begin],
        )
    if query.act:
        begin = f"{query.act}."
        yield "(begun.act = ? OR substr(begun.act, 1, ?) = ?)", [query.act, len(begin), begin]
    if query.about:
        yield "instr(lower(begun.about), lower(?))", [query.about]
    if query.open_only:
        yield "begun.kind = 'begun' AND ended.number IS NULL", []
    if query.before is not None:
        yield "begun.number < ?", [query.before]


def _columns(table: str, names: str) -> str:
    return ", ".join(f"{table}.{name}" for name in names.split(", "))


def _act(row: tuple[Any, ...]) -> AuditedAct:
    number, kind, at, *said, dry, outcome, status, message, took, undo = row
    act, person, roles, source, way, place, about, arguments, reason = said
    return AuditedAct(
        number=number,
        looked=kind == RowKind.LOOKED,
        at=at / 1e6,
        act=act,
        person=person,
        roles=roles,
        source=source,
        way=way,
        place=place,
        about=about,
        arguments=arguments,
        reason=reason,
        dry=bool(dry),
        outcome=_outcome(kind, outcome),
        status=status or 0,
        message=message or "",
        took=None if took is None else took / 1e6,
        undo=undo or "",
    )


def _outcome(kind: str, outcome: str | None) -> ActOutcome:
    if kind == RowKind.LOOKED:
        return ActOutcome.DONE
    return ActOutcome(outcome) if outcome in set(ActOutcome) else ActOutcome.OPEN


def _span(first: int, last: int) -> str:
    return f"row {first} is" if first == last else f"rows {first} to {last} are"
