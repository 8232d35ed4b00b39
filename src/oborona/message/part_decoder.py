"""The octets of parts, their transfer encoding undone: of text up to a limit of the message, of
files up to one of each.
"""

from __future__ import annotations

from typing import Final

from oborona.message import transfer_encoding
from oborona.message.findings import Findings
from oborona.message.limits import ParserLimits
from oborona.message.mime import MimeEntity
from oborona.message.pictures import collection

# Octets of all pages with pictures in them that are decoded, at most: the pictures, which base64
# makes a third longer, and pages.
MAX_PAGE_OCTETS: Final = 2 * collection.MAX_ALL_OCTETS
_ENCODED_GROWTH: Final = {
    "base64": 2,
    "quoted-printable": 4,
}  # octets sent per octet of text, soft breaks included
_WITH_NUL: Final = ("utf-16", "utf-32", "ucs", "iso-10646")


class PartDecoder:
    """Decodes the parts of one message.

    `data` is what their offsets are of, another one inside a wrapper.
    """

    def __init__(
        self,
        data: bytes,
        limits: ParserLimits,
        findings: Findings,
        pictures: collection.PictureCollector,
    ) -> None:
        self.data = data
        self._limits = limits
        self._findings = findings
        self._pictures = pictures
        self._left = limits.read_octets

    def of_text(self, entity: MimeEntity) -> bytes:
        """Return the octets of a text, cut to the limit.

        Pictures written into a page go to the album.
        """
        page = entity.content_type == "text/html"
        limit = self._limits.html_octets if page else self._limits.text_octets
        sent = min(
            entity.end,
            entity.start + min(limit * _ENCODED_GROWTH.get(entity.encoding, 1), self._left),
        )
        self._left -= sent - entity.start
        encoding = "" if entity.broken else entity.encoding
        octets = transfer_encoding.decode(self.data[entity.start : sent], encoding, self._findings)
        if page and collection.may_hold(octets):
            octets, sent = self._without_pictures(entity, octets, sent)
        if len(octets) > limit or sent < entity.end:
            self._findings.add("html-too-long" if page else "text-too-long")
            octets = octets[:limit]
        if b"\0" in octets and not entity.charset.startswith(_WITH_NUL):
            self._findings.add("body-nul")
        return octets

    def whole(self, entity: MimeEntity, limit: int) -> tuple[bytes, bool]:
        """Return the octets of a part, about `limit` at most, and whether they are all."""
        sent = min(entity.end, entity.start + limit * _ENCODED_GROWTH.get(entity.encoding, 1))
        octets = transfer_encoding.decode(
            self.data[entity.start : sent], entity.encoding, self._findings
        )
        return octets, sent == entity.end

    def _without_pictures(self, entity: MimeEntity, octets: bytes, sent: int) -> tuple[bytes, int]:
        """Return a page's octets without the pictures written into it, and where what was decoded
        of it ends.
        """
        if sent < entity.end:
            whole = entity.end - entity.start
            if self._findings.afford("page octets", whole, MAX_PAGE_OCTETS):
                sent = entity.end
                octets = transfer_encoding.decode(
                    self.data[entity.start : sent], entity.encoding, self._findings
                )
        return self._pictures.extract_data_urls(octets), sent
