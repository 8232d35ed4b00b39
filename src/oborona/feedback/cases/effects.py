"""What a decision of a campaign does beside labels and reports: a line for each effect.

A line is written before its effect is done, with what was there before: what a process that was
killed has left is found by it.  What its effect makes bears the line's time, so that it is known
again though nobody noted that it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from oborona.errors import StoreError
from oborona.feedback.cases.store import CaseStore

_COLUMNS: Final = "id, decision, kind, about, at, made, before, state, say"


class EffectKind(StrEnum):
    """What an effect is."""

    SIGNATURE = "signature"  # one is added
    PROPOSAL = "proposal"  # one that waited is put in force
    PIN = "pin"  # of an entity's reputation
    MOVES = "moves"  # of copies that were delivered


class EffectState(StrEnum):
    """What has become of an effect."""

    PLANNED = "planned"  # or it was done by who was killed then
    DONE = "done"
    IDLE = "idle"  # there was nothing to do
    UNDONE = "undone"
    LEFT = "left"  # somebody has changed it since: theirs stays


class PlannedEffect(msgspec.Struct, frozen=True, kw_only=True):
    """An effect that is to be.

    Args:
        kind: what it is.
        about: what it is about, for people.
        made: what is made, as JSON has it.
        before: what is there before; None = nothing.
    """

    kind: EffectKind
    about: str
    made: dict[str, Any]
    before: dict[str, Any] | None = None


class CaseEffect(PlannedEffect, frozen=True, kw_only=True):
    """An effect of a decision.

    Args:
        id: of its line.
        decision: whose.
        at: Unix seconds: what is made for it has this time.
        state: what has become of it.
        say: why it was not done, or left.
    """

    id: int
    decision: int
    at: float
    state: EffectState
    say: str


class EffectLedger:
    """The lines of a store of cases.

    Args:
        store: open.
    """

    def __init__(self, store: CaseStore) -> None:
        self._store = store

    def plan(
        self, decision: int, effects: Sequence[PlannedEffect], *, at: float
    ) -> list[CaseEffect]:
        """Write effects down before they are done."""
        with self._store.transaction() as db:
            for effect in effects:
                db.execute(
                    "INSERT INTO effect (decision, kind, about, at, made, before, state, say)"
                    " VALUES (?, ?, ?, ?, ?, ?, 'planned', '')",
                    (decision, effect.kind, effect.about, at, _json(effect.made), _json(effect.before)),
                )  # fmt: skip
        return self.of(decision)

    def of(self, decision: int) -> list[CaseEffect]:
        """Return the effects of a decision, in the order in which they are done."""
        return self._effects("decision = ? ORDER BY id", decision)

    def about(self, kind: EffectKind, about: str) -> list[CaseEffect]:
        """Return the effects of all decisions on one thing, the newest first."""
        return self._effects("kind = ? AND about = ? ORDER BY id DESC", kind, about)

    def note(
        self,
        effect: CaseEffect,
        state: EffectState,
        *,
        made: dict[str, Any] | None = None,
        say: str = "",
    ) -> CaseEffect:
        """Note what has become of an effect, and what it has made."""
        noted = msgspec.structs.replace(
            effect, state=state, say=say, made=effect.made if made is None else made
        )
        self._write(noted)
        return noted

    def note_before(self, effect: CaseEffect, before: dict[str, Any] | None) -> CaseEffect:
        """Note what was there before, where that has changed since it was planned."""
        noted = msgspec.structs.replace(effect, before=before)
        self._write(noted)
        return noted

    def _write(self, effect: CaseEffect) -> None:
        with self._store.transaction() as db:
            db.execute(
                "UPDATE effect SET state = ?, say = ?, made = ?, before = ? WHERE id = ?",
                (effect.state, effect.say, _json(effect.made), _json(effect.before), effect.id),
            )

    def _effects(self, where: str, *values: Any) -> list[CaseEffect]:
        rows = self._store.rows(f"SELECT {_COLUMNS} FROM effect WHERE {where}", values)  # noqa: S608 - literals of ours
        return [_effect(row) for row in rows]


def _json(value: dict[str, Any] | None) -> str:
    return msgspec.json.encode(value).decode()


def _effect(row: tuple[Any, ...]) -> CaseEffect:
    ident, decision, kind, about, at, made, before, state, say = row
    try:
        return CaseEffect(
            id=ident,
            decision=decision,
            kind=EffectKind(kind),
            about=about,
            at=at,
            made=msgspec.json.decode(made, type=dict[str, Any]),
            before=msgspec.json.decode(before, type=dict[str, Any] | None),
            state=EffectState(state),
            say=say,
        )
    except (ValueError, msgspec.DecodeError) as error:
        raise StoreError(f"an effect of a decision is damaged: {error}") from error
