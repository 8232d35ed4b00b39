"""What a case of a shingle type is: messages that must count as one piece, as different ones, and
as none.

Each module beside this one has `CASES`; `test_message_types.py` gathers them, and fails for a type
that has none.
"""

from __future__ import annotations

from typing import NamedTuple

from oborona.message.parse import parse
from oborona.message.shingles import Hasher, shingles
from oborona.types import CountedPieces, Envelope, Location, ProvedIdentity

HASHER = Hasher(b"0123456789abcdef0123456789abcdef")
LONG = (
    "alpha bravo charlie delta echoes foxtrot golfing hotels indian juliet kilogram lima mikes "
    "november oscar papal quebec "
    "romeo sierra tango uniform victor whiskey xrays yankee zulus amber birch"
)  # long enough for a fingerprint of words
OTHER = (
    "window garden kettle bridge pencil orange basket ladder mirror candle pocket winter button "
    "cotton silver dragon hammer "
    "island jacket kitten lemons marble needle oyster parrot rabbit saddle tunnel"
)


class Case(NamedTuple):
    """Messages by what one type makes of them."""

    same: tuple[CountedPieces, ...]  # they differ in what is normalised away
    differ: tuple[CountedPieces, ...]  # no two share a piece of the type
    none: tuple[CountedPieces, ...]  # too little of it to be evidence


def mail(
    text: str = "",
    *fields: str,
    html: str = "",
    envelope: Envelope | None = None,
    proved: tuple[str, ...] = (),
    location: Location | None = None,
    regions: tuple[str, ...] = (),
    who: ProvedIdentity | None = None,
) -> CountedPieces:
    """Return the pieces of a message.

    Args:
        text: its body; in plain text unless a field says otherwise.
        fields: of its header, as sent.
        html: its body, in HTML; instead of `text`.
        envelope: of it.
        proved: domains that DKIM proved.
        location: of the client.
        regions: whose telephone numbers need no +.
        who: sent it, as far as it was proved.
    """
    if html:
        fields = (*fields, "Content-Type: text/html; charset=utf-8")
    elif not any(field.lower().startswith("content-type:") for field in fields):
        fields = (*fields, "Content-Type: text/plain; charset=utf-8")
    raw = "\n".join((*fields, "", html or text, "")).encode()
    return shingles(
        parse(raw, regions=regions),
        envelope or Envelope(),
        HASHER,
        proved,
        location or Location(),
        who or ProvedIdentity(),
    )


def of(kind: int, pieces: CountedPieces) -> frozenset[int]:
    """Return the hashes of a type among shingles and both sides of unique pairs."""
    alone = (one.hash for one in pieces.shingles if one.type == kind)
    paired = (one.hash for pair in pieces.pairs for one in pair if one.type == kind)
    return frozenset((*alone, *paired))
