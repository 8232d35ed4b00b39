"""Which message an event is about, and what is known of it.

    by our id    the journal's entry: its pieces count, its facts say who sent it
    by raw copy  what the copy itself shows; it is anybody's word
    by name      reads and deletions come with a Message-ID alone: the newest message of that name
                 that went to this person

An id of ours above another message speaks for nothing that stands there: the Message-ID must be the
same, and the text nearly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec

from oborona.feedback.believing.ports import Known
from oborona.feedback.events.model import Stored, What
from oborona.feedback.hearing import MESSAGE_ID_LENGTH, Unheard, heard
from oborona.feedback.personal import Origin, origin_said, origin_then, unproved
from oborona.feedback.word import Kind, Source
from oborona.message.hashing import Hasher
from oborona.policy.known import shared_values
from oborona.policy.personal import text_values
from oborona.reputation.personal.likeness import alike, packed
from oborona.types import Shingle

KINDS: Final = {
    What.COMPLAINT: (Kind.SPAM, Source.COMPLAINT),
    What.PARDON: (Kind.HAM, Source.PARDON),
    What.TRAP: (Kind.SPAM, Source.TRAP),
}
"""What an event says of its message, as a word."""


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to read messages as this site does."""

    hasher: Hasher
    feedback: bytes  # for digests
    site: str  # our authserv-id
    regions: tuple[str, ...] = ()  # whose telephone numbers may stand without their country


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """A message that an event is about."""

    message: bytes = b""  # what it is known by, 16 octets; empty = nothing is
    signed: bool = False  # it is the journal's
    forged: bool = False  # its id of ours is another message's
    known: Known | None = None  # what the journal knows of it
    pieces: tuple[Shingle, ...] = ()  # what it counts under
    features: bytes = b""  # of the content model; empty: its text was not handed in
    message_id: str = ""
    origin: Origin = Origin()
    unheard: str = ""  # why nothing can be made of it


def spoken(event: Stored, raw: bytes, known: Known | None, keys: Keys) -> Spoken:
    """Return what an event is about.

    Args:
        event: of any kind.
        raw: its raw copy; empty = there is none.
        known: what the journal knows of the id in it.
        keys: of the site.
    """
    if not raw or event.what not in KINDS:
        return _named(event, known)
    kind, source = KINDS[event.what]
    try:
        word, message = heard(
            raw,
            kind,
            source,
            hasher=keys.hasher,
            key=keys.feedback,
            now=event.time,
            person=event.person,
            regions=keys.regions,
        )
    except Unheard as error:
        return msgspec.structs.replace(_named(event, known), unheard="" if known else str(error))
    origin = origin_said(message, keys.site, ours=event.ident is not None)
    forged = known is not None and not _same(known, word.message_id, word.pieces)
    if forged:
        known, origin = None, unproved(origin)
    if known is not None and known.message_id:  # else the mail server gave it one later
        origin = origin_then(known.facts) or origin
    return Spoken(
        message=word.digest,
        signed=known is not None,
        forged=forged,
        known=known,
        pieces=(known.shingles if known is not None else ()) or word.pieces,
        features=word.features,
        message_id=word.message_id,
        origin=origin,
    )


def _named(event: Stored, known: Known | None) -> Spoken:
    """Return what is known without the message itself."""
    if known is not None and event.message_id and known.message_id:
        same = known.message_id[:MESSAGE_ID_LENGTH] == event.message_id[:MESSAGE_ID_LENGTH]
        known = known if same else None
    if known is None:
        return Spoken(
            message=_digest(event.message_id) if event.message_id else b"",
            message_id=event.message_id,
            unheard="nothing shows which message it was",
        )
    return Spoken(
        message=_digest(str(known.id)),
        signed=True,
        known=known,
        pieces=known.shingles,
        message_id=known.message_id,
        origin=origin_then(known.facts) or Origin(),
    )


def _digest(name: str) -> bytes:
    return hashlib.blake2b(
        name.encode("utf-8", "backslashreplace"), digest_size=16, person=b"oborona message"
    ).digest()


def _same(known: Known, message_id: str, pieces: Sequence[Shingle]) -> bool:
    """Tell whether the message handed in is the one that the journal knows."""
    if known.message_id and known.message_id[:MESSAGE_ID_LENGTH] != message_id:
        return False
    then, now = text_values(known.shingles), text_values(pieces)
    return not then or not now or alike(packed(then), frozenset(now), shared_values)
