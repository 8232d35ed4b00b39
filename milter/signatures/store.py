"""Signatures that are added, changed and removed while mail is judged; any number of processes use one file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from oborona.errors import StoreError
from oborona.milter.signatures import schema
from oborona.policy.signatures.check import entity, pattern_text, phrase
from oborona.policy.signatures.model import Flag, Kind, Signature, Where
from oborona.types import Mode

DAY_S: Final = 86_400
_AT_ONCE: Final = 500  # rows
_COLUMNS: Final = (
    "id, state, changed, flag, kind, value, place, inside, owner, reason, author, created, expires, score, mode,"
    " decided, decided_by, evidence"
)
_INSERT: Final = (
    "INSERT INTO signature (state, changed, flag, kind, value, normal, place, inside, owner, reason, author, created,"
    " expires, score, mode, decided, decided_by, evidence)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SAME: Final = (
    "SELECT id, state FROM signature WHERE normal = ? AND kind = ? AND flag = ? AND place = ? AND inside = ?"
)


class State(StrEnum):
    """What has become of a signature."""

    ACTIVE = "active"
    PROPOSED = "proposed"  # waits for a person
    DECLINED = "declined"  # a person said no; it is not proposed again
    REMOVED = "removed"


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the store."""

    signature: Signature
    state: State
    changed: int  # number of the change
    decided: float  # when its state was last changed, Unix seconds; 0 = never
    decided_by: str
    evidence: dict[str, Any]  # of a proposal


