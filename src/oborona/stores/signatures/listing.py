"""Signatures of the store a page at a time: those that a choice leaves.

One question gives the number and one the page: 20,000 signatures are looked through in some 10 ms.
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
_TODAY: Final = "(SELECT today FROM hits WHERE hits.id = 's' || signature.id AND day = :day)"
_FOUND: Final = (
    "id IN (SELECT CAST(substr(id, 2) AS INTEGER) FROM hits WHERE day = :day AND today > 0)"
)


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
    SignatureView.IN_FORCE: (_IN_FORCE, "id DESC"),
    SignatureView.FOUND: (f"{_IN_FORCE} AND {_FOUND}", f"{_TODAY} DESC, id DESC"),
    SignatureView.SHADOW: (f"{_IN_FORCE} AND mode = 'shadow'", "id DESC"),
    SignatureView.STALE: (f"{_IN_FORCE} AND {_STALE}", "id"),
    SignatureView.ENDING: ("expires > :now", "expires, id"),
    SignatureView.OVER: ("0 < expires AND expires <= :now", "expires DESC, id DESC"),
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
        "text": f"%{_literal(choice.text.lower())}%",
        "id": _number(choice.text),
        "skip": skip,
        "most": most,
    }
    parts = [_ACTIVE, condition]
    parts += ["owner = :owner"] if choice.owner else []
    parts += ["flag = :flag" if choice.flag is not None else "flag <> 'mark'"]
    parts += [r"(normal LIKE :text ESCAPE '\' OR id = :id)"] if choice.text else []
    chosen = " AND ".join(parts)
    with store.told() as db:
        (number,) = db.execute(f"SELECT count(*) FROM signature WHERE {chosen}", values).fetchone()  # noqa: S608 - literals above
        rows = db.execute(
            f"SELECT {COLUMNS} FROM signature WHERE {chosen} ORDER BY {order} LIMIT :most OFFSET :skip",  # noqa: S608 - literals above
            values,
        ).fetchall()
    return [stored_of_row(row) for row in rows], int(number)


def _literal(text: str) -> str:
    for letter in "\\%_":
        text = text.replace(letter, f"\\{letter}")
    return text


def _number(text: str) -> int:
    try:
        return number_of(text.strip().lower())
    except KeyError:
        return 0
