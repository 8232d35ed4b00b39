"""What must hold of the parsers of attachments, whatever octets they get."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import msgspec

from oborona.daemon.reader.wire import PictureContent
from oborona.message import archives, contents, file_types, signed_data, tnef
from oborona.message.archives.entry import MAX_ENTRIES, take
from oborona.message.documents import macros, office, pdf, pdf_text, web_page
from oborona.message.documents.compound_file import CompoundFile
from oborona.message.findings import NAMES, Findings
from oborona.message.pictures.inspection import look
from tests.fuzz.common import known, text_of

logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of all that is broken


def attached(octets: bytes, name: str = "a.zip") -> contents.AttachmentContents:
    """What is in an attachment stays within limits, is the same each time, and has names that UTF-8
    can hold.
    """
    findings = Findings()
    extension = name.rpartition(".")[2]
    found = contents.look(octets, name, extension, "application/octet-stream", findings)
    assert found == contents.look(octets, name, extension, "application/octet-stream", Findings())
    known(findings)
    assert len(found.members) <= contents.MAX_MEMBERS
    for member in found.members:
        member.name.encode()
        assert len(member.name) <= 255
        assert -1 <= member.crc < 1 << 32
        assert member.size >= -1
        assert 1 <= member.depth <= contents.MAX_DEPTH + 1
    return found


def any_attachment(octets: bytes) -> None:
    """See `attached`; the first line is the file's name."""
    name, _, rest = octets.partition(b"\n")
    attached(rest, text_of(name)[:60])


def archive(kind: str) -> Callable[[bytes], None]:
    def holds(octets: bytes) -> None:
        """A listing has at most MAX_ENTRIES files, and of each no more is taken out than was asked
        for.
        """
        findings = Findings()
        for entry in archives.listing(octets, kind, "a", findings).entries:
            entry.name.encode()
            assert entry.start >= 0 or entry.packed == 0
            assert entry.packed >= 0
            assert len(take(octets, entry, 2000)) <= 2000
        assert len(archives.listing(octets, kind, "a", Findings()).entries) <= MAX_ENTRIES
        known(findings)

    return holds


def disk_image(octets: bytes) -> None:
    """See `_archive`; the sixteen empty sectors before a disk image's first are not worth
    keeping.
    """
    archive("iso")(bytes(16 * 2048) + octets)


def compound_file(octets: bytes) -> None:
    """No stream is longer than it is said to be, and no loop of sectors is followed for ever."""
    findings = Findings()
    found = office.compound(octets, "a", findings)
    assert len(found.embedded) <= office.MAX_EMBEDDED
    file = CompoundFile(octets)
    for stream in file.streams:
        assert len(file.read(stream, 5000)) <= 5000
    known(findings)


def macro_source(octets: bytes) -> None:
    """Source stays within the limit, but for what one token may add."""
    assert len(macros.source(octets, 20_000)) <= 20_000 + 4096
    macros.sheets(octets)


def document(octets: bytes) -> None:
    """RTF, OneNote, PDF and pages are searched, each as itself."""
    findings = Findings()
    office.rtf(octets, "a", findings)
    inside, heads = office.one_note(octets)
    assert len(inside.embedded) == len(heads) <= office.MAX_EMBEDDED
    pdf.look(octets, "a", findings)
    web_page.look(octets, "a", findings)
    known(findings)


def envelope(octets: bytes) -> None:
    """Files of an envelope are no larger than the envelope."""
    findings = Findings()
    text, kind, files = tnef.read(octets, findings)
    assert kind in {"text/plain", "text/html"}
    assert len(text) + sum(len(content) for _, content in files) <= 2 * len(octets) + 16
    for name, _ in files:
        name.encode()
    known(findings)


def kind_of(octets: bytes) -> None:
    """What a file is, is a short word."""
    assert len(file_types.kind(octets)) < 20


def streams(octets: bytes) -> None:
    """See `archive`, of what holds one file."""
    for kind in ("gz", "bz2", "xz"):
        archive(kind)(octets)


def wrapped(octets: bytes) -> None:
    """What a signed object holds is no larger than it, unless it was packed."""
    held = signed_data.read(octets)
    assert len(held.content) <= max(len(octets), signed_data.MAX_CONTENT)


def paper_read(octets: bytes) -> None:
    """Any octets are read as a PDF, and what is found stays within limits and can be sent to
    another process.

    What one page makes of the processor is the reader's to bound, which kills; here each page
    program ends within `_BOUNDS`.
    """
    found = pdf_text.read(octets, time.process_time)
    assert set(found.findings) <= NAMES.keys()
    assert len(set(found.links)) == len(found.links) <= pdf_text.MAX_LINKS
    assert all(0 < len(one) <= pdf_text.MAX_URL for one in found.links)
    assert len(found.text) <= pdf_text.MAX_TEXT
    msgspec.msgpack.encode(
        PictureContent(kind="pdf", codes=found.links, text=found.text, findings=found.findings)
    )


def picture(octets: bytes) -> None:
    """Any octets are looked at, and what is found has known names and numbers of 64 bits."""
    found = look(octets)
    assert set(found.findings) <= NAMES.keys()
    assert all(0 <= value < 1 << 64 for value in found.hashes)
    for code in found.codes:
        code.encode()
