"""Reads the body of POST /feedback as an event.  Pure.

    application/json   {"what": "complaint", "person": "joe@example.org", "id": "...", "raw": "...",
                       "time": 1790000000}
    message/rfc822     the message itself; the other values are in the query:
                       /feedback?what=complaint&person=joe@example.org

`id` is the message's X-Mras-Id; `raw` the message in base64.  One of both is needed; if `id` is
missing, the X-Mras-Id within the message counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.errors import PeerError
from oborona.feedback.events.message_reference import read_reference
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.ident import verify
from oborona.reputation.personal import mail_address

# of what somebody says was done: beyond that nothing follows from it
OLDEST_S: Final = 30 * 86_400.0
AHEAD_S: Final = 300.0  # that another machine's clock may be ahead of ours


class FeedbackRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The values of a request."""

    what: EventKind
    person: Annotated[str, Meta(max_length=320)] = ""  # mail address; none of a trap
    id: Annotated[str, Meta(max_length=128)] = ""  # X-Mras-Id
    raw: bytes = b""  # base64 in JSON
    time: float | None = None  # Unix seconds, when it was done; now
    mailbox: Annotated[str, Meta(max_length=1000)] = ""


_JSON: Final = msgspec.json.Decoder(FeedbackRequest)


def from_json(body: bytes) -> FeedbackRequest:
    """Return what a JSON body says.

    Raises:
        PeerError: it says nothing we know.
    """
    try:
        return _JSON.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise PeerError(str(error)) from None


def from_message(raw: bytes, words: Mapping[str, str]) -> FeedbackRequest:
    """Return what a message, and the words beside it, say.

    Raises:
        PeerError: the words are not what we know.
    """
    try:
        return msgspec.structs.replace(
            msgspec.convert(dict(words), FeedbackRequest, strict=False), raw=raw
        )
    except msgspec.ValidationError as error:
        raise PeerError(str(error)) from None


def event_of(
    request: FeedbackRequest, *, key: bytes, once: str, source: str, now: float
) -> FeedbackEvent:
    """Return the event of a request.

    Args:
        request: its words.
        key: of the site, for signatures.
        once: a name for it, the client's own, under which what it says of a person counts once;
            empty = each counts.
        source: the client.
        now: Unix seconds.

    Raises:
        PeerError: nothing can follow from it; the text is fit for the client.
    """
    person = mail_address(request.person)
    if request.what is EventKind.TRAP:
        if request.person:
            raise PeerError("a trap is nobody's: leave person out")
    elif not person:
        raise PeerError("person is no mail address")
    when = now if request.time is None else request.time
    if not now - OLDEST_S <= when <= now + AHEAD_S:
        raise PeerError("time is not within the last 30 days")
    if not request.raw and not request.id:
        raise PeerError("neither id nor raw: which message is it?")
    ident, message_id = read_reference(request.raw, key)
    if request.id:
        ident = verify(request.id, key)
        if ident is None and not request.raw:
            raise PeerError("id is not an X-Mras-Id of this site")
    return FeedbackEvent(
        what=request.what,
        way=EventChannel.HTTP,
        time=min(when, now),
        person=person,
        ident=ident,
        message_id=message_id,
        raw=request.raw,
        mailbox=request.mailbox.encode("utf-8", "backslashreplace").decode(),
        source=source,
        key=_digest(f"{request.what} {person} {once}") if once else b"",
    )


def _digest(once: str) -> bytes:
    return hashlib.blake2b(
        once.encode("utf-8", "surrogatepass"), digest_size=16, person=b"oborona http"
    ).digest()
