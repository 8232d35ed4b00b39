"""What a file is by its content, and when its name or declared type lies."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message import file_types


@pytest.mark.parametrize(
    ("octets", "kind"),
    [
        (b"MZ\x90\0\3\0\0\0", "exe"),
        (b"MZ is how this text begins, and it goes on for more than sixty-four characters", ""),
        (b"\x7fELF\2\1\1", "elf"),
        (b"\xcf\xfa\xed\xfe\7\0\0\1", "macho"),
        (b"\xca\xfe\xba\xbe\0\0\0\2", "macho"),
        (b"\xca\xfe\xba\xbe\0\0\0\x34", "class"),
        (b"L\0\0\0\x01\x14\x02\0\0\0\0\0\xc0", "lnk"),
        (b"PK\x03\x04\x14\0", "zip"),
        (b"PK\x05\x06" + bytes(18), "zip"),
        (b"Rar!\x1a\x07\x01\x00", "rar"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "7z"),
        (b"\x1f\x8b\x08\0", "gz"),
        (b"BZh91AY", "bz2"),
        (b"\xfd7zXZ\0", "xz"),
        (bytes(257) + b"ustar\x0000", "tar"),
        (bytes(0x8000) + b"\1CD001", "iso"),
        (b"%PDF-1.7\n", "pdf"),
        (b"\r\n junk before \n%PDF-1.4", "pdf"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
        (b"{\\rtf1\\ansi", "rtf"),
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"\xff\xd8\xff\xe1", "jpeg"),
        (b"\0\0\0\x18ftypheic", "heic"),
        (b"\0\0\0\x18ftypisom", "mp4"),
        (b"RIFF\0\0\0\0WAVE", "wav"),
        (b"<!DOCTYPE html><p>", "html"),
        (b"\xef\xbb\xbf  <!-- saved --> <HTML>", "html"),
        ("\ufeff<html>".encode("utf-16-le"), "html"),
        (b"<script>", "html"),
        (b'<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "x"><svg xmlns="x">', "svg"),
        (b"<particle physics>", ""),
        (b"BEGIN:VCALENDAR\r\n", "ics"),
        (b"\x78\x9f\x3e\x22\1\0", "tnef"),
        (b"#!/bin/sh", "script"),
        (b"plain text", ""),
        (b"", ""),
    ],
)  # fmt: skip
def test_kinds(octets: bytes, kind: str) -> None:
    assert file_types.kind(octets) == kind


@pytest.mark.parametrize(
    ("found", "extension", "content_type", "wrong"),
    [
        ("exe", "pdf", "application/octet-stream", True),
        ("html", "jpg", "image/jpeg", True),
        ("html", "pdf", "application/pdf", True),
        ("html", "", "application/pdf", True),
        ("zip", "pdf", "application/octet-stream", True),
        ("rtf", "zip", "application/zip", True),
        ("exe", "zip", "application/zip", True),
        ("rar", "doc", "application/msword", True),
        ("exe", "mp3", "audio/mpeg", True),
        ("pdf", "", "image/png", True),
        # near misses: what honest programs do
        ("html", "xls", "application/vnd.ms-excel", False),
        ("rtf", "doc", "application/msword", False),
        ("docx", "doc", "application/msword", False),
        ("png", "jpg", "image/jpeg", False),
        ("heic", "jpg", "image/jpeg", False),
        ("rar", "zip", "application/zip", False),
        ("svg", "svg", "image/svg+xml", False),
        ("pdf", "pdf", "application/octet-stream", False),
        ("", "pdf", "application/pdf", False),
        ("html", "txt", "text/plain", False),
        ("exe", "exe", "application/octet-stream", False),
        ("zip", "xyz", "application/octet-stream", False),
    ],
)
def test_contradictions(found: str, extension: str, content_type: str, wrong: bool) -> None:
    assert file_types.contradiction(found, extension, content_type) is wrong


@given(st.binary(max_size=2000))
def test_any_octets_have_a_kind_or_none(octets: bytes) -> None:
    """Invariant: never raises, and what follows the head does not change the answer but for a disk
    image.
    """
    assert file_types.kind(octets) == file_types.kind(
        octets + b"tail" if len(octets) >= file_types.HEAD else octets
    )


@pytest.mark.parametrize("piece", [b"<!---->", b"<!doctype x>", b"<?xml?>", b"<!--", b" ", b"/"])
def test_markup_that_never_begins_costs_nothing(piece: bytes) -> None:
    octets = piece * (2000 // len(piece))

    def cost_s() -> float:
        begun = time.process_time()
        file_types.kind(octets)
        return time.process_time() - begun

    assert min(cost_s() for _ in range(3)) < 0.01  # once may be the collector's turn
