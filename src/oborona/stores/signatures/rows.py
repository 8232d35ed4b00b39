"""Rows of the signature store as what they mean: signatures, what has become of them, what has
changed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from oborona.errors import StoreError
from oborona.policy.signatures.check import entity, pattern_text, phrase
from oborona.policy.signatures.model import Signature, SignatureFlag, SignatureKind, SignatureScope
from oborona.types import RuleMode

COLUMNS: Final = (
    "id, state, changed, flag, kind, value, place, inside, owner, reason, author, created, "
    "expires, score, mode,"
    " decided, decided_by, evidence"
)
"""Of a row, in order."""


class SignatureState(StrEnum):
    """The states of a signature."""

    ACTIVE = "active"
    PROPOSED = "proposed"  # waits for a person
    DECLINED = "declined"  # a person said no; it is not proposed again
    REMOVED = "removed"


class StoredSignature(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the store."""

    signature: Signature
    state: SignatureState
    changed: int  # number of the change
    decided: float  # when its state was last changed, Unix seconds; 0 = never
    decided_by: str
    evidence: dict[str, Any]  # of a proposal


class SignatureHits(msgspec.Struct, frozen=True, kw_only=True):
    """How often a signature was found."""

    total: int = 0
    today: int = 0  # since midnight UTC
    last: float = 0.0  # Unix seconds; 0 = never


class SignatureStoreChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The changes in the store."""

    version: int
    active: list[Signature]
    gone: list[str]
    unknown: dict[str, str]  # those that this version can't read, by id, and why
    whole: bool = False  # `active` is all there is, what else is known is gone


def normal(signature: Signature) -> str:
    """Return what a signature looks for in its normal form."""
    match signature.kind:
        case SignatureKind.PHRASE:
            return phrase(signature).decode("utf-8", "surrogatepass").strip()
        case SignatureKind.PATTERN:
            return pattern_text(signature)
        case _:
            return entity(signature)[1]


def number_of(name: str) -> int:
    digits = name.removeprefix("s")
    if not (name.startswith("s") and digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise KeyError(name)
    return int(digits)


def apply_row(row: tuple[Any, ...], changes: SignatureStoreChanges) -> None:
    """Put a row where it belongs: one that can't be read is no reason to do without the others."""
    name = f"s{row[0]}"
    if row[1] != SignatureState.ACTIVE:
        changes.gone.append(name)
        return
    try:
        changes.active.append(signature_of_row(row))
    except StoreError as error:
        changes.gone.append(name)
        changes.unknown[name] = str(error)


def signature_of_row(row: tuple[Any, ...]) -> Signature:
    try:
        return Signature(
            id=f"s{row[0]}",
            flag=SignatureFlag(row[3]),
            kind=SignatureKind(row[4]),
            value=row[5],
            where=SignatureScope(row[6]),
            inside=bool(row[7]),
            owner=row[8],
            reason=row[9],
            author=row[10],
            created=row[11],
            expires=row[12],
            score=row[13],
            mode=RuleMode(row[14]),
        )
    except ValueError as error:
        raise StoreError(
            f"signature s{row[0]} of the store is none that this Oborona knows: {error}"
        ) from error


def stored_of_row(row: tuple[Any, ...]) -> StoredSignature:
    return StoredSignature(
        signature=signature_of_row(row),
        state=SignatureState(row[1]),
        changed=row[2],
        decided=row[15],
        decided_by=row[16],
        evidence=msgspec.json.decode(row[17], type=dict[str, Any]),
    )
