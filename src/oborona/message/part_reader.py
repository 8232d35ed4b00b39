"""The parts of a MIME tree, read: texts, attachments, what HTML hides and where it leads.

What a reader sees decides what is text. Of a multipart/alternative that is one version: the HTML if
it has any word, as clients prefer it; a plain part of harmless words beside it is bait, and a
finding when it has little in common. A text sent as an attachment is one, unless nothing else is
there to read. Forwarded messages are read like the rest, and so is what a signature wraps (S/MIME).
An invitation adds the lines that no other text has. Whatever has a file name is an attachment too,
also the message itself; a signature beside what it signs is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from oborona.message import (
    alternatives,
    attachments,
    calendars,
    charsets,
    mime,
    quotations,
    signed_data,
    tnef,
)
from oborona.message import headers as fields
from oborona.message.findings import Findings
from oborona.message.limits import ParserLimits
from oborona.message.mime import MimeEntity
from oborona.message.model import Attachment, Picture, PictureOrigin
from oborona.message.part_decoder import PartDecoder
from oborona.message.pictures import collection
from oborona.message.text_extraction import TextExtractor, VisibleText

MAX_CARDS: Final = 256 << 10  # octets of all invitations and cards of a message, as sent: 30 ms
MAX_PAPERS: Final = 3  # PDFs of a message that are looked at
MAX_PAPER_OCTETS: Final = 6 << 20  # of all of them
# S/MIME objects of a message that are opened: signed, compressed, signed again
MAX_WRAPPED: Final = 3
MAX_SIGNATURE: Final = 64 << 10  # octets as sent: certificates of the whole way are 10 kB

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
_PLAIN: Final = frozenset(
    {"text/plain", "text", "text/enriched", "text/richtext", "message/delivery-status"}
)


class PartReader:
    """All that was read of one message, in the order it stands."""

    def __init__(
        self,
        data: bytes,
        root: MimeEntity,
        limits: ParserLimits,
        findings: Findings,
        step: Callable[[], None],
    ) -> None:
        self._root = root
        self._limits = limits
        self._findings = findings
        self._step = step  # called before each part
        self._set_aside: list[VisibleText] = []  # texts sent as attachments
        self._invitations: list[VisibleText] = []
        self.opened: list[MimeEntity] = []  # parts of what was wrapped
        self.attachments: list[Attachment] = []
        self.album = collection.PictureCollector(findings)
        self.documents: list[Picture] = []
        self._octets = PartDecoder(data, limits, findings, self.album)
        self._texts = TextExtractor(limits, findings, answers=quotations.answers(root.headers))

    def read(self) -> list[VisibleText]:
        """Return the texts that a reader sees, and fill `attachments`, `opened` and `album`."""
        texts = self._entity(self._root)
        if not any(text.text for text in texts):
            texts = [*texts, *self._set_aside]
        if self._invitations:
            known_lines = {line.strip() for text in texts for line in text.text.split("\n")}
            for text in self._invitations:
                lines = [line for line in text.text.split("\n") if line.strip() not in known_lines]
                texts = [*texts, VisibleText("\n".join(lines), text.charset)]
        return texts

    def _entity(self, entity: MimeEntity) -> list[VisibleText]:
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
            versions = [self._entity(child) for child in entity.children]
            return alternatives.displayed_version(versions, self._findings)
        return [text for child in entity.children for text in self._entity(child)]

    def _leaf(self, entity: MimeEntity) -> list[VisibleText]:
        self._step()
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
            text = self._texts.html(self._octets.of_text(entity), entity.charset)
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

    def _plain(self, entity: MimeEntity) -> VisibleText:
        text, files = self._texts.plain(self._octets.of_text(entity), entity.charset)
        for name, content in files:
            self._file(content, name)
        return text

    def _attach(self, entity: MimeEntity) -> None:
        limit = self._limits.attachment_octets
        if not entity.leaf and not self._findings.afford(
            "forwarded", entity.end - entity.start, limit
        ):
            # messages within messages: hashed at each level, they would cost the depth times their
            # size
            limit = 0
        octets, whole = self._octets.whole(entity, limit)
        attached = attachments.attachment(
            octets,
            entity.name,
            entity.content_type,
            self._limits,
            self._findings,
            whole=whole,
        )
        shown = (
            entity.disposition == "inline" or fields.first(entity.headers, "content-id") is not None
        )
        self._keep(attached, octets, PictureOrigin.INLINE if shown else PictureOrigin.ATTACHED)
        if attached.kind == "tnef":
            self._envelope(octets)

    def _card(self, entity: MimeEntity, *, invites: bool) -> None:
        """Keep what people read of an invitation or a card, and attach it where it has a name."""
        if self._findings.afford("cards", entity.end - entity.start, MAX_CARDS):
            octets, _ = self._octets.whole(entity, calendars.MAX_TEXT)
            decoded = charsets.decode(octets, entity.charset, self._findings)
            card = VisibleText(calendars.read(decoded.text), decoded.charset)
            (self._invitations if invites else self._set_aside).append(card)
        else:
            self._findings.add("text-too-long", entity.content_type)
        if entity.name:
            self._attach(entity)

    def _signature(self, entity: MimeEntity) -> bool:
        """Return whether a part is nothing but the signature of what stands before it."""
        if entity.content_type not in _SIGNATURES or entity.end - entity.start > MAX_SIGNATURE:
            return False
        octets, _ = self._octets.whole(entity, MAX_SIGNATURE)
        return octets.lstrip().startswith(_SIGNATURES[entity.content_type])

    def _wrapped(self, entity: MimeEntity) -> list[VisibleText] | None:
        """Return the texts of an S/MIME object, None when there is nothing to be read in it."""
        octets, _ = self._octets.whole(entity, self._limits.attachment_octets)
        signed = signed_data.read(octets)
        if signed.encrypted:
            self._findings.add("message-encrypted", entity.content_type)
        if not signed.content:
            return None
        if not self._findings.afford("wrapped", 1, MAX_WRAPPED):
            self._findings.add("mime-too-deep", entity.content_type)
            return None
        content = signed.content.replace(b"\r\n", b"\n")
        if _FIELD.match(content) is None:  # a file that is signed, as invoices are in Italy
            self._file(
                signed.content,
                entity.name[:-4] if entity.name.lower().endswith(".p7m") else entity.name,
            )
            return []
        inside = mime.split(content, self._limits, self._findings)
        path = f"{entity.path}.1".lstrip(".")
        for part in inside:
            part.path = f"{path}.{part.path}".rstrip(".")
            part.depth += entity.depth + 1
        entity.children = inside[:1]
        self.opened += inside
        outside, self._octets.data = self._octets.data, content
        texts = self._entity(inside[0])
        self._octets.data = outside
        return texts

    def _file(self, octets: bytes, name: str) -> None:
        """Attach a file that no MIME part declares."""
        attached = attachments.attachment(
            octets, name, "application/octet-stream", self._limits, self._findings
        )
        self._keep(attached, octets, PictureOrigin.ATTACHED)

    def _keep(self, attached: Attachment, octets: bytes, place: PictureOrigin) -> None:
        self.attachments.append(attached)
        if attached.kind in collection.LOOKED_AT and len(octets) == attached.size:
            self.album.add(octets, attached.sha256, attached.kind, attached.name, place)
        elif (
            attached.kind == "pdf"
            and len(octets) == attached.size
            and len(self.documents) < MAX_PAPERS
        ):
            if not self._findings.afford("papers", len(octets), MAX_PAPER_OCTETS):
                self._findings.add("documents-too-large", attached.name)
                return
            self.documents.append(
                Picture(
                    octets=octets,
                    sha256=attached.sha256,
                    name=attached.name,
                    kind=attached.kind,
                    place=place,
                    read=True,
                )
            )

    def _envelope(self, octets: bytes) -> None:
        """Attach the files in Outlook's envelope, and set its text aside: a plain version stands
        beside it, or it is all there is.
        """
        text, kind, files = tnef.read(octets, self._findings)
        for name, content in files:
            if not self._findings.afford("files", 1, self._limits.parts):
                self._findings.add("mime-too-many-parts", "files of winmail.dat")
                break
            self._file(content, name)
        if kind == "text/html":
            self._set_aside.append(self._texts.page(text, ""))
        elif text:
            decoded = charsets.decode(text, "", self._findings)
            self._set_aside.append(VisibleText(decoded.text.strip(), decoded.charset))