class Hits(msgspec.Struct, frozen=True, kw_only=True):
    """How often a signature was found."""

    total: int = 0
    today: int = 0  # since midnight UTC
    last: float = 0.0  # Unix seconds; 0 = never


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed in the store."""

    version: int
    active: list[Signature]
    gone: list[str]
    whole: bool = False  # `active` is all there is, what else is known is gone


class Store:
    """One process's access to the store; to be used by one thread at a time, and closed.

    Args:
        path: the file; its folder exists.
        make: begin a store where there is none.

    Raises:
        StoreError: as of `schema.open_store`; every method raises it when the file can't be read or written.
    """

    def __init__(self, path: Path, *, make: bool = True) -> None:
        self.path = path
        self._db = schema.open_store(path, make=make)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def add(
        self,
        signatures: Sequence[Signature],
        *,
        state: State = State.ACTIVE,
        evidence: Sequence[Mapping[str, Any]] = (),
    ) -> list[tuple[str, bool]]:
        """Add signatures in one transaction: all of them or none.

        Args:
            signatures: checked; their ids are not looked at.
            state: active or proposed.
            evidence: of each, for proposals.

        Returns:
            The id of each and whether it is new: one that is there already, active (or, for a proposal, in any state),
            is not added again.
        """
        found: list[tuple[str, bool]] = []
        forms = [normal(one) for one in signatures]  # before others have to wait for us
        with self._change() as number:
            for place, (one, form) in enumerate(zip(signatures, forms, strict=True)):
                known = self._same(one, form, state)
                if known is not None:
                    found.append((known, False))
                    continue
                values = (
                    state, number, one.flag, one.kind, one.value, form, one.where, one.inside, one.owner, one.reason,
                    one.author, one.created, one.expires, one.score, one.mode, 0.0, "",
                    msgspec.json.encode(evidence[place] if evidence else {}).decode(),
                )  # fmt: skip
                cursor = self._db.execute(
                    _INSERT,
                    values,
                )
                found.append((f"s{cursor.lastrowid}", True))
        return found

    def decide(self, name: str, state: State, *, by: str, now: float) -> Stored:
        """Change the state of a signature; return it as it is then.

        Raises:
            KeyError: there is none of this id.
        """
        return self._set(name, "state = ?, decided = ?, decided_by = ?", (state, now, by))

    def expire(self, name: str, at: float) -> Stored:
        """Set when a signature ends, Unix seconds; 0 = never.

        Raises:
            KeyError: there is none of this id.
        """
        return self._set(name, "expires = ?", (at,))

    def get(self, name: str) -> Stored:
        """Return a signature, whatever its state.

        Raises:
            KeyError: there is none of this id.
        """
        rows = self._rows(f"SELECT {_COLUMNS} FROM signature WHERE id = ?", (_number(name),))  # noqa: S608
        if not rows:
            raise KeyError(name)
        return rows[0]

    def all(self, *states: State) -> list[Stored]:
        """Return the signatures in some states, oldest first."""
        marks = ", ".join("?" * len(states))
        return self._rows(f"SELECT {_COLUMNS} FROM signature WHERE state IN ({marks}) ORDER BY id", states)  # noqa: S608

    def version(self) -> int:
        """Return how many changes there were: 10 µs, for those who wait for the next."""
        with self._told():
            (number,) = self._db.execute("SELECT number FROM version").fetchone()
        return int(number)

    def since(self, version: int) -> Changes:
        """Return what has changed since a version; since -1 all that is active."""
        with self._told():
            self._db.execute("BEGIN")
            try:
                (number,) = self._db.execute("SELECT number FROM version").fetchone()
                wanted = "changed > ?" if version >= 0 else "state = 'active' AND ? < 0"
                rows = self._db.execute(f"SELECT {_COLUMNS} FROM signature WHERE {wanted}", (version,))  # noqa: S608
                changes = Changes(version=number, active=[], gone=[], whole=version < 0)
                # some at a time: the collector of garbage stops a worker for as long as there are tuples to look at
                while some := rows.fetchmany(_AT_ONCE):
                    for row in some:
                        if row[1] == State.ACTIVE:
                            changes.active.append(_signature(row))
                        else:
                            changes.gone.append(f"s{row[0]}")
            finally:
                self._db.execute("COMMIT")
        return changes

    def hits(self, now: float) -> dict[str, Hits]:
        """Return how often signatures were found, by id."""
        today = int(now // DAY_S)
        with self._told():
            rows = self._db.execute("SELECT id, total, day, today, last FROM hits").fetchall()
        return {
            name: Hits(total=total, today=count if day == today else 0, last=last)
            for name, total, day, count, last in rows
        }

    def add_hits(self, counts: Mapping[str, tuple[int, float]]) -> None:
        """Add to the hits.

        Args:
            counts: how many by id, and when the last was, Unix seconds.
        """
        rows = [(name, count, int(last // DAY_S), count, last) for name, (count, last) in counts.items()]
        with self._transaction():
            self._db.executemany(
                "INSERT INTO hits (id, total, day, today, last) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " total = total + excluded.total,"
                " today = CASE WHEN day >= excluded.day THEN today ELSE 0 END"
                " + CASE WHEN day <= excluded.day THEN excluded.today ELSE 0 END,"
                " day = max(day, excluded.day), last = max(last, excluded.last)",
                rows,
            )

    def _same(self, one: Signature, form: str, state: State) -> str | None:
        """Return the id of the signature that is the same, None where there is none."""
        rows = self._db.execute(_SAME, (form, one.kind, one.flag, one.where, one.inside)).fetchall()
        return next(
            (f"s{number}" for number, was in rows if state is State.PROPOSED or was == State.ACTIVE), None
        )

    def _set(self, name: str, columns: str, values: tuple[Any, ...]) -> Stored:
        with self._change() as number:
            cursor = self._db.execute(
                f"UPDATE signature SET {columns}, changed = ? WHERE id = ?",  # noqa: S608 - literals above
                (*values, number, _number(name)),
            )
            if cursor.rowcount != 1:
                raise KeyError(name)
        return self.get(name)

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Stored]:
        with self._told():
            return [_stored(row) for row in self._db.execute(sql, tuple(values)).fetchall()]

    @contextmanager
    def _change(self) -> Iterator[int]:
        """A transaction that is one change; yields its number."""
        with self._transaction():
            self._db.execute("UPDATE version SET number = number + 1")
            (number,) = self._db.execute("SELECT number FROM version").fetchone()
            yield number

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise schema.told(error, self.path) from error


def normal(one: Signature) -> str:
    """Return what a signature looks for in its normal form."""
    match one.kind:
        case Kind.PHRASE:
            return phrase(one).decode("utf-8", "surrogatepass").strip()
        case Kind.PATTERN:
            return pattern_text(one)
        case _:
            return entity(one)[1]


def _number(name: str) -> int:
    digits = name.removeprefix("s")
    if not (name.startswith("s") and digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise KeyError(name)
    return int(digits)


def _signature(row: tuple[Any, ...]) -> Signature:
    try:
        return Signature(
            id=f"s{row[0]}",
            flag=Flag(row[3]),
            kind=Kind(row[4]),
            value=row[5],
            where=Where(row[6]),
            inside=bool(row[7]),
            owner=row[8],
            reason=row[9],
            author=row[10],
            created=row[11],
            expires=row[12],
            score=row[13],
            mode=Mode(row[14]),
        )
    except ValueError as error:
        raise StoreError(
            f"signature s{row[0]} of the store is none that this Oborona knows: {error}"
        ) from error


def _stored(row: tuple[Any, ...]) -> Stored:
    return Stored(
        signature=_signature(row),
        state=State(row[1]),
        changed=row[2],
        decided=row[15],
        decided_by=row[16],
        evidence=msgspec.json.decode(row[17], type=dict[str, Any]),
    )
