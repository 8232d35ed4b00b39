"""What is inside an attachment: files in archives, in archives in archives, and what acts by itself
in documents.

    kind by content → listing (archives) → each file: kind by its first octets → archives and
    documents are opened, to `MAX_DEPTH`
                    → documents: macros, scripts, programs inside

Work of one message, whatever it holds: `MAX_MEMBERS` files, `MAX_UNPACKED` octets unpacked; what
lies beyond is a finding.

A member's checksum is the CRC-32 and the size that every archive states of it: the same file then
counts as one in zip, 7z, RAR and gzip, encrypted or not, and nothing has to be unpacked for it.
SHA-256 of unpacked octets would be three checksums of one file, by what could be unpacked. A CRC
can be forged, and buys nothing: who can make two files alike to a counter can as well send one of
them twice.
"""

from __future__ import annotations

import zlib
from typing import Final

import msgspec

from oborona.message import archives, file_names, file_types
from oborona.message.archives import zip_directory
from oborona.message.archives.entry import ArchiveEntry, StorageMethod, take
from oborona.message.documents import office, pdf, web_page
from oborona.message.findings import Findings
from oborona.message.model import ArchiveMember

MAX_DEPTH: Final = 3  # archives within archives: tar in gzip in zip
MAX_MEMBERS: Final = 500  # files of all archives of a message
MAX_UNPACKED: Final = 4 << 20  # octets of all archives of a message: some 15 ms
MAX_MEMBER: Final = 2 << 20  # octets of one file
MAX_SUMMED: Final = 8 << 20  # octets of a message that are summed up where an archive states no CRC
MAX_DOCUMENT: Final = 4 << 20  # octets of one document that are searched
MAX_DOCUMENTS: Final = (
    8 << 20
)  # octets of all documents of a message: some 90 ms where they are built to be slow
PAGE_COST: Final = 4  # an octet of HTML is as dear as so many of other documents
BZIP2_BLOCK: Final = 900_000  # octets that bzip2 undoes before it gives the first
RATIO: Final = 200  # unpacked to packed: text reaches 20, empty disk images 1000
BOMB: Final = 256 << 20  # octets from which such a ratio is no harmless one

_OPENED: Final = file_types.ARCHIVES | {"ole", "pdf", "rtf", "html", "svg", "one"}
_PAGES: Final = frozenset({"html", "svg"})
_NEED_THEIR_END: Final = frozenset({"zip", "7z"})  # where their listing is
_IMAGES: Final = frozenset({"iso", "img"})  # told by their 17th sector, so opened by name


class AttachmentContents(msgspec.Struct):
    """What was found inside."""

    kind: str  # by content, empty = unknown
    members: list[ArchiveMember] = []
    encrypted: bool = False  # it, or something in it, needs a password
    macros: bool = False  # in it, or in something in it


def look(
    octets: bytes, name: str, extension: str, content_type: str, findings: Findings
) -> AttachmentContents:
    """Return what an attachment is and holds; never raises.

    Args:
        octets: decoded.
        name: of its file.
        extension: of that.
        content_type: as declared.
        findings: gets attachment-type-wrong, archive-*, document-*, page-*.

    """
    kind = file_types.kind(octets)
    says_zip = extension in {"zip", "docx", "xlsx", "pptx"} or content_type == "application/zip"
    if says_zip and kind != "zip" and zip_directory.ends_with_zip(octets):
        kind = "zip"  # behind something else: unpackers look at the end
    contents = AttachmentContents(kind=kind)
    if kind in _OPENED:
        contents.kind = _AttachmentWalk(contents, findings).open(octets, kind, name, 1)
    if file_types.contradiction(contents.kind, extension, content_type):
        findings.add("attachment-type-wrong", f"{name or content_type} is {contents.kind}")
    return contents


