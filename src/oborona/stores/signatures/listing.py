"""Signatures of the store a page at a time: those that a choice leaves.

All are looked through once for it: of 20,000 that takes some 5 to 10 ms.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from oborona.policy.signatures.model import SignatureFlag
from oborona.stores.signatures.hit_counts import DAY_S
from oborona.stores.signatures.rows import COLUMNS, StoredSignature, number_of, stored_of_row
from oborona.stores.signatures.store import SignatureStore

STALE_DAYS: Final = 30
_ACTIVE: Final = "state = 'active'"
_IN_FORCE: Final = "(expires <= 0 OR expires > :now)"
# one that was put in force lately has not had the time
_STALE: Final = (
    "max(created, decided) < :stale AND 's' || id NOT IN (SELECT id FROM hits WHERE last >= :stale)"
)
_FOUND: Final = "day = :day AND today > 0"
_OF_HITS: Final = "hits JOIN signature ON signature.id = CAST(substr(hits.id, 2) AS INTEGER)"


class SignatureView(StrEnum):
    """Which signatures are looked at."""

    IN_FORCE = "in-force"
    FOUND = "found"  # today, the most found first
    SHADOW = "shadow"
    STALE = "stale"  # in force, and not found for `STALE_DAYS`
    ENDING = "ending"  # that have an end, the next first
    OVER = "over"  # expired


class SignatureChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Which signatures are looked for.

    Args:
        view: of them.
        text: that stands in what they look for, or is their id; empty = any.
        owner: of this one alone; empty = of all.
        flag: of this one alone; None = of spam and of good mail.
    """

    view: SignatureView = SignatureView.IN_FORCE
    text: str = ""
    owner: str = ""
    flag: SignatureFlag | None = None


_WHERE: Final = {
    SignatureView.IN_FORCE: (_IN_FORCE, "signature.id DESC"),
    SignatureView.FOUND: (f"{_IN_FORCE} AND {_FOUND}", "today DESC, signature.id DESC"),
    SignatureView.SHADOW: (f"{_IN_FORCE} AND mode = 'shadow'", "signature.id DESC"),
    SignatureView.STALE: (f"{_IN_FORCE} AND {_STALE}", "signature.id"),
    SignatureView.ENDING: ("expires > :now", "expires, signature.id"),
    SignatureView.OVER: ("0 < expires AND expires <= :now", "expires DESC, signature.id DESC"),
}


def find_signatures(
    store: SignatureStore, choice: SignatureChoice, *, skip: int, most: int, now: float
) -> tuple[list[StoredSignature], int]:
    """Return a page of active signatures, and how many there are.

    Args:
        store: open.
        choice: which.
        skip: those before the page.
        most: on it.
        now: Unix seconds.

    Raises:
        StoreError: the store can't be read.
    """
    condition, order = _WHERE[choice.view]
    values: dict[str, Any] = {
        "now": now,
        "day": int(now // DAY_S),
        "stale": now - STALE_DAYS * DAY_S,
        "owner": choice.owner,
        "flag": choice.flag,
        "text": choice.text.lower(),
        "id": _number(choice.text),
    }
    parts = [_ACTIVE, condition]
    parts += ["owner = :owner"] if choice.owner else []
    parts += ["flag = :flag" if choice.flag is not None else "flag <> 'mark'"]
    if choice.text:
        parts.append("(instr(normal, :text) OR instr(lower(value), :text) OR signature.id = :id)")
    found_today = choice.view is SignatureView.FOUND
    parts += ["hits.id = 's' || signature.id"] if found_today else []  # none of a file
    tables = _OF_HITS if found_today else "signature"
    with store.told() as db:
        ids = db.execute(
            f"SELECT signature.id FROM {tables} WHERE {' AND '.join(parts)} ORDER BY {order}",  # noqa: S608 - literals above
            values,
        ).fetchall()
        page = [ident for (ident,) in ids[skip : skip + most]]
        marks = ", ".join("?" * len(page))
        rows = db.execute(
            f"SELECT {COLUMNS} FROM signature WHERE id IN ({marks})",  # noqa: S608 - marks alone
            page,
        ).fetchall()
    records = {row[0]: stored_of_row(row) for row in rows}
    return [records[ident] for ident in page], len(ids)


def _number(text: str) -> int:
    try:
        return number_of(text.strip().lower())
    except KeyError:
        return 0
