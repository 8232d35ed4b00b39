"""Finds the message of an event, and what is known of it.

    by our id    the journal's entry: its hashes count, its facts tell the sender
    by raw copy  what the copy itself shows; anybody could have written it
    by name      reads and deletions come with a Message-ID alone: the newest message with that id
                 that was delivered to this person

Our id may have been copied onto another message.  So it is used only if the Message-ID is the same
and the text nearly so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec

from oborona.feedback.events.model import EventKind, StoredEvent
from oborona.feedback.label import LabelKind, LabelSource
from oborona.feedback.label_extraction import MESSAGE_ID_LENGTH, NotLabelable, extract_label
from oborona.feedback.personal_entries import (
    LabelOrigin,
    claimed_origin,
    origin_from_journal,
    origin_from_message,
)
from oborona.feedback.processing.ports import JournaledMessage
from oborona.message.hashing import Hasher
from oborona.policy.counts import shared_values
from oborona.policy.personal_list_match import text_values
from oborona.reputation.personal.likeness import alike, packed
from oborona.types import Shingle

KINDS: Final = {
    EventKind.COMPLAINT: (LabelKind.SPAM, LabelSource.COMPLAINT),
    EventKind.PARDON: (LabelKind.HAM, LabelSource.PARDON),
    EventKind.TRAP: (LabelKind.SPAM, LabelSource.TRAP),
}
"""What an event says of its message, as a word."""


class SiteHashing(msgspec.Struct, frozen=True, kw_only=True):
    """The site's settings for parsing and hashing a message."""

    hasher: Hasher
    feedback: bytes  # for digests
    site: str  # our authserv-id
    regions: tuple[str, ...] = ()  # whose telephone numbers may stand without their country


class EventMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The message of an event."""

    message: bytes = b""  # what it is known by, 16 octets; empty = nothing is
    signed: bool = False  # it is the journal's
    forged: bool = False  # its id of ours is another message's
    known: JournaledMessage | None = None  # what the journal knows of it
    pieces: tuple[Shingle, ...] = ()  # what it counts under
    features: bytes = b""  # of the content model; empty: its text was not handed in
    message_id: str = ""
    origin: LabelOrigin = LabelOrigin()
    why_unusable: str = ""  # why nothing can be made of it


def message_of_event(
    event: StoredEvent, raw: bytes, journaled: JournaledMessage | None, keys: SiteHashing
) -> EventMessage:
    """Return what an event is about.

    Args:
        event: of any kind.
        raw: its raw copy; empty = there is none.
        journaled: what the journal knows of the id in it.
        keys: of the site.
    """
    if not raw or event.what not in KINDS:
        return _named(event, journaled)
    kind, source = KINDS[event.what]
    try:
        word, message = extract_label(
            raw,
            kind,
            source,
            hasher=keys.hasher,
            key=keys.feedback,
            now=event.time,
            person=event.person,
            regions=keys.regions,
        )
    except NotLabelable as error:
        return msgspec.structs.replace(
            _named(event, journaled), why_unusable="" if journaled else str(error)
        )
    origin = origin_from_message(message, keys.site, ours=event.ident is not None)
    forged = journaled is not None and not _same(journaled, word.message_id, word.pieces)
    if forged:
        journaled, origin = None, claimed_origin(origin)
    if journaled is not None and journaled.message_id:  # else the mail server gave it one later
        origin = origin_from_journal(journaled.facts) or origin
    return EventMessage(
        message=word.digest,
        signed=journaled is not None,
        forged=forged,
        known=journaled,
        pieces=(journaled.shingles if journaled is not None else ()) or word.pieces,
        features=word.features,
        message_id=word.message_id,
        origin=origin,
    )


def _named(event: StoredEvent, journaled: JournaledMessage | None) -> EventMessage:
    """Return what is known without the message itself."""
    if journaled is not None and event.message_id and journaled.message_id:
        same = journaled.message_id[:MESSAGE_ID_LENGTH] == event.message_id[:MESSAGE_ID_LENGTH]
        journaled = journaled if same else None
    if journaled is None:
        return EventMessage(
            message=message_digest(event.message_id) if event.message_id else b"",
            message_id=event.message_id,
            why_unusable="nothing shows which message it was",
        )
    return EventMessage(
        message=message_digest(str(journaled.id)),
        signed=True,
        known=journaled,
        pieces=journaled.shingles,
        message_id=journaled.message_id,
        origin=origin_from_journal(journaled.facts) or LabelOrigin(),
    )


def message_digest(name: str) -> bytes:
    """Return what a message is known by whose text nobody has: 16 octets.

    Args:
        name: its id in the journal, or its Message-ID.
    """
    return hashlib.blake2b(
        name.encode("utf-8", "backslashreplace"), digest_size=16, person=b"oborona message"
    ).digest()


def _same(journaled: JournaledMessage, message_id: str, pieces: Sequence[Shingle]) -> bool:
    """Tell whether the message handed in is the one that the journal knows."""
    if journaled.message_id and journaled.message_id[:MESSAGE_ID_LENGTH] != message_id:
        return False
    before, now = text_values(journaled.shingles), text_values(pieces)
    return not before or not now or alike(packed(before), frozenset(now), shared_values)
