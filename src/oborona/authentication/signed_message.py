"""A message as signatures see it: header fields and body, split once, canonical forms and body
hashes made once each.

Fields end at an empty line or at the first line that is no field, as in `oborona.message.headers`;
a leading mbox line ("From ...") is no field. A bare LF is taken for a line end and made CRLF, as
dkimpy does: files on disk have LF.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from oborona.authentication.canonical import Canonicalization, canonical_body, canonical_field
from oborona.authentication.signature import SignatureClaim, SignatureField, read_claim

_FIELD: Final = re.compile(rb"([!-9;-~]+)[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*\n")
_MBOX_LINE: Final = re.compile(rb">?From [^\n]*\n")
# as many as a mail server's message is gathered with; honest mail has under 200
MAX_FIELDS: Final = 10_000


class SignedMessage:
    """One message; make it with `read_signed_message`.

    Args:
        names: of the fields in order, lower case.
        fields: octets of each, from its name to its CRLF.
        body: with CRLF line ends.
        whole: nothing of the message is missing here.
        header_whole: nothing of its header is.
    """

    __slots__ = (
        "_bodies", "_claims", "_fields", "_hashes",
        "body", "fields", "header_whole", "names", "places", "whole",
    )  # fmt: skip

    def __init__(
        self,
        *,
        names: list[bytes],
        fields: list[bytes],
        body: bytes,
        whole: bool,
        header_whole: bool,
    ) -> None:
        self.names = names
        self.fields = fields
        self.body = body
        self.whole = whole
        self.header_whole = header_whole
        self.places: dict[bytes, list[int]] = {}  # of the fields of a name, topmost first
        for place, name in enumerate(names):
            self.places.setdefault(name, []).append(place)
        self._claims: dict[int, SignatureClaim] = {}
        self._fields: dict[tuple[int, Canonicalization], bytes] = {}
        self._bodies: dict[Canonicalization, bytes] = {}
        self._hashes: dict[tuple[Canonicalization, int | None], bytes] = {}

    def claim(self, place: int, form: SignatureField) -> SignatureClaim:
        """Return what the signature in a field says of itself."""
        claim = self._claims.get(place)
        if claim is None:
            claim = self._claims[place] = read_claim(self.fields[place], form)
        return claim

    def canonical(self, place: int, canon: Canonicalization) -> bytes:
        """Return the canonical form of a field, ending in CRLF."""
        canonical = self._fields.get((place, canon))
        if canonical is None:
            canonical = self._fields[place, canon] = canonical_field(self.fields[place], canon)
        return canonical

    def body_octets(self, canon: Canonicalization) -> int:
        """Return the length of the canonical body."""
        return len(self._body(canon))

    def body_hash(self, canon: Canonicalization, length: int | None) -> bytes:
        """Return the SHA-256 of the canonical body, or of its first `length` octets."""
        digest = self._hashes.get((canon, length))
        if digest is None:
            digest = hashlib.sha256(memoryview(self._body(canon))[:length]).digest()
            self._hashes[canon, length] = digest
        return digest

    def selected(self, names: tuple[bytes, ...]) -> list[int]:
        """Return the places of the fields that h= names: of each name from the bottom up, missing
        ones left out.

        Source: RFC 6376 s5.4.2.
        """
        used_counts: dict[bytes, int] = {}
        places = []
        for name in names:
            candidates = self.places.get(name)
            if candidates:
                used = used_counts.get(name, 0)
                if used < len(candidates):
                    places.append(candidates[-1 - used])
                    used_counts[name] = used + 1
        return places

    def _body(self, canon: Canonicalization) -> bytes:
        canonical_octets = self._bodies.get(canon)
        if canonical_octets is None:
            canonical_octets = self._bodies[canon] = canonical_body(self.body, canon)
        return canonical_octets


def read_signed_message(raw: bytes, *, truncated: bool = False) -> SignedMessage:
    """Return a message split into fields and body; never raises.

    Args:
        raw: the message, line ends CRLF or LF.
        truncated: only the head of the message is here.
    """
    if raw.count(b"\n") != raw.count(b"\r\n"):
        raw = raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if not raw.endswith(b"\n") and b"\r\n\r\n" not in raw:
        raw += b"\r\n"  # ends in its last field
    names: list[bytes] = []
    fields: list[bytes] = []
    mbox = _MBOX_LINE.match(raw)
    position = mbox.end() if mbox else 0
    too_many = False
    while match := _FIELD.match(raw, position):
        if len(fields) == MAX_FIELDS:
            too_many = True
            break
        position = match.end()
        names.append(match[1].lower())
        fields.append(match[0])
    empty_line = raw.startswith(b"\r\n", position)
    if empty_line:
        position += 2
    return SignedMessage(
        names=names,
        fields=fields,
        body=raw[position:],
        whole=not (truncated or too_many),
        header_whole=not too_many and (empty_line or not truncated),
    )
