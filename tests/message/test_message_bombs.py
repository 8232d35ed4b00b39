"""Archives and documents built to exhaust: each costs under 0.25 s of CPU and 100 MB, and says what
it is.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from struct import pack

import pytest

from oborona.message import contents
from oborona.message.findings import Findings
from tests.message.office_files import compound_file
from tests.message.packing import zipped

CPU = 0.25  # seconds
MEMORY = 100 << 20  # octets


def deflated_zeros(gigabytes: int) -> bytes:
    """Return raw deflate of so many GB of zeros, in a time that a test can wait for."""
    step = 1 << 26
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(step)) + packer.flush(
        zlib.Z_FULL_FLUSH
    )  # stands for itself after a full flush
    return piece * (gigabytes * (1 << 30) // step) + packer.flush()


def raw_zip(entries: list[tuple[bytes, int, int, int]], data: bytes, count: int = -1) -> bytes:
    """Return a zip whose directory says (name, packed, size, offset) whatever the data are."""
    directory = b"".join(
        pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 8, 0, 0, 0, packed, size, len(name), 0, 0, 0, 0, 0, offset) + name
        for name, packed, size, offset in entries
    )  # fmt: skip
    count = len(entries) if count < 0 else count
    return (
        data
        + directory
        + pack(
            "<4s4H2LH",
            b"PK\x05\x06",
            0,
            0,
            count & 0xFFFF,
            count & 0xFFFF,
            len(directory),
            len(data),
            0,
        )
    )


def local(name: bytes, packed: int, size: int) -> bytes:
    return pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 0, 0, packed, size, len(name), 0) + name


def zeros_in_gzip() -> bytes:
    return (
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
        + deflated_zeros(10)
        + bytes(4)
        + (10 << 30 & 0xFFFFFFFF).to_bytes(4, "little")
    )


def zeros_in_zip() -> bytes:
    data = deflated_zeros(3)
    return raw_zip([(b"z", len(data), 3 << 30, 0)], local(b"z", len(data), 3 << 30) + data)


def nested() -> bytes:
    """42.zip's way: sixteen archives in each of sixteen, six deep."""
    octets = zipped({"0.dll": bytes(1 << 20)})
    for _ in range(5):
        octets = zipped({f"lib {number:x}.zip": octets for number in range(16)})
    return octets


def overlapping() -> bytes:
    """D. Fifield's way: all entries lie on one kernel."""
    kernel = zlib.compress(bytes(1 << 24))[2:-4]
    data = local(b"k", len(kernel), 1 << 24) + kernel
    return raw_zip([(b"k", len(kernel), 1 << 24, 0)] * 60_000, data)


def a_million_entries() -> bytes:
    # what 32 MB hold
    return raw_zip([(b"%07d" % number, 0, 0, 0) for number in range(600_000)], b"")


def quine() -> bytes:
    """A disk image that holds itself, many times: each file begins where the image does."""
    files = b"".join(
        iso_record(b"SELF%02d.ISO" % number, 0, 20 * 2048) for number in range(30)
    ).ljust(2048, b"\0")
    return iso(files)


def many_in_many() -> bytes:
    inner = zipped({f"{number}.txt": b"x" for number in range(400)})
    return zipped({f"{number}.zip": inner for number in range(400)})


def bzip2_blocks() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as archive:
        for number in range(400):
            archive.writestr(f"{number}", bytes(900_000))
    return out.getvalue()


def xz_windows() -> bytes:
    packed = lzma.compress(b"x" * 100, preset=9 | lzma.PRESET_EXTREME)  # asks for 64 MB
    return zipped({f"{number}.xz": packed for number in range(400)})


def tar_headers() -> bytes:
    header = tarfile.TarInfo("x")
    return header.tobuf() * 60_000


def iso_record(name: bytes, sector: int, size: int, flags: int = 0) -> bytes:
    made = bytes((0, 0)) + pack("<L", sector) + bytes(4) + pack("<L", size) + bytes(11)
    made += bytes((flags, 0, 0)) + bytes(4) + bytes((len(name),)) + name
    return bytes((len(made),)) + made[1:]


def iso(folders: bytes) -> bytes:
    primary = (b"\1CD001\1" + bytes(149) + iso_record(b"\0", 18, len(folders), 2)).ljust(
        2048, b"\0"
    )
    return bytes(16 * 2048) + primary + b"\xffCD001\1".ljust(2048, b"\0") + folders


def ring_of_folders() -> bytes:
    """A disk image whose folders all hold one another."""
    folder = b"".join(
        iso_record(b"%04d" % number, 18 + number, 2048 * 100, 2) for number in range(50)
    )
    return iso(folder.ljust(2048, b"\0") * 5000)


def seven_zip_counts() -> bytes:
    header = b"\x01\x04\x06\x00" + b"\xc0\x0f\x27" + b"\x0a\x01" * 300_000
    return b"7z\xbc\xaf\x27\x1c\0\4" + bytes(4) + pack("<QQL", 0, len(header), 0) + header


