"""Outlook's envelope: files and text come out of winmail.dat.

Broken ones are read as far as they go.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.message import tnef
from oborona.message.findings import Findings
from oborona.message.parse import parse

FILES = Path(__file__).parent / "files"


def attribute(level: int, number: int, content: bytes) -> bytes:
    return pack("<BLL", level, number, len(content)) + content + pack("<H", sum(content) & 0xFFFF)


def envelope(*attributes: bytes) -> bytes:
    return b"\x78\x9f\x3e\x22\x01\0" + b"".join(attributes)


def message(octets: bytes, text: bytes = b"") -> bytes:
    return (
        (b"From: a@b.example\nContent-Type: multipart/mixed; "
            b"boundary=x\n\n--x\nContent-Type: text/plain\n\n") + text
        + (b"\n--x\nContent-Type: application/ms-tnef; "
            b"name=winmail.dat\nContent-Transfer-Encoding: base64\n\n")
        + base64.encodebytes(octets) + b"--x--\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("two-files.tnef", [("AUTHORS", 244), ("README", 893)]),
        ("long-filename.tnef", [("allproductsmar2000.dat", 279)]),
        ("unicode-mapi-attr.tnef", [("example.dat", 1024)]),
    ],
)
def test_what_outlook_wrote(name: str, wanted: list[tuple[str, int]]) -> None:
    findings = Findings()
    _, _, files = tnef.read((FILES / name).read_bytes(), findings)
    assert [(name, len(content)) for name, content in files] == wanted
    assert findings.all() == ()


def test_files_of_an_envelope_are_attachments() -> None:
    program = b"MZ\x90\0" + bytes(100)
    octets = envelope(
        attribute(1, 0x0002800C, b"the text of the envelope\0"),
        attribute(2, 0x00069002, bytes(14)),
        attribute(2, 0x00018010, b"INVOIC~1.SCR\0"),
        attribute(2, 0x0006800F, program),
        attribute(
            2,
            0x00069005,
            pack("<LHHLL", 1, 31, 0x3707, 1, 24) + "invoice.scr\0".encode("utf-16-le"),
        ),
    )
    read = parse(message(octets))
    assert [(each.name, each.kind) for each in read.attachments] == [
        ("winmail.dat", "tnef"),
        ("invoice.scr", "exe"),
    ]
    assert read.attachments[1].sha256 == hashlib.sha256(program).digest()
    assert read.text == "the text of the envelope"
    assert parse(message(octets, b"a text beside it")).text == "a text beside it"


def test_a_text_of_html() -> None:
    octets = (FILES / "unicode-mapi-attr.tnef").read_bytes()
    text, kind, _ = tnef.read(octets, Findings())
    assert (kind, text[:6]) == ("text/html", b"<html>")
    read = parse(message(octets))
    assert read.text
    assert "<" not in read.text


def test_an_attribute_beyond_the_end() -> None:
    findings = Findings()
    octets = envelope(
        attribute(2, 0x00069002, bytes(14)), pack("<BLL", 2, 0x0006800F, 1000) + b"the rest"
    )
    assert tnef.read(octets, findings)[2] == [("", b"the rest")]
    assert [each.name for each in findings.all()] == ["tnef-broken"]


def test_files_are_limited() -> None:
    findings = Findings()
    _, _, files = tnef.read(envelope(*[attribute(2, 0x00069002, b"")] * 60), findings)
    assert len(files) == tnef.MAX_FILES
    assert [each.name for each in findings.all()] == ["tnef-broken"]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_changed_envelopes_never_raise(data: st.DataObject) -> None:
    """Invariant: any octets give a text and files that are no more than the octets."""
    octets = bytearray(
        (
            FILES / data.draw(st.sampled_from(["two-files.tnef", "unicode-mapi-attr.tnef"]))
        ).read_bytes()
    )
    for at, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(octets) - 1), st.integers(0, 255)), max_size=20)
    ):
        octets[at] = value
    _, _, files = tnef.read(bytes(octets[: data.draw(st.integers(0, len(octets)))]), Findings())
    assert sum(len(content) for _, content in files) <= len(octets) * 2
