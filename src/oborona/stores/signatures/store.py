"""Signatures that are added, changed and removed while mail is judged.

Any number of processes use one file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from oborona.errors import StoreError
from oborona.policy.signatures.model import MAX_SIGNATURES, Signature
from oborona.stores.signatures.hit_counts import CountedSignatures
from oborona.stores.signatures.rows import (
    COLUMNS,
    SignatureState,
    SignatureStoreChanges,
    StoredSignature,
    apply_row,
    normal,
    number_of,
    stored_of_row,
)
from oborona.stores.signatures.schema import SHARED
from oborona.types import RuleMode

_INSERT: Final = (
    "INSERT INTO signature (state, changed, flag, kind, value, normal, place, inside, owner, reason, author, created,"
    " expires, score, mode, decided, decided_by, evidence)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SAME: Final = (
    "SELECT id, state FROM signature WHERE normal = ? AND kind = ? AND flag = ? AND place = ? AND inside = ?"
    " AND NOT (state = 'active' AND 0 < expires AND expires <= ?)"
)
_IN_FORCE: Final = "state = 'active' AND (expires <= 0 OR expires > ?)"


class SignatureStore(CountedSignatures):
    """One process's access to the store; see `FollowedStore`."""

    shared = SHARED

    def add(
        self,
        signatures: Sequence[Signature],
        *,
        now: float,
        state: SignatureState = SignatureState.ACTIVE,
        evidence: Sequence[Mapping[str, Any]] = (),
    ) -> list[tuple[str, bool]]:
        """Add signatures in one transaction: all of them or none.

        Args:
            signatures: checked; their ids are not looked at.
            now: Unix seconds.
            state: active or proposed.
            evidence: of each, for proposals.

        Returns:
            The id of each and whether it is new: one that is there already, in force (or, for a
            proposal, in any state but expired), is not added again.

        Raises:
            StoreError: there would be more in force than workers hold; nothing is added.
        """
        results: list[tuple[str, bool]] = []
        forms = [normal(signature) for signature in signatures]  # before others have to wait for us
        with self._change(now) as number:
            for place, (signature, form) in enumerate(zip(signatures, forms, strict=True)):
                same = self._same(signature, form, state, now)
                if same is not None:
                    results.append((same, False))
                    continue
                values = (
                    state, number, signature.flag, signature.kind, signature.value, form, signature.where, signature.inside, signature.owner, signature.reason,
                    signature.author, signature.created, signature.expires, signature.score, signature.mode, 0.0, "",
                    msgspec.json.encode(evidence[place] if evidence else {}).decode(),
                )  # fmt: skip
                cursor = self._db.execute(
                    _INSERT,
                    values,
                )
                results.append((f"s{cursor.lastrowid}", True))
        return results

    def decide(self, name: str, state: SignatureState, *, by: str, now: float) -> StoredSignature:
        """Change the state of a signature; return it as it is then.

        Raises:
            KeyError: there is none of this id.
        """
        return self._set(name, "state = ?, decided = ?, decided_by = ?", (state, now, by), now)

    def expire(self, name: str, at: float, *, now: float) -> StoredSignature:
        """Set when a signature ends, Unix seconds; 0 = never.

        Raises:
            KeyError: there is none of this id.
        """
        return self._set(name, "expires = ?", (at,), now)

    def set_mode(self, name: str, mode: RuleMode, *, now: float) -> StoredSignature:
        """Set whether a signature is live or in shadow mode.

        Raises:
            KeyError: there is none of this id.
        """
        return self._set(name, "mode = ?", (mode,), now)

    def put_as(self, record: StoredSignature, *, now: float) -> StoredSignature:
        """Give a signature the state, mode and end of a record of it.

        Raises:
            KeyError: there is none of its id.
        """
        columns = "state = ?, mode = ?, expires = ?, decided = ?, decided_by = ?"
        was = record.signature
        values = (record.state, was.mode, was.expires, record.decided, record.decided_by)
        return self._set(was.id, columns, values, now)

    def same_in_force(self, signature: Signature, now: float) -> str | None:
        """Return the id of the signature in force that is the same; None where there is none."""
        with self.told():
            return self._same(signature, normal(signature), SignatureState.ACTIVE, now)

    def made_at(self, created: float) -> list[StoredSignature]:
        """Return the signatures that were made at one time, Unix seconds."""
        return self._rows(f"SELECT {COLUMNS} FROM signature WHERE created = ?", (created,))  # noqa: S608 - names of ours

    def get(self, name: str) -> StoredSignature:
        """Return a signature, whatever its state.

        Raises:
            KeyError: there is none of this id.
        """
        rows = self._rows(f"SELECT {COLUMNS} FROM signature WHERE id = ?", (number_of(name),))  # noqa: S608
        if not rows:
            raise KeyError(name)
        return rows[0]

    def all(self, *states: SignatureState) -> list[StoredSignature]:
        """Return the signatures in some states, oldest first."""
        marks = ", ".join("?" * len(states))
        return self._rows(
            f"SELECT {COLUMNS} FROM signature WHERE state IN ({marks}) ORDER BY id",  # noqa: S608 - marks alone
            states,
        )

    def in_force(self, now: float) -> int:
        """Return how many are active and not expired."""
        with self.told():
            (number,) = self._db.execute(
                f"SELECT count(*) FROM signature WHERE {_IN_FORCE}",  # noqa: S608 - literals above
                (now,),
            ).fetchone()
        return int(number)

    def since(self, version: int, now: float) -> SignatureStoreChanges:
        """Return what has changed since a version; since -1 all that is in force."""
        select = f"SELECT {COLUMNS} FROM signature WHERE"  # noqa: S608 - literals above
        reading = self.rows_since(
            version, changed=f"{select} changed > ?", whole=f"{select} {_IN_FORCE}", now=now
        )
        with reading as (number, rows):
            changes = SignatureStoreChanges(
                version=number, active=[], gone=[], unknown={}, whole=version < 0
            )
            for row in rows:
                apply_row(row, changes)
        return changes

    def _same(
        self, signature: Signature, form: str, state: SignatureState, now: float
    ) -> str | None:
        """Return the id of the signature that is the same, None where there is none.

        One that is over is another's past.
        """
        rows = self._db.execute(
            _SAME, (form, signature.kind, signature.flag, signature.where, signature.inside, now)
        ).fetchall()
        return next(
            (
                f"s{number}"
                for number, was in rows
                if state is SignatureState.PROPOSED or was == SignatureState.ACTIVE
            ),
            None,
        )

    def _set(self, name: str, columns: str, values: tuple[Any, ...], now: float) -> StoredSignature:
        with self._change(now) as number:
            cursor = self._db.execute(
                f"UPDATE signature SET {columns}, changed = ? WHERE id = ?",  # noqa: S608 - literals above
                (*values, number, number_of(name)),
            )
            if cursor.rowcount != 1:
                raise KeyError(name)
        return self.get(name)

    def _rows(self, sql: str, values: Sequence[Any]) -> list[StoredSignature]:
        return [stored_of_row(row) for row in self.rows(sql, tuple(values))]

    @contextmanager
    def _change(self, now: float) -> Iterator[int]:
        """A transaction that is one change; yields its number."""
        with self.changing() as number:
            before = self.in_force(now)
            yield number
            if before < self.in_force(now) > MAX_SIGNATURES:
                raise StoreError(
                    f"{self.path}: more than {MAX_SIGNATURES} signatures would be in "
                    f"force; remove some, or let them expire"
                )
