"""The content of a message that passes: in the form a session takes, and as it goes to the next
hop, with the edits in its header.

Only the header is ever edited, so that a body of any size stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import AddHeader, RemoveHeader
from oborona.doors.rfc5322 import header_fields, raw_message_of, with_edits
from oborona.doors.smtp.spooled_message import MAX_HEADER, PIECE_BYTES, SpooledMessage


def read_header(message: SpooledMessage) -> bytes | None:
    """Return the beginning of a message in which all its headers are, None where they do not end
    within `MAX_HEADER`.
    """
    if message.header:
        return message.header
    header = b"".join(islice(message.pieces(b""), -(-MAX_HEADER // PIECE_BYTES)))
    if len(header) < message.size:
        end = max((field.end for field in header_fields(header)), default=0)
        if b"\n" not in header[end:]:  # the last may go on
            return None
    return header


def session_message(message: SpooledMessage, beginning: bytes, limit_bytes: int) -> RawMessage:
    """Return a message as a session is given it.

    Args:
        message: whole.
        beginning: `read_header` of it.
        limit_bytes: what is kept of it.
    """
    raw, size = [], 0
    for piece in message.pieces(message.header):
        raw.append(piece)
        size += len(piece)
        if size > limit_bytes and size >= len(beginning):
            break
    raw_message = raw_message_of(b"".join(raw), limit_bytes)
    if size == message.size:
        return raw_message
    # an empty line that was missing counts, too
    return msgspec.structs.replace(
        raw_message, size=raw_message.size + message.size - size, truncated=True
    )


def edited_message(
    message: SpooledMessage, beginning: bytes, edits: Sequence[AddHeader | RemoveHeader]
) -> Iterator[bytes]:
    """Yield a message as it goes on.

    Args:
        message: whole.
        beginning: `read_header` of it.
        edits: as a reply has them.

    Guaranteed: no octet differs but by the edits, and none at all where there are none.
    """
    if not edits:
        yield from message.pieces(message.header)
        return
    yield with_edits(beginning, edits)
    left = 0 if message.header else len(beginning)  # of what is edited, in the pieces
    for piece in message.pieces(b""):
        if left < len(piece):
            yield piece[left:]
        left = max(0, left - len(piece))
