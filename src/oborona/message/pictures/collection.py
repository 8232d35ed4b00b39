"""The pictures that a message holds: files that are pictures by content, and those written into its
HTML.

Of many pictures the largest are kept: what a reader is to look at is large, and decoys would have
to be larger.

Limits: `MAX_*`; what is not kept is a finding. Drawings (SVG) are pages to `contents`, and none
here.
"""

from __future__ import annotations

import hashlib
import re
from binascii import Error as BrokenBase64
from binascii import a2b_base64
from heapq import nlargest
from typing import Final
from urllib.parse import unquote_to_bytes

from oborona.message import file_types
from oborona.message.findings import Findings
from oborona.message.model import Picture, PictureOrigin

LOOKED_AT: Final = frozenset({"png", "jpeg", "gif", "webp", "bmp", "tiff"})
"""Kinds that are looked at: what browsers show everywhere, and what fax machines send"""

MIN_OCTETS: Final = 100  # tracking pixels have 35 to 95; the smallest QR code as a picture has 200
MAX_OCTETS: Final = 6 << 20  # of one picture: what a telephone's camera makes
MAX_ALL_OCTETS: Final = 12 << 20  # of all that are kept
MAX_PICTURES: Final = 8  # kept; a newsletter's large pictures are fewer, its icons are many
MAX_WRITTEN: Final = 100  # data: URIs of a message that are decoded

_WRITTEN: Final = re.compile(
    rb"(data:image/[a-z0-9.+-]{1,20}+)((?>;[^,;\"'<>\s]{0,40}+){0,3}+),([^\"'<>)\\]*+)",
    re.IGNORECASE,
)


def may_hold(page: bytes) -> bool:
    """Tell whether pictures may be written into HTML."""
    return b"data:image/" in page.lower()


class PictureCollector:
    """Gathers the pictures of one message while it is read."""

    __slots__ = ("_findings", "_found")

    def __init__(self, findings: Findings) -> None:
        """Start with none.

        Args:
            findings: gets pictures-too-many, picture-too-large.

        """
        self._findings = findings
        self._found: dict[bytes, Picture] = {}

    def add(self, octets: bytes, sha256: bytes, kind: str, name: str, place: PictureOrigin) -> None:
        """Take a picture, unless it is of no kind that is looked at, or was there before."""
        if kind not in LOOKED_AT or len(octets) < MIN_OCTETS or sha256 in self._found:
            return
        if len(octets) > MAX_OCTETS:
            self._findings.add("picture-too-large", f"{name}: {len(octets)} octets")
            return
        self._found[sha256] = Picture(
            octets=octets, sha256=sha256, name=name, kind=kind, place=place
        )

    def extract_data_urls(self, page: bytes) -> bytes:
        """Take the pictures that are written into HTML.

        Return it without them, so that they hide nothing that follows.
        """
        return _WRITTEN.sub(self._written, page)

    def _written(self, match: re.Match[bytes]) -> bytes:
        if self._findings.afford("written pictures", 1, MAX_WRITTEN):
            octets = _decoded(match[3], b"base64" in match[2].lower())
            self.add(
                octets,
                hashlib.sha256(octets).digest(),
                file_types.kind(octets),
                "",
                PictureOrigin.DATA,
            )
        else:
            self._findings.add("pictures-too-many", f"over {MAX_WRITTEN} in HTML")
        return match[1] + match[2] + b","

    def pictures(self) -> tuple[Picture, ...]:
        """Return the pictures to look at, in the order they stand: the largest, as many as limits
        allow.
        """
        digests: set[bytes] = set()
        left = MAX_ALL_OCTETS
        for picture in nlargest(MAX_PICTURES, self._found.values(), key=_size):
            if len(picture.octets) <= left:
                left -= len(picture.octets)
                digests.add(picture.sha256)
        if len(digests) < len(self._found):
            self._findings.add(
                "pictures-too-many", f"{len(self._found)}, {len(digests)} are looked at"
            )
        return tuple(picture for picture in self._found.values() if picture.sha256 in digests)


def _size(picture: Picture) -> int:
    return len(picture.octets)


def _decoded(written: bytes, base64: bool) -> bytes:
    """Return the octets of a data: URI, as far as they can be had. Source: RFC 2397 s3."""
    octets = unquote_to_bytes(written) if b"%" in written else written
    if not base64:
        return octets
    letters = octets.translate(None, b" \t\r\n=")
    if len(letters) % 4 == 1:  # cut: such a last letter holds no octet
        letters = letters[:-1]
    try:
        return a2b_base64(letters + b"=" * (-len(letters) % 4))
    except BrokenBase64:
        return b""
