"""A row of the audit log, and its hash.

    number → form, kind, what was written → hash over these and the hash of the row before

An act has two rows, `begun` and `ended`; that somebody looked at a person's mail has one, `looked`;
what retention drops leaves one, `cut`; an end of the
chain that is not as it was left gets one, `broken`, before the chain goes on.  Rows are written
once and never changed.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Final

import msgspec

FORM: Final = 2  # of what is hashed; new columns make a new one
FORM_COLUMNS: Final = {1: 19}
"""How many columns an earlier form hashes."""
HASH_BYTES: Final = 32
NO_HASH: Final = b"\0" * HASH_BYTES
"""What the first row has as the hash of the one before."""
_ROW: Final = b"audit row"
_HEAD: Final = b"audit head"


class RowKind(StrEnum):
    """What a row tells."""

    BEGUN = "begun"
    ENDED = "ended"
    LOOKED = "looked"
    CUT = "cut"
    BROKEN = "broken"


class ActOutcome(StrEnum):
    """What came of an act."""

    DONE = "done"
    PARTLY = "partly"  # status 1: a part was done, or there was nothing to do
    REFUSED = "refused"
    FAILED = "failed"
    OPEN = "open"  # of an act that has no end: it runs, or it was killed


class AuditRow(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What a row holds but its hashes, in the order in which it is hashed.

    An `ended` row has `of`, `outcome`, `status`, `message`, `took` and `undo`; `begun` and `looked`
    rows the rest.  A `cut` row has in `of` the last row that was dropped, in `status` how many were
    dropped, and in `message` the hash of that last row: the one that the next row follows on.  A
    `broken` row has in `message` what was found.
    """

    number: int
    form: int = FORM
    kind: str
    at: int  # Unix microseconds, by the clock of the machine
    act: str = ""
    person: str = ""
    source: str = ""  # how it is known who that is
    way: str = ""  # by which they came: terminal, page, key
    place: str = ""  # host and terminal, or address of the client
    about: str = ""
    arguments: str = ""  # a JSON object
    reason: str = ""
    dry: int = 0
    of: int = 0
    outcome: str = ""
    status: int = 0
    message: str = ""
    took: int = 0  # microseconds
    keyed: int = 0  # 1: hashed under the site's key; 0: there was none yet
    roles: str = ""  # of the person, with spaces
    undo: str = ""  # the call that takes it back, a JSON object


COLUMNS: Final = AuditRow.__struct_fields__
_encoder: Final = msgspec.json.Encoder()


def row_hash(row: AuditRow, before: bytes, key: bytes) -> bytes:
    """Return the hash of a row: BLAKE2b over the hash of the one before, and a JSON array of its
    fields in UTF-8 without spaces.

    Args:
        row: whose texts are Unicode.
        before: hash of the row before.
        key: of the site; empty = it has none yet.
    """
    shown: AuditRow | tuple[object, ...] = row
    if row.form in FORM_COLUMNS:
        shown = msgspec.structs.astuple(row)[: FORM_COLUMNS[row.form]]
    return _hashed(before + _encoder.encode(shown), key, _ROW)


def known_form(row: AuditRow) -> bool:
    """Return whether a row is of a form that we know, and has no more than that form hashes."""
    if row.form in FORM_COLUMNS:
        return not any(msgspec.structs.astuple(row)[FORM_COLUMNS[row.form] :])
    return row.form == FORM


def head_seal(number: int, last: bytes, key: bytes) -> bytes:
    """Return the seal of the end of the chain: who has no key can't move the end back."""
    return _hashed(number.to_bytes(8, "big") + last, key, _HEAD)


def _hashed(octets: bytes, key: bytes, purpose: bytes) -> bytes:
    return hashlib.blake2b(octets, key=key, person=purpose, digest_size=HASH_BYTES).digest()
