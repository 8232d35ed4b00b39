"""The message and the envelope of a request.  Pure.

An RSPAMC request tells all of it in headers; the mail server's own lines above its message are
taken off.  One of SPAMC tells nothing: all of it is read from these lines
(`oborona.doors.spamd.prepended_headers`), and the reader whom it names is the recipient where they
name none.
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.doors import arguments, rfc5322
from oborona.doors.raw_message import RawMessage
from oborona.doors.spamd.codec import SpamdRequest
from oborona.doors.spamd.prepended_headers import read_prepended
from oborona.feedback.events.message_reference import person_address
from oborona.message.received import ReceivedHop
from oborona.types import Client, Envelope

_UNKNOWN: Final = Client(unknown=True)


class TrustOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is read, and how."""

    received: bool  # the mail server's lines above a message
    person: str  # template of mailbox users' addresses
    submission_port: str  # one that only our own people come to; empty = there is none
    limit_bytes: int  # of a message that is scanned


class MessageToScan(msgspec.Struct, frozen=True, kw_only=True):
    """A message, and what is known of it."""

    envelope: Envelope
    port: str  # of ours, where the client came in; empty = unknown
    message: RawMessage
    mailbox_line: int  # octets of the request's message that are no header


def message_to_scan(request: SpamdRequest, believing: TrustOptions) -> MessageToScan:
    """Return what a request tells.

    Raises:
        PeerError: the address of the client is none.
    """
    return _rspamc(request, believing) if request.rspamd else _spamc(request, believing)


def user_address(request: SpamdRequest, template: str) -> str:
    """Return the mail address of the reader whom a request names; empty where it names none.

    Args:
        request: any of spamc's.
        template: of mailbox users' addresses; who is named by an address that it makes none of is
            that address.
    """
    user = request.get("user")
    return person_address(user, template) or person_address(user, "{user}")


def _rspamc(request: SpamdRequest, believing: TrustOptions) -> MessageToScan:
    get = request.get
    client = arguments.client_at_connect(get("hostname"), get("ip"), 0)
    queue_id = get("queue-id")

    def ours(hop: ReceivedHop) -> bool:
        return bool((hop.ip and hop.ip == client.ip) or (queue_id and hop.queue_id == queue_id))

    read = read_prepended(request.raw, ours)
    envelope = Envelope(
        client=client,
        helo=get("helo"),
        sender=arguments.path_address(get("from")),
        recipients=tuple(
            arguments.path_address(value) for name, value in request.headers if name == "rcpt"
        ),
        login=get("user"),
        queue_id=queue_id,
    )
    return MessageToScan(
        envelope=envelope,
        port="",
        message=_message(read.inner(request.raw), request, believing),
        mailbox_line=read.mailbox_line,
    )


def _spamc(request: SpamdRequest, believing: TrustOptions) -> MessageToScan:
    read = read_prepended(request.raw, lambda _hop: believing.received)
    hop, envelope = read.hop, Envelope(client=_UNKNOWN)
    if believing.received:
        envelope = Envelope(
            client=_UNKNOWN if hop.handed_on else Client(ip=hop.ip, name=hop.name),
            helo=hop.helo,
            sender=read.sender,
            recipients=read.recipients,
            login=hop.login,
            queue_id=hop.queue_id,
        )
    if not envelope.recipients and (reader := user_address(request, believing.person)):
        envelope = msgspec.structs.replace(envelope, recipients=(reader,))
    return MessageToScan(
        envelope=envelope,
        # who logged in is one of ours, whatever the name that most mail servers do not write
        port=believing.submission_port if hop.authenticated and not hop.login else "",
        message=_message(read.inner(request.raw), request, believing),
        mailbox_line=read.mailbox_line,
    )


def _message(inner: bytes, request: SpamdRequest, believing: TrustOptions) -> RawMessage:
    message = rfc5322.raw_message_of(inner, believing.limit_bytes)
    missing = request.size - len(request.raw)
    if not missing:
        return message
    return msgspec.structs.replace(message, size=message.size + missing, truncated=True)
