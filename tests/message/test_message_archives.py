"""What archives hold, by their listings.

Archives that other programs made, and archives in archives.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from pathlib import Path
from struct import pack

import pytest

from oborona.message.contents import AttachmentContents
from tests.message.packing import image, look, tarred, zipped

FILES = Path(__file__).parent / "files"
PROGRAM = b"MZ\x90\0" + bytes(200)
LETTER = b"a letter to read " * 20


def rows(found: AttachmentContents) -> list[tuple[str, str, int, int]]:
    return [(member.name, member.kind, member.size, member.crc) for member in found.members]


WANTED = [
    ("setup.exe", "exe", len(PROGRAM), zlib.crc32(PROGRAM)),
    ("Письмо.txt", "", len(LETTER), zlib.crc32(LETTER)),
]
TWO = {"in/a folder/setup.exe": PROGRAM, "Письмо.txt": LETTER}


@pytest.mark.parametrize(
    ("octets", "kind"),
    [
        (zipped(TWO), "zip"),
        (zipped(TWO, zipfile.ZIP_STORED), "zip"),
        (zipped(TWO, zipfile.ZIP_BZIP2), "zip"),
        (tarred(TWO), "tar"),
        (tarred(TWO, tarfile.GNU_FORMAT), "tar"),
        (tarred(TWO, tarfile.USTAR_FORMAT), "tar"),
    ],
)
def test_files_by_name_kind_size_and_checksum(octets: bytes, kind: str) -> None:
    found, findings = look(octets)
    assert found.kind == kind
    assert rows(found) == WANTED
    assert findings == {}


def test_a_disk_image() -> None:
    found, findings = look(image({"SETUP.EXE;1": PROGRAM, "README.;1": LETTER}))
    assert found.kind == "iso"
    assert rows(found) == [
        ("SETUP.EXE", "exe", len(PROGRAM), zlib.crc32(PROGRAM)),
        ("README", "", len(LETTER), zlib.crc32(LETTER)),
    ]
    assert findings == {}


@pytest.mark.parametrize(
    ("octets", "kind"),
    [
        (gzip.compress(PROGRAM, mtime=0), "gz"),
        (bz2.compress(PROGRAM), "bz2"),
        (lzma.compress(PROGRAM), "xz"),
    ],
)
def test_streams(octets: bytes, kind: str) -> None:
    found, _ = look(octets, f"setup.exe.{kind}")
    assert (found.kind, rows(found)) == (
        kind,
        [("setup.exe", "exe", len(PROGRAM), zlib.crc32(PROGRAM))],
    )


def test_the_name_in_a_gzip_header_counts_before_the_files() -> None:
    out = io.BytesIO()
    with gzip.GzipFile("invoice.scr", "wb", fileobj=out, mtime=0) as stream:
        stream.write(PROGRAM)
    assert rows(look(out.getvalue(), "x.gz")[0])[0][:2] == ("invoice.scr", "exe")


def test_a_file_is_the_same_in_every_archive() -> None:
    """What type 46 counts: a checksum that does not depend on the archive, nor on whether it could
    be unpacked.
    """
    pairs = {
        (member.size, member.crc)
        for octets in (zipped(TWO), tarred(TWO), gzip.compress(PROGRAM), image({"A.EXE": PROGRAM}))
        for member in look(octets)[0].members
        if member.kind == "exe"
    }
    assert pairs == {(len(PROGRAM), zlib.crc32(PROGRAM))}
    plain, locked = (
        {(m.size, m.crc) for m in look((FILES / name).read_bytes())[0].members if m.size}
        for name in ("plain.7z", "data.7z")
    )
    assert locked < plain  # two of its three files, with a password


@pytest.mark.parametrize(
    ("name", "wanted", "encrypted"),
    [
        ("plain.7z", [("empty.txt", 0), ("список.txt", 97), ("invoice.pdf.exe", 111), ("readme.txt", 224)], False),
        ("data.7z", [("invoice.pdf.exe", 111), ("readme.txt", 224)], True),
        ("names.7z", [], True),
        ("copy.7z", [("invoice.pdf.exe", 111), ("readme.txt", 224)], False),
        ("rar3-subdirs.rar", [("file2.txt", 6), ("long fn.txt", 8), ("file.txt", 5), ("file1.txt", 6)], False),
        ("rar202-comment-psw.rar", [("FILE1.TXT", 7), ("FILE2.TXT", 7)], True),
        ("rar3-comment-hpsw.rar", [], True),
        ("unicode.rar", [("уииоотивл.txt", 2), ("\U0001d400\U0001d401\U0001d401\U0001d402.txt", 2)], False),
        ("rar5-subdirs.rar", [("file2.txt", 6), ("long fn.txt", 8), ("file.txt", 5), ("file1.txt", 6)], False),
        ("rar5-psw.rar", [("stest1.txt", 2048), ("stest2.txt", 2048)], True),
        ("rar5-hpsw.rar", [], True),
    ],
)  # fmt: skip
def test_archives_of_other_programs(
    name: str, wanted: list[tuple[str, int]], encrypted: bool
) -> None:
    found, findings = look((FILES / name).read_bytes(), name)
    assert found.kind == name.rpartition(".")[2]
    assert [(member.name, member.size) for member in found.members] == wanted
    assert (found.encrypted, "archive-encrypted" in findings) == (encrypted, encrypted)
    assert not findings.keys() - {"archive-encrypted"}


def test_what_is_stored_in_7z_is_told_by_content() -> None:
    found, _ = look((FILES / "copy.7z").read_bytes())
    assert [member.kind for member in found.members] == ["exe", ""]


def test_an_encrypted_zip() -> None:
    octets = bytearray(zipped({"invoice.pdf": PROGRAM}, zipfile.ZIP_STORED))
    octets[6] |= 1  # the flag before the file
    octets[octets.find(b"PK\x01\x02") + 8] |= 1  # and in the directory
    found, findings = look(bytes(octets), "a.zip")
    assert found.encrypted
    assert findings == {"archive-encrypted": "a.zip"}
    assert rows(found) == [("invoice.pdf", "", len(PROGRAM), zlib.crc32(PROGRAM))]


def test_archives_in_archives() -> None:
    inner = zipped({"run.exe": PROGRAM})
    packed = gzip.compress(tarred({"deep.zip": inner, "note.txt": LETTER}))
    found, findings = look(packed, "all.tgz")
    assert [(member.name, member.depth) for member in found.members] == [
        ("all.tar", 1), ("deep.zip", 2), ("run.exe", 3), ("note.txt", 2)
    ]  # fmt: skip
    assert findings == {}
    found, findings = look(zipped({"more.tgz": packed}))
    assert findings == {"archive-too-deep": "deep.zip"}
    assert "run.exe" not in [member.name for member in found.members]


def test_a_zip_whose_headers_disagree() -> None:
    octets = zipped({"invoice.exe": PROGRAM, "b.txt": LETTER})
    # the first is before the file
    _, findings = look(octets.replace(b"invoice.exe", b"invoice.txt", 1))
    assert findings == {"archive-contradicts": "invoice.txt is invoice.exe"}


def test_a_zip_behind_something_else() -> None:
    octets = b"\xff\xd8\xff\xe0" + bytes(500) + zipped(TWO)
    found, findings = look(octets, "a.zip")
    assert (found.kind, rows(found)) == ("zip", WANTED)
    assert findings == {"archive-contradicts": "504 octets before a zip"}
    assert look(octets, "a.jpg")[0].kind == "jpeg"


def test_zip64() -> None:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w") as archive,
        archive.open("setup.exe", "w", force_zip64=True) as file,
    ):
        file.write(PROGRAM)
    octets = bytearray(out.getvalue())
    directory = octets.find(b"PK\x01\x02")
    end = octets.find(b"PK\x05\x06")
    # what zipfile writes only from 4 GB on: the directory's sizes in a field of their own, and a
    # large end record
    central = bytes(octets[directory:end])
    extra = pack("<HHQQQ", 1, 24, len(PROGRAM), len(PROGRAM), 0)
    name = b"setup.exe"
    central = (
        central[:20]
        + b"\xff" * 8
        + pack("<HH", len(name), len(extra))
        + central[32:42]
        + b"\xff" * 4
        + name
        + extra
    )
    large = pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, len(central), directory)
    locator = pack("<4sLQL", b"PK\x06\x07", 0, directory + len(central), 1)
    final = pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    found, findings = look(bytes(octets[:directory]) + central + large + locator + final)
    assert rows(found) == [("setup.exe", "exe", len(PROGRAM), zlib.crc32(PROGRAM))]
    assert findings == {}


def test_a_zip_cut_before_its_directory_is_read_by_its_headers() -> None:
    octets = zipped(TWO, zipfile.ZIP_STORED)
    found, findings = look(octets[: octets.find(b"PK\x01\x02")])
    assert rows(found) == WANTED
    assert findings.keys() == {"archive-broken"}


@pytest.mark.parametrize("name", ["plain.7z", "rar5-subdirs.rar", "rar3-subdirs.rar"])
def test_an_archive_cut_short_is_listed_as_far_as_it_goes(name: str) -> None:
    octets = (FILES / name).read_bytes()
    for length in range(0, len(octets), 7):
        found, findings = look(octets[:length], name)
        assert len(found.members) <= 4
        assert not findings.keys() - {"archive-broken"}


def test_folders_are_no_files() -> None:
    assert [m.name for m in look(zipped({"dir/": b"", "dir/a.txt": LETTER}))[0].members] == [
        "a.txt"
    ]
