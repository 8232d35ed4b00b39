"""What of a message signatures are looked for in: its fields in words, as one text with known
borders, and its entities.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from oborona.message.model import EntityKind, EntityLocation, Message
from oborona.message.normalise import normalise
from oborona.policy.signatures.check import Entity
from oborona.policy.signatures.model import SignatureKind, SignatureScope
from oborona.policy.signatures.words import readings

PATTERN_TEXT: Final = 65_536  # characters of a field that patterns search, as those of rules
# characters of all header fields together, for signatures that look there
MAX_HEADERS_TEXT: Final = 32_768
_ENTITIES: Final = {
    EntityKind.PHONE: SignatureKind.PHONE,
    EntityKind.WALLET: SignatureKind.WALLET,
    EntityKind.HANDLE: SignatureKind.HANDLE,
    EntityKind.LIST: SignatureKind.LIST,
}
_ANY: Final = (
    SignatureScope.SUBJECT,
    SignatureScope.NAME,
    SignatureScope.TEXT,
    SignatureScope.PICTURE,
)


class SearchFields:
    """The fields of one message, each made when it is first asked for.

    Args:
        message: parsed.
        headers: whether any signature looks at all header fields.
    """

    __slots__ = ("_headers", "_normal", "message")

    def __init__(self, message: Message, *, headers: bool) -> None:
        self.message = message
        self._headers = headers
        self._normal: dict[SignatureScope, str] = {}

    def normal(self, where: SignatureScope) -> str:
        """Return the normalised text of a field; of `any`, its fields in lines."""
        text = self._normal.get(where)
        if text is None:
            text = self._normal[where] = self._normal_text(where)
        return text

    def _normal_text(self, where: SignatureScope) -> str:
        match where:
            case SignatureScope.TEXT:
                return self.message.normal_text
            case SignatureScope.SUBJECT:
                return normalise(self.message.subject)
            case SignatureScope.NAME:
                return normalise(self.message.from_.name) if self.message.from_ is not None else ""
            case SignatureScope.PICTURE:
                return "\n".join(
                    normalise(picture.text) for picture in self.message.pictures if picture.text
                )
            case SignatureScope.HEADER:
                return "\n".join(_headers(self.message)) if self._headers else ""
            case SignatureScope.ANY:
                return "\n".join(self.normal(place)[:PATTERN_TEXT] for place in _ANY)

    def searched(self, where: SignatureScope) -> str:
        """Return what of a field patterns search."""
        text = self.normal(where)
        return text if where is SignatureScope.ANY else text[:PATTERN_TEXT]

    def words(self) -> tuple[bytes, FieldBorders]:
        """Return the words of all fields, a line each, and which line is which field."""
        lines: list[bytes] = []
        starts: list[int] = []
        of: list[SignatureScope] = []
        at = 0
        for where in (*_ANY, SignatureScope.HEADER):
            normal = self.normal(where)
            for line in normal.split("\n") if normal else ():
                for reading in readings(line):
                    starts.append(at)
                    of.append(where)
                    lines.append(reading)
                    at += len(reading) + 1
        return b"\n".join(lines), FieldBorders(starts, of)

    def entities(self) -> Iterator[tuple[Entity, bool]]:
        """Yield each entity with whether it stands in the header; some twice."""
        message = self.message
        for link in message.links:
            yield (SignatureKind.URL, link.url), False
        for host in {link.host for link in message.links}:
            yield (SignatureKind.HOST, host), False
            yield from _domains(host, header=False)
        for address in message.addresses:
            yield (SignatureKind.ADDRESS, address), False
            yield from _domains(address.rpartition("@")[2], header=False)
        for box in (*((message.from_,) if message.from_ else ()), *message.reply_to):
            yield (SignatureKind.ADDRESS, box.address.lower()), True
            yield from _domains(box.domain, header=True)
        for entity in message.entities:
            kind = _ENTITIES.get(entity.kind)
            if kind is not None:
                yield (kind, entity.value), entity.place is EntityLocation.HEADER
        for file in message.attachments:
            yield (SignatureKind.CHECKSUM, file.sha256.hex()), False


class FieldBorders:
    """The borders of the fields in a text of several fields.

    Args:
        starts: where each line begins, ascending.
        of: the field of each.
    """

    __slots__ = ("_of", "_starts")

    def __init__(self, starts: list[int], of: list[SignatureScope]) -> None:
        self._starts = starts
        self._of = of

    def field(self, at: int) -> SignatureScope:
        """Return the field that holds a place."""
        return self._of[bisect_right(self._starts, at) - 1]


def stands(where: SignatureScope, field: SignatureScope) -> bool:
    """Tell whether what stands in a field is where a signature wants it."""
    return where is field or (where is SignatureScope.ANY and field is not SignatureScope.HEADER)


def _headers(message: Message) -> Iterator[str]:
    left = MAX_HEADERS_TEXT
    for header in message.headers:
        if left <= 0:
            return
        yield f"{header.name}: {normalise(header.value[:left])}"
        left -= len(header.name) + len(header.value)


def _domains(host: str, *, header: bool) -> Iterator[tuple[Entity, bool]]:
    """Yield a host and each name above it that has a dot; an address alone."""
    name = host.rstrip(".")
    if not name or ":" in name or name[-1].isdigit():
        return
    while "." in name:
        yield (SignatureKind.DOMAIN, name), header
        name = name.partition(".")[2]
