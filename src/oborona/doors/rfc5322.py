"""A message that comes in one piece: taken apart as a milter would have been given it, and given
back with header edits.  Pure.

A header block is fields, and ends at the empty line; at a line that is no field, too, where a mail
server would put the empty line that is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from oborona.doors.raw_message import MAX_HEADERS, RawMessage
from oborona.doors.reply import AddHeader, RemoveHeader

MAILBOX_LINE: Final = re.compile(rb"From (?![ \t]*:)([^\s]*)[^\n]*\n")
"""The line above a message of a mailbox file, with its sender."""

_BARE_LF: Final = re.compile(rb"(?<!\r)\n")
_FIELD: Final = re.compile(rb"([!-9;-~]++)[ \t]*+:([^\n]*+(?>\n[ \t][^\n]*+)*+)(?:\n|\Z)")
_BLANK: Final = re.compile(rb"\r?\n")


class RawHeaderField(NamedTuple):
    """One header of a block."""

    name: bytes
    value: bytes  # what follows the colon, folding included, without the end of its last line
    start: int  # bytes into the message
    end: int


def with_crlf(raw: bytes) -> bytes:
    """Return a message whose line feeds all stand behind carriage returns."""
    return raw if raw.count(b"\n") == raw.count(b"\r\n") else _BARE_LF.sub(b"\r\n", raw)


def without_mailbox_line(raw: bytes) -> bytes:
    """Return a message without the line that parts it from others in a mailbox file."""
    line = MAILBOX_LINE.match(raw)
    return raw[line.end() :] if line else raw


def header_fields(raw: bytes, place: int = 0) -> Iterator[RawHeaderField]:
    """Yield the headers of a message that begins at a place, in order."""
    while match := _FIELD.match(raw, place):
        value = match[2].removesuffix(b"\r") if match[0].endswith(b"\n") else match[2]
        yield RawHeaderField(match[1], value, place, match.end())
        place = match.end()


def raw_message_of(raw: bytes, limit_bytes: int) -> RawMessage:
    """Return a whole message as a milter would have gathered it.

    Args:
        raw: as it came, with whatever ends of lines.
        limit_bytes: what is kept of it.

    Guaranteed: any octets give a message; the n-th header of a name is the n-th that `with_edits`
        counts in `with_crlf(raw)`.
    """
    raw = with_crlf(raw)
    headers: list[tuple[bytes, bytes]] = []
    end = 0
    for field in header_fields(raw):
        end = field.end
        if len(headers) == MAX_HEADERS:
            break
        headers.append((field.name, field.value if field.end <= limit_bytes else b""))
    if len(headers) < MAX_HEADERS and not _BLANK.match(raw, end):
        raw = b"%b%b\r\n%b" % (raw[:end], _ending(raw[:end]), raw[end:])
    return RawMessage(
        raw=raw[:limit_bytes],
        headers=tuple(headers),
        size=len(raw),
        truncated=len(raw) > limit_bytes,
    )


def with_edits(raw: bytes, edits: Sequence[AddHeader | RemoveHeader]) -> bytes:
    """Return a message with header edits done.

    Args:
        raw: with CRLF everywhere.
        edits: as a reply has them; a header that is to go and is not there is passed over.

    Guaranteed: no octet changes but the headers that are named, and the empty line behind them
        where it was missing.
    """
    removed = {(edit.name.lower(), edit.index) for edit in edits if isinstance(edit, RemoveHeader)}
    counts: dict[str, int] = {}
    pieces: list[bytes] = []
    end = 0
    for field in header_fields(raw):
        name = field.name.decode("ascii").lower()
        counts[name] = counts.get(name, 0) + 1
        if (name, counts[name]) not in removed:
            pieces.append(raw[field.start : field.end])
        end = field.end
    added = [edit for edit in edits if isinstance(edit, AddHeader)]
    # the last that goes to the top stands topmost, as with a milter's insertions at place 0
    head = b"".join(
        (
            *(_header_octets(header) for header in reversed(added) if header.top),
            *pieces,
            _ending(pieces[-1]) if pieces else b"",
            *(_header_octets(header) for header in added if not header.top),
        )
    )
    body = raw[end:]
    return head + (b"" if _BLANK.match(body) else b"\r\n") + body


def _ending(block: bytes) -> bytes:
    """Return what the last line of a block lacks of its end."""
    return b"" if not block or block.endswith(b"\n") else b"\r\n"


def _header_octets(header: AddHeader) -> bytes:
    return f"{header.name}: {header.value}\n".replace("\n", "\r\n").encode("ascii")
