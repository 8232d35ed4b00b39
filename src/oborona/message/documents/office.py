"""Documents of office programs: compound files (MS-CFB), packages of XML in zip (ECMA-376,
OpenDocument), RTF and OneNote.

Each is told from its neighbours by what it holds; what acts by itself is a finding, what it carries
inside is a member like those of archives.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from oborona.message.archives.entry import ArchiveEntry
from oborona.message.documents import macros
from oborona.message.documents.compound_file import CompoundFile
from oborona.message.findings import Findings

MAX_PROJECT: Final = 1 << 20  # octets of a vbaProject.bin that are unpacked
MAX_RELATIONS: Final = 64 << 10  # octets of one list of relationships
MAX_RELATION_FILES: Final = 12
MAX_EMBEDDED: Final = 10  # files inside a document that are looked at
MAX_RTF: Final = 1 << 20  # octets searched
MAX_WORKBOOK: Final = 64 << 10  # octets of a workbook's stream: its globals stand first

_COMPOUND: Final = (
    ("EncryptedPackage", "encrypted-office"),
    ("WordDocument", "doc"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("PowerPoint Document", "ppt"),
    ("__properties_version1.0", "msg"),
)
_MAIN: Final = frozenset({"WordDocument", "Workbook", "Book"})
_PACKAGES: Final = (("word/", "docx"), ("xl/", "xlsx"), ("ppt/", "pptx"), ("visio/", "package"))
_RELATION: Final = re.compile(rb"<(?:\w{1,10}:)?Relationship\s([^<>]{1,3000})>")
_FETCHED: Final = re.compile(
    rb'Type\s*=\s*["\'][^"\']{1,200}/(?:attachedTemplate|oleObject|frame|subDocument)["\']'
)
_TARGET: Final = re.compile(rb'Target\s*=\s*["\']((?:https?|ftp|mhtml):[^"\']{1,500})')
_RTF_OBJECT: Final = re.compile(rb"\\obj(?:data|update|autlink|emb|link|ocx|html)\b", re.IGNORECASE)
# MS-ONESTORE 2.6.13
_ONE_FILE: Final = b"\xe7\x16\xe3\xbd\x65\x26\x11\x45\xa4\xc4\x8d\x4d\x0b\x7a\x9e\xac"
_ONE_BEFORE: Final = 36  # octets from that mark to the file


class DocumentContents(msgspec.Struct):
    """What was found in a document."""

    kind: str
    macros: bool = False
    encrypted: bool = False
    embedded: list[ArchiveEntry] = []  # by name and size; their octets are not taken out


def compound(octets: bytes, name: str, findings: Findings) -> DocumentContents:
    """Return what a compound file is and holds; never raises.

    Args:
        octets: of the file.
        name: for evidence.
        findings: gets document-macros, document-macros-run, document-encrypted.

    """
    file = CompoundFile(octets)
    names = frozenset(file.names)
    contents = DocumentContents(
        kind=next((kind for mark, kind in _COMPOUND if mark in names), "ole")
    )
    if contents.kind == "ole" and any("\u3800" <= name[:1] < "\u4840" for name in names):
        contents.kind = "msi"  # names of its tables are packed into this range
    contents.encrypted = contents.kind == "encrypted-office"
    main = next((stream for stream in file.streams if stream.name in _MAIN), None)
    if main is not None and main.name == "WordDocument":  # MS-DOC 2.5.1: fEncrypted
        contents.encrypted = bool(int.from_bytes(file.read(main, 12)[10:12], "little") & 0x0100)
    elif main is not None:
        contents.macros, contents.encrypted = macros.sheets(file.read(main, MAX_WORKBOOK))
    packed = [stream for stream in file.streams if stream.name == "\x01Ole10Native"]
    for stream in packed[:MAX_EMBEDDED]:
        contents.embedded.append(
            ArchiveEntry(name=_native_name(file.read(stream, 1024)), size=stream.size)
        )
    if contents.encrypted:
        findings.add("document-encrypted", name)
    if contents.macros or macros.has_macros(file):
        contents.macros = True
        _macros(file, name, findings)
    return contents


def package_kind(entries: list[ArchiveEntry]) -> str:
    """Return what a zip archive is by the names in it; "zip" when it is just that."""
    names = [entry.name for entry in entries[:200]]
    if "[Content_Types].xml" in names:
        return next(
            (kind for start, kind in _PACKAGES if any(name.startswith(start) for name in names)),
            "package",
        )
    if names[:1] == ["mimetype"]:  # OpenDocument 1.3 part 2 s3.3; EPUB OCF s4.3
        return "epub" if "META-INF/container.xml" in names else "opendocument"
    if "AndroidManifest.xml" in names:
        return "apk"
    return "jar" if "META-INF/MANIFEST.MF" in names[:2] else "zip"


def package(
    kind: str,
    entries: list[ArchiveEntry],
    take: Callable[[ArchiveEntry, int], bytes],
    name: str,
    findings: Findings,
) -> DocumentContents:
    """Return what a package of XML holds beside its text; never raises.

    Args:
        kind: by `package_kind`.
        entries: of the zip archive.
        take: gives the first so many octets of one.
        name: for evidence.
        findings: gets document-macros, document-macros-run, document-remote.

    """
    contents = DocumentContents(kind=kind)
    relations = 0
    for entry in entries:
        inside = entry.name.lower()
        if inside.endswith("vbaproject.bin"):
            contents.macros = True
            _macros(CompoundFile(take(entry, MAX_PROJECT)), name, findings)
        elif inside.startswith(("xl/macrosheets/", "basic/")) and inside.endswith((".xml", ".bin")):
            # lists that say there is none
            if not inside.endswith(("script-lc.xml", "script-lb.xml")):
                contents.macros = True
                findings.add("document-macros", name)
        elif inside.endswith(".rels") and relations < MAX_RELATION_FILES:
            relations += 1
            _relations(take(entry, MAX_RELATIONS), findings)
        elif "/embeddings/oleobject" in inside and len(contents.embedded) < MAX_EMBEDDED:
            contents.embedded += compound(take(entry, MAX_PROJECT), name, findings).embedded
    return contents


def _relations(octets: bytes, findings: Findings) -> None:
    for relation in _RELATION.finditer(octets):
        if (
            b"External" in relation[1]
            and _FETCHED.search(relation[1])
            and (target := _TARGET.search(relation[1]))
        ):
            findings.add("document-remote", target[1])


def _macros(file: CompoundFile, name: str, findings: Findings) -> None:
    findings.add("document-macros", name)
    if running := macros.autorun_calls(file, findings):
        findings.add("document-macros-run", running)


def _native_name(octets: bytes) -> str:
    """Return the name of a file that is packed as an object: after a size and a flag, ended by
    NUL.
    """
    return octets[6:].partition(b"\0")[0].decode("latin-1")


def rtf(octets: bytes, name: str, findings: Findings) -> DocumentContents:
    """Look for objects in RTF (RTF 1.9.1, "Objects")."""
    if _RTF_OBJECT.search(octets, 0, MAX_RTF):
        findings.add("document-object", name)
    return DocumentContents(kind="rtf")


def one_note(octets: bytes) -> tuple[DocumentContents, list[bytes]]:
    """Return the files inside a OneNote section, without names, and the first octets of each."""
    contents = DocumentContents(kind="one")
    heads: list[bytes] = []
    at = octets.find(_ONE_FILE)
    while at >= 0 and len(heads) < MAX_EMBEDDED:
        start = at + _ONE_BEFORE
        contents.embedded.append(
            ArchiveEntry(name="", size=int.from_bytes(octets[at + 16 : at + 24], "little"))
        )
        heads.append(octets[start : start + 1024])
        at = octets.find(_ONE_FILE, start)
    return contents, heads