def seven_zip_bits() -> bytes:
    bits = bytes(1250)
    header = b"\x01\x05\xa7\x10" + (b"\x0e\x84\xe2" + bits) * 800
    return b"7z\xbc\xaf\x27\x1c\0\4" + bytes(4) + pack("<QQL", 0, len(header), 0) + header


def rar_blocks() -> bytes:
    return b"Rar!\x1a\x07\x00" + pack("<HBHH", 0, 0x7A, 0, 7) * 1_000_000


def rings_of_sectors() -> bytes:
    octets = bytearray(
        compound_file({f"VBA{number}": bytes(4096) for number in range(10)}, ("_VBA_PROJECT",))
    )
    octets[512 : 512 + 512] = pack("<128L", *range(1, 128), 1)  # every chain is endless
    return bytes(octets) + bytes(4 << 20)


def pdf_streams() -> bytes:
    return b"%PDF-1.5\n" + (b"/ObjStm stream\n" + zlib.compress(b"/#4a" * 60_000)) * 2000


def pages() -> bytes:
    return b"<html>" + b"<input<meta http-equiv=refresh window " * 100_000


def rtf_objects() -> bytes:
    return b"{\\rt" + b"\\obj\\object" * 1_000_000


def relations() -> bytes:
    return zipped(
        {
            "[Content_Types].xml": b"x",
            **{f"word/{number}.rels": b"<Relationship " * 5000 for number in range(300)},
        }
    )


def vba_copies() -> bytes:
    token = b"\xff" + b"\xff\x0f" * 8
    source = b"\1" + (pack("<H", 0xBFFF) + b"\0Attribut" + token * 240) * 500
    return compound_file(
        {"_VBA_PROJECT": b"", **{f"m{number}": b"xyz" + source[:5000] for number in range(8)}}
    )


BOMBS: list[tuple[Callable[[], bytes], set[str]]] = [
    (zeros_in_gzip, {"archive-bomb"}),
    (zeros_in_zip, {"archive-bomb"}),
    (nested, {"archive-too-deep"}),
    (overlapping, {"archive-bomb", "archive-too-large"}),
    (a_million_entries, {"archive-too-large", "archive-broken"}),
    (quine, {"archive-too-deep"}),
    (many_in_many, {"archive-too-large"}),
    (bzip2_blocks, {"archive-too-large"}),
    (xz_windows, set()),
    (tar_headers, {"archive-too-large"}),
    (ring_of_folders, {"archive-too-large"}),
    (seven_zip_counts, {"archive-broken"}),
    (seven_zip_bits, {"archive-broken"}),
    (rar_blocks, {"archive-too-large"}),
    (rings_of_sectors, {"document-macros"}),
    (pdf_streams, set()),
    (pages, set()),
    (rtf_objects, set()),
    (relations, set()),
    (vba_copies, {"document-macros"}),
    (lambda: lzma.compress(bytes(1 << 28), preset=1), set()),
    (lambda: bz2.compress(bytes(1 << 28)), set()),
    (lambda: gzip.compress(bytes(1 << 20)), set()),
]


@pytest.mark.parametrize(
    ("make", "wanted"), BOMBS, ids=lambda given: getattr(given, "__name__", "")
)
def test_a_bomb_costs_milliseconds(make: Callable[[], bytes], wanted: set[str]) -> None:
    octets = make()
    findings = Findings()
    begun = time.process_time()
    contents.look(octets, "x.zip", "zip", "application/zip", findings)
    spent = time.process_time() - begun
    tracemalloc.start()
    try:
        found = contents.look(octets, "x.zip", "zip", "application/zip", Findings())
        memory = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert spent < CPU
    assert memory < MEMORY
    assert len(found.members) <= contents.MAX_MEMBERS
    assert wanted <= {each.name for each in findings.all()}


SLOW_DOCUMENTS = {
    "names in a PDF": b"%PDF-#" + b"/aaaaaaaaaaaa" * 320_000,
    "nearly scripts in a PDF": b"%PDF-" + b"/JSx" * 1_000_000,
    "escapes in a PDF": b"%PDF-" + b"/a#4a" * 800_000,
    "tags of a page": b"<html>refresh " + b"<meta http-equiv=refresh http-equiv=refresh" * 12_000,
    "places of a page": b"<html>location " + b"self   .   " * 45_000,
    "objects in RTF": b"{\\rt" + b"\\obj" * 1_000_000,
}


@pytest.mark.parametrize("octets", SLOW_DOCUMENTS.values(), ids=SLOW_DOCUMENTS)
def test_many_slow_documents_in_one_message(octets: bytes) -> None:
    """As many as a message of 24 MB holds: what is beyond the limit of the message is not
    searched.
    """
    findings = Findings()
    begun = time.process_time()
    for _ in range(24_000_000 // len(octets)):
        contents.look(octets, "a.bin", "bin", "application/octet-stream", findings)
    assert time.process_time() - begun < CPU
    assert "documents-too-large" in {each.name for each in findings.all()}