class _AttachmentWalk:
    """One attachment, opened as far as limits allow."""

    def __init__(self, contents: AttachmentContents, findings: Findings) -> None:
        self._found = contents
        self._findings = findings

    def open(self, octets: bytes, kind: str, name: str, depth: int) -> str:
        """Look into a file; return its kind, which what it holds may have made more exact.

        Args:
            octets: all of it, or as much as there is.
            kind: one of `_OPENED`.
            name: of the file.
            depth: of what it holds; 1 for what an attachment holds.

        """
        cost = min(len(octets), MAX_DOCUMENT)
        if kind in _PAGES:
            cost = PAGE_COST * min(len(octets), web_page.MAX_SEARCHED)
        if kind not in file_types.ARCHIVES and not self._findings.afford(
            "documents", cost, MAX_DOCUMENTS
        ):
            self._findings.add("documents-too-large", name)
            return kind
        match kind:
            case "ole":
                return self._document(office.compound(octets, name, self._findings), depth)
            case "rtf":
                office.rtf(octets, name, self._findings)
            case "one":
                inside, heads = office.one_note(octets)
                self._embedded(inside.embedded, heads, depth)
            case "pdf":
                pdf.look(octets, name, self._findings)
            case "html" | "svg":
                web_page.look(octets, name, self._findings)
            case _:
                return self._archive(octets, kind, name, depth)
        return kind

    def _document(self, inside: office.DocumentContents, depth: int) -> str:
        self._found.macros |= inside.macros
        self._found.encrypted |= inside.encrypted
        self._embedded(inside.embedded, [b""] * len(inside.embedded), depth)
        return inside.kind

    def _embedded(self, entries: list[ArchiveEntry], heads: list[bytes], depth: int) -> None:
        for entry, head in zip(entries, heads, strict=True):
            if self._findings.afford("members", 1, MAX_MEMBERS):
                self._found.members.append(_member(entry, file_types.kind(head), depth))

    def _archive(self, octets: bytes, kind: str, name: str, depth: int) -> str:
        listing = archives.listing(octets, kind, name, self._findings)
        if kind == "zip":
            kind = office.package_kind(listing.entries)
            if kind != "zip":
                inside = office.package(
                    kind,
                    listing.entries,
                    lambda entry, limit: self._take(octets, entry, limit),
                    name,
                    self._findings,
                )
                return self._document(inside, depth)
        if listing.locked or any(entry.encrypted for entry in listing.entries):
            self._found.encrypted = True
            self._findings.add("archive-encrypted", name)
        self._weigh(octets, listing.entries, name)
        for entry in listing.entries:
            if not self._findings.afford("members", 1, MAX_MEMBERS):
                self._findings.add("archive-too-large", f"over {MAX_MEMBERS} files")
                break
            self._entry(octets, entry, depth)
        return kind

    def _weigh(self, octets: bytes, entries: list[ArchiveEntry], name: str) -> None:
        """Say so when an archive states that it unpacks to far more than it is."""
        stated = sum(entry.size for entry in entries if entry.size > 0)
        if stated >= BOMB and stated > RATIO * len(octets):
            self._findings.add("archive-bomb", f"{name}: {stated} octets in {len(octets)}")

    def _entry(self, octets: bytes, entry: ArchiveEntry, depth: int) -> None:
        """Note one file of an archive, and look into it where that is worth it."""
        extension = file_names.extension(entry.name)
        # a stream's size is known when it is unpacked
        whole = entry.size < 0 or entry.method in _STREAMS or extension in _IMAGES
        inside = self._take(octets, entry, MAX_MEMBER if whole else file_types.HEAD)
        kind = file_types.kind(inside)
        place = len(self._found.members)  # before those that it holds
        if kind in _OPENED and not entry.encrypted:
            if depth >= MAX_DEPTH and kind in file_types.ARCHIVES:
                self._findings.add("archive-too-deep", entry.name)
            else:
                if not whole:
                    inside = self._take(octets, entry, MAX_MEMBER)
                if len(inside) >= MAX_MEMBER and kind in _NEED_THEIR_END:
                    self._findings.add("archive-too-large", entry.name)
                elif inside:  # nothing: beyond the limit, as `_take` has said
                    kind = self.open(inside, kind, file_names.plain(entry.name), depth + 1)
        if entry.method in _STREAMS:
            entry = self._measured(octets, entry, inside)
        elif (
            entry.crc < 0
            and entry.method is StorageMethod.STORED
            and self._findings.afford("summed", entry.packed, MAX_SUMMED)
        ):
            entry = msgspec.structs.replace(
                entry, crc=zlib.crc32(memoryview(octets)[entry.start : entry.start + entry.packed])
            )
        self._found.members.insert(place, _member(entry, kind, depth))

    def _measured(self, octets: bytes, entry: ArchiveEntry, inside: bytes) -> ArchiveEntry:
        """Return a stream's entry with what its file was found to be, where all of it was
        unpacked.
        """
        if not inside:
            return entry
        if len(inside) < MAX_MEMBER:
            return msgspec.structs.replace(entry, size=len(inside), crc=zlib.crc32(inside))
        self._findings.add("archive-too-large", entry.name)
        few = msgspec.structs.replace(entry, packed=min(entry.packed, MAX_MEMBER // RATIO))
        if entry.packed > BOMB // RATIO and len(take(octets, few, MAX_MEMBER)) == MAX_MEMBER:
            self._findings.add("archive-bomb", entry.name)
        return entry

    def _take(self, octets: bytes, entry: ArchiveEntry, limit: int) -> bytes:
        """Return the first octets of a file, as many as the message may still unpack."""
        left = self._findings.left("unpacked", MAX_UNPACKED)
        least = BZIP2_BLOCK if entry.method is StorageMethod.BZIP2 else 0
        if min(limit, max(entry.size, 1)) > left or least > left:
            self._findings.add("archive-too-large", entry.name)
            return b""
        inside = take(octets, entry, min(limit, left))
        self._findings.afford("unpacked", max(len(inside), least), MAX_UNPACKED)
        return inside


def _member(entry: ArchiveEntry, kind: str, depth: int) -> ArchiveMember:
    name = file_names.plain(entry.name)
    return ArchiveMember(
        name=name,
        extension=file_names.extension(name),
        kind=kind,
        size=entry.size,
        crc=entry.crc,
        encrypted=entry.encrypted,
        depth=depth,
    )


_STREAMS: Final = frozenset({StorageMethod.GZIP, StorageMethod.BZIP2, StorageMethod.XZ})
