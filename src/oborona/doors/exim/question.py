"""A request of Exim: its stage, its envelope and its message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from oborona.doors import arguments
from oborona.doors.arguments import peer_text
from oborona.doors.exim.codec import WORDS, EximRequest, EximVerb
from oborona.doors.raw_message import RawMessage
from oborona.doors.rfc5322 import header_fields, raw_message_of
from oborona.errors import PeerError
from oborona.types import Envelope, Stage

MAX_TAKEN: Final = 10_000  # recipients of one message; no rule asks beyond it

_STAGES: Final = {  # how far SMTP has come at a word
    EximVerb.CONNECT: Stage.CONNECT,
    EximVerb.HELO: Stage.CONNECT,  # it is judged with the sender
    EximVerb.AUTH: Stage.CONNECT,
    EximVerb.MAIL: Stage.SENDER,
    EximVerb.RCPT: Stage.RECIPIENT,
    EximVerb.DATA: Stage.SENDER,  # where the message itself is not told
}
_NEEDED: Final = {
    EximVerb.HELO: "helo",
    EximVerb.AUTH: "auth",
    EximVerb.MAIL: "from",
    EximVerb.RCPT: "rcpt",
}
# what is quoted may have commas of its own
_PIECE: Final = re.compile(r'\\.|"|[,\n]|[^\\",\n]+|\\', re.DOTALL)


class EximQuestion(NamedTuple):
    """A request as the session takes it."""

    stage: Stage
    reached: Stage | None  # how far SMTP has come, where that is further
    after: Stage | None  # that was asked about before
    envelope: Envelope
    port: str  # of ours, where the client came in
    message: RawMessage | None  # None: judge what is known without it


def question_of(request: EximRequest, limit_bytes: int) -> EximQuestion:
    """Return what a request asks, any but a ping.

    Args:
        request: as the codec gives it.
        limit_bytes: of a message that are kept.

    Raises:
        PeerError: a field is missing or makes no sense.
    """
    word, fields = request
    needed = _NEEDED.get(word, "")
    if needed and needed not in fields:
        raise PeerError(f"{word} without {needed}")
    envelope = _envelope(word, fields)
    # what speaks against one recipient of several is nothing to the others
    alone = word is EximVerb.DATA and len(envelope.recipients) == 1
    return EximQuestion(
        stage=Stage.RECIPIENT if alone else _STAGES[word],
        reached=Stage.CONTENT if word is EximVerb.DATA else None,
        after=_after(fields),
        envelope=envelope,
        port=_text_of(fields, "ours"),
        message=_message(fields, limit_bytes)
        if word is EximVerb.DATA and "headers" in fields
        else None,
    )


def _after(fields: Mapping[str, bytes]) -> Stage | None:
    name = _text_of(fields, "after")
    if not name:
        return None
    word = WORDS.get(name)
    if word is None or word not in _STAGES or word is EximVerb.DATA:
        raise PeerError(f"after no such command: {name[:40]}")
    return _STAGES[word]


def _envelope(word: EximVerb, fields: Mapping[str, bytes]) -> Envelope:
    client = arguments.client_at_connect(
        _text_of(fields, "name"), _text_of(fields, "ip"), _number(fields, "port", 65_535)
    )
    if word is EximVerb.RCPT:
        # those before it are known by their number alone
        recipients = (_text_of(fields, "rcpt"),) * (_number(fields, "count", MAX_TAKEN) + 1)
    else:
        recipients = _split_addresses(_text_of(fields, "rcpts"))
    return Envelope(
        client=client,
        helo=_text_of(fields, "helo"),
        sender=_text_of(fields, "from"),
        recipients=recipients,
        login=_text_of(fields, "auth"),
        queue_id=_text_of(fields, "id"),
    )


def _message(fields: Mapping[str, bytes], limit_bytes: int) -> RawMessage:
    """Return a message as far as Exim shows it.

    What it does not show is counted, as with one that is too large.
    """
    head = fields["headers"]
    if head and not head.endswith(b"\n"):
        head += b"\n"
    head = _without_ours(head, fields.get("id", b""))
    shown = b"%b\n%b" % (head, fields.get("body", b""))
    message = raw_message_of(shown, limit_bytes)
    size = _number(fields, "size", 1 << 40)
    if size > len(shown):  # Exim counts line ends as one octet, and its own Received not at all
        return msgspec.structs.replace(message, size=max(size, message.size), truncated=True)
    return message


def _without_ours(head: bytes, queue_id: bytes) -> bytes:
    """Return a header block without the Received of the Exim that asks: it is on top already, and
    other mail servers write theirs later.
    """
    first = next(header_fields(head), None)
    if (
        first is None
        or not queue_id
        or first.name.lower() != b"received"
        or queue_id not in first.value
    ):
        return head
    return head[first.end :]


def _split_addresses(recipients: str) -> tuple[str, ...]:
    """Return the addresses of a list parted by commas or newlines, those within quotes apart."""
    addresses = [""]
    quoted = False
    for piece in _PIECE.findall(recipients):
        if piece == '"':
            quoted = not quoted
        if piece == "\n" or (piece == "," and not quoted):
            addresses.append("")
            quoted = False
        else:
            addresses[-1] += piece
    return tuple(address for address in map(str.strip, addresses) if address)


def _text_of(fields: Mapping[str, bytes], name: str) -> str:
    return peer_text(fields.get(name, b""))


def _number(fields: Mapping[str, bytes], name: str, most: int) -> int:
    value = fields.get(name, b"")
    if not value:
        return 0
    if not value.isdigit() or len(value) > 15:
        raise PeerError(f"not a number: {name}")
    return min(int(value), most)
