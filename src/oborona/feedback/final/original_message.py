"""Restores a message to the form in which it was received, as far as the mailbox copy shows it.

Headers that are added after delivery tell the mailbox and often the verdict of a filter, ours
included.  A model that is trained on them learns the answer instead of the mail, and a scan never
sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_FIELD: Final = re.compile(rb"([!-9;-~]+)[ \t]*:([^\n]*(?:\n[ \t][^\n]*)*)\n?")
_FETCHED: Final = re.compile(
    rb"(?i)fetchmail|getmail|with (?:pop|imap)|single-drop"
)  # a hop that is not SMTP's
_DELIVERED: Final = frozenset({b"return-path", b"delivered-to", b"x-original-to", b"envelope-to"})
_KEPT_BY_MAILBOXES: Final = re.compile(
    rb"(?:status|x-status|x-uid(?:l)?|x-keywords|lines|content-length|x-evolution.*|x-mozilla.*|x-imap.*|x-pstn.*|x-gmane.*|"
    rb"x-sieve|x-spam.*|x-bogosity|x-virus.*|x-mras.*|x-gm-.*|x-original.*|x-folder|x-label|replied|forwarded|xref)"
)


def undo_delivery(raw: bytes) -> bytes:
    """Return a message as it was before it was delivered, with plain line ends.

    Fields are written above those that are there already: everything down to the last trace of a
    delivery (Return-Path, Delivered-To, a hop by fetchmail) goes, wherever it stands also what
    mailboxes and filters have noted.
    """
    raw = raw.replace(b"\r\n", b"\n")
    header_fields = list(fields(raw))
    if not header_fields:
        return raw
    last = 0
    for number, match in enumerate(header_fields, 1):
        name = match[1].lower()
        if name in _DELIVERED or (name == b"received" and _FETCHED.search(match[2])):
            last = number
    original = [
        match[0]
        for match in header_fields[last:]
        if not _KEPT_BY_MAILBOXES.fullmatch(match[1].lower())
    ]
    return b"".join(original) + raw[header_fields[-1].end() :]


def fields(raw: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the fields of a header with plain line ends: name, value."""
    place = raw.find(b"\n") + 1 if raw.startswith(b"From ") else 0
    while match := _FIELD.match(raw, place):
        yield match
        place = match.end()
