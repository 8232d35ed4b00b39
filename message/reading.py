"""The parts of a MIME tree, read: texts, attachments, what HTML hides and where it leads.

What a reader sees decides what is text. Of a multipart/alternative that is one version: the HTML if it has any word, as
clients prefer it; a plain part of harmless words beside it is bait, and a finding when it has little in common. A text sent as an attachment
is one, unless nothing else is there to read. Forwarded messages are read like the rest. Whatever has a file name is an attachment
too, also the message itself.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from oborona.message import attachments, hypertext, rfc2047, tnef, transfer
from oborona.message.findings import Findings
from oborona.message.limits import Limits
from oborona.message.mime import Entity
from oborona.message.model import Attachment

_META_CHARSET: Final = re.compile(
    rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.-]{1,40})", re.IGNORECASE
)
META_WITHIN: Final = 1024  # octets of a page in which its charset must be declared (WHATWG HTML s4.2.5.4)
COMPARED_WORDS: Final = 12  # versions shorter than this are not compared: "your client does not show HTML"
COMMON_SHARE: Final = 0.2  # of the shorter version's distinct words
_ENCODED_GROWTH: Final = {
    "base64": 2,
    "quoted-printable": 4,
}  # octets sent per octet of text, soft breaks included


class Text(msgspec.Struct, frozen=True):
    """A text that is shown."""

    text: str
    page: hypertext.Page | None = None  # of an HTML part


class Reading:
    """All that was read of one message, in the order it stands."""

    def __init__(self, data: bytes, limits: Limits, findings: Findings) -> None:
        self._data = data
        self._limits = limits
        self._findings = findings
        self._set_aside: list[Text] = []  # texts sent as attachments
        self._links_left = limits.links
        self._octets_left = limits.read_octets
        self._pages = 0
        self.attachments: list[Attachment] = []

    def read(self, root: Entity) -> list[Text]:
        """Return the texts that a reader sees, and fill `attachments`."""
        texts = self._entity(root)
        return texts if any(text.text for text in texts) else [*texts, *self._set_aside]

    def _entity(self, entity: Entity) -> list[Text]:
        if entity.leaf:
            return self._leaf(entity)
        if not entity.content_type.startswith("multipart/") and (
            entity.name or entity.disposition == "attachment"
        ):
            self._attach(entity)  # a message under a file's name
        if entity.content_type == "multipart/alternative":
            return self._alternative([self._entity(child) for child in entity.children])
        return [text for child in entity.children for text in self._entity(child)]

    def _alternative(self, versions: list[list[Text]]) -> list[Text]:
        """Return the version that a client shows, and compare it with the others."""
        readable = [version for version in versions if any(text.text for text in version)]
        if len(readable) < 2:
            return [text for version in versions for text in version]
        html = [version for version in readable if any(text.page and text.text for text in version)]
        shown = html[-1] if html else readable[-1]
        shown_words = _distinct_words(shown)
        for version in readable:
            if version is shown:
                continue
            words = _distinct_words(version)
            shorter = min(len(words), len(shown_words))
            if shorter >= COMPARED_WORDS and len(words & shown_words) < shorter * COMMON_SHARE:
                self._findings.add(
                    "alternative-differs", f"{len(words & shown_words)} of {shorter} words in common"
                )
        return shown

    def _leaf(self, entity: Entity) -> list[Text]:
        kind = entity.content_type
        if kind == "text/html":
            text = self._html(entity)
        elif kind in _PLAIN or entity.broken or (kind.startswith("text/") and not entity.name):
            text = self._plain(entity)
        else:
            self._attach(entity)
            return []
        if entity.disposition == "attachment":
            self._attach(entity)
            self._set_aside.append(text)
            return []
        if entity.name:
            self._attach(entity)
        return [text]

    def _octets(self, entity: Entity) -> bytes:
        """Return the decoded octets of a text, cut to the limit."""
        limit = self._limits.html_octets if entity.content_type == "text/html" else self._limits.text_octets
        sent = min(
            entity.end, entity.start + min(limit * _ENCODED_GROWTH.get(entity.encoding, 1), self._octets_left)
        )
        self._octets_left -= sent - entity.start
        encoding = "" if entity.broken else entity.encoding
        octets = transfer.decode(self._data[entity.start : sent], encoding, self._findings)
        if len(octets) > limit or sent < entity.end:
            self._findings.add("html-too-long" if entity.content_type == "text/html" else "text-too-long")
            octets = octets[:limit]
        if b"\0" in octets and not entity.charset.startswith(("utf-16", "utf-32", "ucs", "iso-10646")):
            self._findings.add("body-nul")
        return octets

    def _plain(self, entity: Entity) -> Text:
        octets = self._octets(entity)
        if b"begin " in octets:
            octets, files = transfer.uuencoded(octets, self._findings)
            for name, content in files:
                self._file(content, name)
        text = rfc2047.decode_octets(octets, entity.charset, self._findings)
        return Text(text.replace("\r\n", "\n").replace("\0", "").strip("\ufeff\n "))

    def _html(self, entity: Entity) -> Text:
        octets = self._octets(entity)
        charset = entity.charset
        if not charset or charset == "us-ascii":
            declared = _META_CHARSET.search(octets[:META_WITHIN])
            charset = declared[1].decode("ascii").lower() if declared else charset
        return self._page(octets, charset)

    def _page(self, octets: bytes, charset: str) -> Text:
        source = rfc2047.decode_octets(octets, charset, self._findings).lstrip("\ufeff")
        self._pages += 1
        flat = self._pages > self._limits.html_pages or not self._findings.afford(
            "html", len(octets), self._limits.html_parsed_octets
        )
        page = hypertext.read(source, self._links_left, self._findings, flat=flat)
        self._links_left = max(0, self._links_left - len(page.targets))
        return Text(page.text, page)

    def _attach(self, entity: Entity) -> None:
        growth = _ENCODED_GROWTH.get(entity.encoding, 1)
        limit = self._limits.attachment_octets
        if not entity.leaf and not self._findings.afford("forwarded", entity.end - entity.start, limit):
            limit = 0  # messages within messages: hashed at each level, they would cost the depth times their size
        sent = min(entity.end, entity.start + limit * growth)
        octets = transfer.decode(self._data[entity.start : sent], entity.encoding, self._findings)
        attached = attachments.attachment(
            octets,
            entity.name,
            entity.content_type,
            self._limits,
            self._findings,
            whole=sent == entity.end,
        )
        self.attachments.append(attached)
        if attached.kind == "tnef":
            self._envelope(octets)

    def _file(self, octets: bytes, name: str) -> None:
        """Attach a file that no MIME part declares."""
        self.attachments.append(
            attachments.attachment(octets, name, "application/octet-stream", self._limits, self._findings)
        )

    def _envelope(self, octets: bytes) -> None:
        """Attach the files in Outlook's envelope, and set its text aside: a plain version stands beside it, or it is all there is."""
        text, kind, files = tnef.read(octets, self._findings)
        for name, content in files:
            if not self._findings.afford("files", 1, self._limits.parts):
                self._findings.add("mime-too-many-parts", "files of winmail.dat")
                break
            self._file(content, name)
        if kind == "text/html":
            self._set_aside.append(self._page(text, ""))
        elif text:
            self._set_aside.append(Text(rfc2047.decode_octets(text, "", self._findings).strip()))


_PLAIN: Final = frozenset({"text/plain", "text", "text/enriched", "text/richtext", "message/delivery-status"})


def _distinct_words(version: list[Text]) -> set[str]:
    return {word for text in version for word in text.text.lower().split()}
