"""Turns what a mail store reports into an event: which message it was, and the mail address of the
mailbox user.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from oborona.errors import PeerError
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.ident import verify
from oborona.message.findings import Findings
from oborona.message.headers import split
from oborona.message.limits import DEFAULT
from oborona.reputation.personal import mail_address

HEAD_BYTES: Final = 256 * 1024  # of a message that are searched for its header
MESSAGE_ID_LENGTH: Final = 200  # characters kept
WEAK: Final = frozenset({EventKind.READ, EventKind.DELETED})
"""What a person does in passing: said without the message, worth little alone, and no loss when
there is too much of it.
"""

_SIEVE: Final = frozenset({EventKind.COMPLAINT, EventKind.PARDON}) | WEAK
_SOURCE: Final = "dovecot"


class MessageReference(NamedTuple):
    """The ids of a message, from its header."""

    ident: int | None  # in the journal, if we signed it
    message_id: str  # without <>


def read_reference(raw: bytes, key: bytes) -> MessageReference:
    """Return what a message's header names it.

    Args:
        raw: the message, or its beginning.
        key: of the site, for signatures. Of several X-Mras-Id the last one counts: ours stands
            below all others.
    """
    data = raw[:HEAD_BYTES].replace(b"\r\n", b"\n")
    headers, _ = split(data, 0, len(data), DEFAULT, Findings())
    fields_found = {
        header.name: header.value
        for header in headers
        if header.name in {"x-mras-id", "message-id"}
    }
    return MessageReference(
        verify(fields_found.get("x-mras-id", ""), key),
        _unicode(fields_found.get("message-id", "")[:MESSAGE_ID_LENGTH].strip().strip("<>")),
    )


def person_address(user: str, template: str) -> str:
    """Return the mail address of a mailbox user, empty if it is none.

    Args:
        user: as the mail store has it.
        template: of [intake].
    """
    local, _, domain = user.rpartition("@") if "@" in user else (user, "", "")
    return mail_address(template.format(user=user, local=local, domain=domain))


def event_of(
    arguments: Mapping[str, str], raw: bytes, *, key: bytes, template: str, now: float
) -> FeedbackEvent:
    """Return what a Sieve script says, as an event.

    Args:
        arguments: `what` and `user`; `mailbox`, where the message went; `when`, by which what is
            said twice is known; `id` and `messageid`, where the message does not come along.
        raw: the message, empty where it does not.
        key: of the site, for signatures.
        template: of persons' addresses.
        now: Unix seconds.

    Raises:
        PeerError: it says nothing that could be believed.
    """
    try:
        kind = EventKind(arguments.get("what", ""))
    except ValueError:
        kind = EventKind.TRAP
    if kind not in _SIEVE:
        raise PeerError(f"not what a mailbox tells: what={arguments.get('what', '')[:40]!r}")
    user = arguments.get("user", "")
    person = person_address(user, template)
    if not person:
        raise PeerError(f"{user[:80]!r} is no mail address; set intake.person")
    ident, message_id = read_reference(raw, key)
    if not raw:
        ident = verify(arguments.get("id", ""), key)
        message_id = _unicode(
            arguments.get("messageid", "")[:MESSAGE_ID_LENGTH].strip().strip("<>")
        )
    if ident is None and (kind in WEAK or not raw):
        raise PeerError("it names no message of ours")
    event = FeedbackEvent(
        what=kind,
        way=EventChannel.MAILBOX if kind in WEAK else EventChannel.SIEVE,
        time=now,
        person=person,
        ident=ident,
        message_id=message_id,
        raw=raw,
        mailbox=_unicode(arguments.get("mailbox", "")),
        source=_SOURCE,
    )
    if kind in WEAK:  # however often it is opened
        return msgspec.structs.replace(event, key=_key(event, str(ident).encode()))
    # said again, because the first answer did not come in time
    if when := arguments.get("when", ""):
        return msgspec.structs.replace(
            event, key=_key(event, when.encode("utf-8", "surrogatepass"), raw)
        )
    return event


def _key(event: FeedbackEvent, *parts: bytes) -> bytes:
    """Return what one thing that a person did is known by, however often it is told."""
    digest = hashlib.blake2b(digest_size=16, person=b"oborona told")
    for part in (f"{event.what} {event.person}".encode(), *parts):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()


def _unicode(text: str) -> str:
    """Return a peer's text with what is no Unicode in it as an escape: a store takes nothing
    else.
    """
    return text.encode("utf-8", "backslashreplace").decode()
