"""Texts of parts as a reader sees them: plain ones without their files and armour, and pages of
HTML.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from oborona.message import charsets, hypertext, pgp_armor, transfer_encoding, yenc
from oborona.message.findings import Findings
from oborona.message.limits import ParserLimits

# octets of a page in which its charset must be declared (WHATWG HTML s4.2.5.4)
META_WITHIN: Final = 1024
_META_CHARSET: Final = re.compile(
    rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.-]{1,40})", re.IGNORECASE
)


class VisibleText(msgspec.Struct, frozen=True):
    """A text that is shown."""

    text: str
    charset: str  # in which it was read
    page: hypertext.HtmlPage | None = None  # of an HTML part


class TextExtractor:
    """Makes texts of octets, within the limits of one message."""

    def __init__(self, limits: ParserLimits, findings: Findings, *, answers: bool) -> None:
        self._limits = limits
        self._findings = findings
        self._answers = answers
        self._links_left = limits.links
        self._pages = 0

    def plain(self, octets: bytes, charset: str) -> tuple[VisibleText, list[tuple[str, bytes]]]:
        """Return a plain text, and the files that are written into it with their names.

        Args:
            octets: decoded.
            charset: as declared.

        """
        files: list[tuple[str, bytes]] = []
        if b"begin " in octets:
            octets, files = transfer_encoding.uuencoded(octets, self._findings)
            if b"=ybegin " in octets:
                octets, more = yenc.files(octets)
                files += more
        text, charset = charsets.decode(octets, charset, self._findings)
        text = text.replace("\r\n", "\n").replace("\0", "").strip("\ufeff\n ")
        return VisibleText(pgp_armor.strip_armor(text, self._findings), charset), files

    def html(self, octets: bytes, charset: str) -> VisibleText:
        """Return the text of a page, whose own word for its charset counts where nothing is
        declared.

        Args:
            octets: decoded.
            charset: as declared.

        """
        declared = _META_CHARSET.search(octets[:META_WITHIN])
        of_page = declared[1].decode("ascii").lower() if declared else ""
        if not charset or charset == "us-ascii":
            return self.page(octets, of_page or charset)
        return self.page(octets, charset, of_page)

    def page(self, octets: bytes, charset: str, second: str = "") -> VisibleText:
        """Return the text of a page.

        Args:
            octets: decoded.
            charset: of it.
            second: what it may be instead.

        """
        source, charset = charsets.decode(octets, charset, self._findings, second=second)
        source = source.lstrip("\ufeff")
        self._pages += 1
        flat = self._pages > self._limits.html_pages or not self._findings.afford(
            "html", len(octets), self._limits.html_parsed_octets
        )
        page = hypertext.read(
            source, self._links_left, self._findings, flat=flat, answers=self._answers
        )
        self._links_left = max(0, self._links_left - len(page.targets))
        return VisibleText(page.text, charset, page)
