"""The parts of a MIME tree, read: texts, attachments, what HTML hides and where it leads.

What a reader sees decides what is text. Of a multipart/alternative that is one version: the HTML if it has any word, as
clients prefer it; a plain part of harmless words beside it is bait, and a finding when it has little in common. A text sent as an attachment
is one, unless nothing else is there to read. Forwarded messages are read like the rest, and so is what a signature wraps (S/MIME). An invitation adds
the lines that no other text has. Whatever has a file name is an attachment too, also the message itself; a signature beside what it signs is none.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from oborona.message import (
    armour,
    attachments,
    calendars,
    charsets,
    hypertext,
    mime,
    quotations,
    signed_data,
    tnef,
    transfer,
    yenc,
)
from oborona.message import headers as fields
from oborona.message.findings import Findings
from oborona.message.limits import Limits
from oborona.message.mime import Entity
from oborona.message.model import Attachment, Held
from oborona.message.pictures import album

_META_CHARSET: Final = re.compile(
    rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.-]{1,40})", re.IGNORECASE
)
META_WITHIN: Final = 1024  # octets of a page in which its charset must be declared (WHATWG HTML s4.2.5.4)
MAX_CARDS: Final = 256 << 10  # octets of all invitations and cards of a message, as sent: 30 ms
MAX_WRAPPED: Final = 3  # S/MIME objects of a message that are opened: signed, compressed, signed again
MAX_SIGNATURE: Final = 64 << 10  # octets as sent: certificates of the whole way are 10 kB
COMPARED_WORDS: Final = 12  # versions shorter than this are not compared: "your client does not show HTML"
COMMON_SHARE: Final = 0.2  # of the shorter version's distinct words
_ENCODED_GROWTH: Final = {
    "base64": 2,
    "quoted-printable": 4,
}  # octets sent per octet of text, soft breaks included
# Octets of all pages with pictures in them that are decoded, at most: the pictures, which base64 makes a third longer, and pages.
MAX_PAGE_OCTETS: Final = 2 * album.MAX_ALL_OCTETS


class Text(msgspec.Struct, frozen=True):
    """A text that is shown."""

    text: str
    charset: str  # in which it was read
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
        self._answers = False
        self._invitations: list[Text] = []
        self.opened: list[Entity] = []  # parts of what was wrapped
        self.attachments: list[Attachment] = []
        self.album = album.Album(findings)

    def read(self, root: Entity) -> list[Text]:
        """Return the texts that a reader sees, and fill `attachments` and `opened`."""
        self._answers = quotations.answers(root.headers)
        texts = self._entity(root)
        if not any(text.text for text in texts):
            texts = [*texts, *self._set_aside]
        if self._invitations:
            seen = {line.strip() for text in texts for line in text.text.split("\n")}
            for text in self._invitations:
                lines = [line for line in text.text.split("\n") if line.strip() not in seen]
                texts = [*texts, Text("\n".join(lines), text.charset)]
        return texts

    def _entity(self, entity: Entity) -> list[Text]:
        if entity.leaf:
            return self._leaf(entity)
        if not entity.content_type.startswith("multipart/") and (
            entity.name or entity.disposition == "attachment"
        ):
            self._attach(entity)  # a message under a file's name
        if entity.content_type == "multipart/encrypted":
            self._findings.add("message-encrypted", entity.content_type)
        if entity.content_type == "multipart/signed" and self._signature(entity.children[-1]):
            return [text for child in entity.children[:-1] for text in self._entity(child)]
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
        name = entity.name.lower()
        if kind in _ELSEWHERE:
            self._findings.add(_ELSEWHERE[kind], entity.name)
        if kind in _WRAPPED or name.endswith(".p7m"):
            opened = self._wrapped(entity)
            if opened is not None:
                return opened
        if kind in _CARDS or name.endswith((".ics", ".vcf")):
            self._card(entity, invites=kind in _INVITATIONS or name.endswith(".ics"))
            return []
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
        if entity.content_type == "text/html" and album.may_hold(octets):
            octets, sent = self._without_pictures(entity, octets, sent)
        if len(octets) > limit or sent < entity.end:
            self._findings.add("html-too-long" if entity.content_type == "text/html" else "text-too-long")
            octets = octets[:limit]
        if b"\0" in octets and not entity.charset.startswith(("utf-16", "utf-32", "ucs", "iso-10646")):
            self._findings.add("body-nul")
        return octets

    def _without_pictures(self, entity: Entity, octets: bytes, sent: int) -> tuple[bytes, int]:
        """Return a page's octets without the pictures written into it, and where what was decoded of it ends."""
        if sent < entity.end:
            whole = entity.end - entity.start
            if self._findings.afford("pages", whole, MAX_PAGE_OCTETS):
                sent = entity.end
                octets = transfer.decode(self._data[entity.start : sent], entity.encoding, self._findings)
        return self.album.without_written(octets), sent

    def _plain(self, entity: Entity) -> Text:
        octets = self._octets(entity)
        if b"begin " in octets:
            octets, files = transfer.uuencoded(octets, self._findings)
            if b"=ybegin " in octets:
                octets, more = yenc.files(octets)
                files += more
            for name, content in files:
                self._file(content, name)
        text, charset = charsets.decode(octets, entity.charset, self._findings)
        text = text.replace("\r\n", "\n").replace("\0", "").strip("\ufeff\n ")
        return Text(armour.without(text, self._findings), charset)

    def _html(self, entity: Entity) -> Text:
        octets = self._octets(entity)
        declared = _META_CHARSET.search(octets[:META_WITHIN])
        of_page = declared[1].decode("ascii").lower() if declared else ""
        if not entity.charset or entity.charset == "us-ascii":
            return self._page(octets, of_page or entity.charset)
        return self._page(octets, entity.charset, of_page)

    def _page(self, octets: bytes, charset: str, second: str = "") -> Text:
        source, charset = charsets.decode(octets, charset, self._findings, second=second)
        source = source.lstrip("\ufeff")
        self._pages += 1
        flat = self._pages > self._limits.html_pages or not self._findings.afford(
            "html", len(octets), self._limits.html_parsed_octets
        )
        page = hypertext.read(source, self._links_left, self._findings, flat=flat, answers=self._answers)
        self._links_left = max(0, self._links_left - len(page.targets))
        return Text(page.text, charset, page)

    def _attach(self, entity: Entity) -> None:
        limit = self._limits.attachment_octets
        if not entity.leaf and not self._findings.afford("forwarded", entity.end - entity.start, limit):
            limit = 0  # messages within messages: hashed at each level, they would cost the depth times their size
        octets, whole = self._whole(entity, limit)
        attached = attachments.attachment(
            octets,
            entity.name,
            entity.content_type,
            self._limits,
            self._findings,
            whole=whole,
        )
        shown = entity.disposition == "inline" or fields.first(entity.headers, "content-id") is not None
        self._keep(attached, octets, Held.INLINE if shown else Held.ATTACHED)
        if attached.kind == "tnef":
            self._envelope(octets)

    def _whole(self, entity: Entity, limit: int) -> tuple[bytes, bool]:
        """Return the decoded octets of a part, about `limit` at most, and whether they are all."""
        sent = min(entity.end, entity.start + limit * _ENCODED_GROWTH.get(entity.encoding, 1))
        octets = transfer.decode(self._data[entity.start : sent], entity.encoding, self._findings)
        return octets, sent == entity.end

    def _card(self, entity: Entity, *, invites: bool) -> None:
        """Keep what people read of an invitation or a card, and attach it where it has a name."""
        if self._findings.afford("cards", entity.end - entity.start, MAX_CARDS):
            octets, _ = self._whole(entity, calendars.MAX_TEXT)
            decoded = charsets.decode(octets, entity.charset, self._findings)
            card = Text(calendars.read(decoded.text), decoded.charset)
            (self._invitations if invites else self._set_aside).append(card)
        else:
            self._findings.add("text-too-long", entity.content_type)
        if entity.name:
            self._attach(entity)

    def _signature(self, entity: Entity) -> bool:
        """Return whether a part is nothing but the signature of what stands before it."""
        if entity.content_type not in _SIGNATURES or entity.end - entity.start > MAX_SIGNATURE:
            return False
        octets, _ = self._whole(entity, MAX_SIGNATURE)
        return octets.lstrip().startswith(_SIGNATURES[entity.content_type])

    def _wrapped(self, entity: Entity) -> list[Text] | None:
        """Return the texts of an S/MIME object, None when there is nothing to be read in it."""
        octets, _ = self._whole(entity, self._limits.attachment_octets)
        held = signed_data.read(octets)
        if held.encrypted:
            self._findings.add("message-encrypted", entity.content_type)
        if not held.content:
            return None
        if not self._findings.afford("wrapped", 1, MAX_WRAPPED):
            self._findings.add("mime-too-deep", entity.content_type)
            return None
        content = held.content.replace(b"\r\n", b"\n")
        if _FIELD.match(content) is None:  # a file that is signed, as invoices are in Italy
            self._file(
                held.content, entity.name[:-4] if entity.name.lower().endswith(".p7m") else entity.name
            )
            return []
        inside = mime.split(content, self._limits, self._findings)
        path = f"{entity.path}.1".lstrip(".")
        for part in inside:
            part.path = f"{path}.{part.path}".rstrip(".")
            part.depth += entity.depth + 1
        entity.children = inside[:1]
        self.opened += inside
        outside, self._data = self._data, content
        texts = self._entity(inside[0])
        self._data = outside
        return texts

    def _file(self, octets: bytes, name: str) -> None:
        """Attach a file that no MIME part declares."""
        attached = attachments.attachment(
            octets, name, "application/octet-stream", self._limits, self._findings
        )
        self._keep(attached, octets, Held.ATTACHED)

    def _keep(self, attached: Attachment, octets: bytes, place: Held) -> None:
        self.attachments.append(attached)
        if attached.kind in album.LOOKED_AT and len(octets) == attached.size:
            self.album.add(octets, attached.sha256, attached.kind, attached.name, place)

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
            decoded = charsets.decode(text, "", self._findings)
            self._set_aside.append(Text(decoded.text.strip(), decoded.charset))


_FIELD: Final = re.compile(rb"\s*(?:Content-[A-Za-z-]+|MIME-Version)[ \t]*:", re.IGNORECASE)
_WRAPPED: Final = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})  # RFC 8551 s3.2
_SIGNATURES: Final = {  # and how they begin: an ASN.1 sequence, armour
    "application/pkcs7-signature": b"0",
    "application/x-pkcs7-signature": b"0",
    "application/pgp-signature": b"-----BEGIN PGP SIGNATURE-----",
}
_INVITATIONS: Final = frozenset({"text/calendar", "text/x-vcalendar", "application/ics"})
_CARDS: Final = _INVITATIONS | {"text/vcard", "text/x-vcard", "text/directory"}
_ELSEWHERE: Final = {  # text that is not in this message
    "message/partial": "message-partial",
    "message/external-body": "message-external",
}
_PLAIN: Final = frozenset({"text/plain", "text", "text/enriched", "text/richtext", "message/delivery-status"})


def _distinct_words(version: list[Text]) -> set[str]:
    return {word for text in version for word in text.text.lower().split()}
