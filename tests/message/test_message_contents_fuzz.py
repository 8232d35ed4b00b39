"""Invariant: whatever octets an attachment has, `look` raises nothing, answers within limits, the
same each time, and names files that UTF-8 can hold.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.message.contents import AttachmentContents
from tests.fuzz.of_attachments import attached
from tests.message.office_files import compound_file, macro_project

FILES = Path(__file__).parent / "files"


def hold(octets: bytes, name: str = "a.zip") -> AttachmentContents:
    begun = time.process_time()
    found = attached(octets, name)
    assert time.process_time() - begun < 0.5  # it is looked into twice
    return found


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b.exe", b"MZ\0" * 50)
        archive.writestr(
            "c.doc",
            compound_file({"WordDocument": b"", **macro_project(b"Sub AutoOpen()\nShell x")}),
        )
        archive.writestr("d.pdf", b"%PDF-1.7 /JavaScript /ObjStm stream\n")
    return out.getvalue()


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("a.txt", "п" * 120):
            info = tarfile.TarInfo(name)
            info.size = 20
            archive.addfile(info, io.BytesIO(b"x" * 20))
    return out.getvalue()


SEEDS = [
    _zip(),
    _tar(),
    gzip.compress(_tar()),
    bz2.compress(_tar()),
    lzma.compress(_zip()),
    compound_file({"WordDocument": b"", **macro_project(b"Sub AutoOpen()\nShell x")}, ("VBA",)),
    *(
        path.read_bytes()
        for path in sorted(FILES.iterdir())
        if path.suffix in {".rar", ".7z", ".bin"}
    ),
]


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.data_too_large])
@given(st.data())
def test_changed_archives_and_documents(data: st.DataObject) -> None:
    octets = bytearray(data.draw(st.sampled_from(SEEDS)))
    places = st.integers(0, len(octets) - 1)
    for at, value in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=12)):
        octets[at] = value
    for at, number in data.draw(
        st.lists(
            st.tuples(places, st.sampled_from([0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000])),
            max_size=3,
        )
    ):
        octets[at : at + 4] = number.to_bytes(4, "little")
    start, end = sorted(data.draw(st.tuples(places, places)))
    match data.draw(st.sampled_from(["keep", "cut", "remove", "repeat"])):
        case "cut":
            del octets[end:]
        case "remove":
            del octets[start:end]
        case "repeat":
            octets[end:end] = octets[start:end]
    hold(bytes(octets), data.draw(st.sampled_from(["a.zip", "a.iso", "x.tgz", "", "a.docx"])))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([b"PK\x05\x06", b"Rar!\x1a\x07\x00", b"Rar!\x1a\x07\x01\x00", b"7z\xbc\xaf\x27\x1c", b"\x1f\x8b\x08", b"BZh9", b"%PDF-", b"{\\rt",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"<html>", bytes(257) + b"ustar\x0000", bytes(0x8000) + b"\1CD001\1"]), st.binary(max_size=3000))  # fmt: skip
def test_any_octets_behind_a_mark(mark: bytes, octets: bytes) -> None:
    hold(mark + octets)


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_every_way_to_cut_an_archive_short(seed: int) -> None:
    octets = SEEDS[seed]
    for length in range(0, len(octets), max(1, len(octets) // 60)):
        hold(octets[:length])


def test_the_standard_library_lists_the_same() -> None:
    with zipfile.ZipFile(io.BytesIO(_zip())) as archive:
        wanted = [
            (info.filename.rpartition("/")[2], info.file_size, info.CRC)
            for info in archive.infolist()
        ]
    assert [(each.name, each.size, each.crc) for each in hold(_zip()).members] == wanted
