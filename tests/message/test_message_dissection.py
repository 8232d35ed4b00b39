"""A message as plain data: every shingle with its source, and the plain hasher's hashes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from oborona.message.dissection import DissectedPart, Dissection
from oborona.message.dissector import build_dissection
from oborona.message.findings import NAMES
from oborona.message.hashing import Hasher, ShingleType
from oborona.message.parse import parse
from oborona.message.recording_hasher import RecordingHasher
from oborona.message.shingles import shingles
from oborona.message.text_minima import WORD_VALUES
from oborona.types import Client, Envelope

KEY = b"0123456789abcdef"
ENVELOPE = Envelope(
    client=Client(ip="192.0.2.7", name="mail.a.example"),
    helo="mail.a.example",
    sender="bounce@a.example",
    recipients=("one@b.example", "two@b.example"),
)
GOLDEN = Path(__file__).parents[1] / "golden"
MAILS = sorted([*GOLDEN.glob("mails/*.eml"), *GOLDEN.glob("torture/*.txt")])


def dissect(raw: bytes, envelope: Envelope = ENVELOPE) -> Dissection:
    message = parse(raw, regions=("DE",))
    recorder = RecordingHasher(KEY)
    pieces = shingles(message, envelope, recorder, ("a.example",))
    return build_dissection(
        message, pieces, recorder.sources, message.findings, NAMES, file="f", keyed=True
    )


@pytest.mark.parametrize("file", MAILS, ids=lambda file: file.name)
def test_every_piece_has_its_source_and_the_hash_of_the_counters(file: Path) -> None:
    raw = file.read_bytes()
    plain = Hasher(KEY)
    found = dissect(raw)
    pieces = shingles(parse(raw, regions=("DE",)), ENVELOPE, plain, ("a.example",))
    assert [(one.type, int(one.hash, 16)) for one in found.shingles] == list(pieces.shingles)
    assert [
        ((one.type, int(one.hash, 16)), (one.counts_type, int(one.counts_hash, 16)))
        for one in found.pairs
    ] == list(pieces.pairs)
    for one in found.shingles:
        assert one.source
        if one.form == "text":
            assert plain.shingle(one.type, one.source) == (one.type, int(one.hash, 16))
        elif one.form == "octets":
            assert plain.octets(one.type, bytes.fromhex(one.source)) == (
                one.type,
                int(one.hash, 16),
            )
        else:
            place, _, value = one.source.partition(":")
            octets = bytes((int(place),)) + bytes.fromhex(value)
            assert plain.octets(one.type, octets) == (one.type, int(one.hash, 16))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Dissection) == found


def test_the_tree_holds_each_part_once_where_it_stands() -> None:
    raw = (
        b"From: a@a.example\nContent-Type: multipart/mixed; boundary=x\n\n"
        b"--x\nContent-Type: multipart/alternative; "
        b"boundary=y\n\n--y\n\nplain\n--y\nContent-Type: text/html; "
        b"charset=utf-8\n\n<p>html</p>\n--y--\n"
        b"--x\nContent-Type: message/rfc822\n\nSubject: inner\n\nforwarded\n"
        b"--x\nContent-Type: application/pdf; name=a.pdf\nContent-Disposition: "
        b"attachment\nContent-Transfer-Encoding: base64\n\nJVBERg==\n--x--\n"
    )
    root = dissect(raw).tree

    def paths(node: DissectedPart) -> list[object]:
        return [node.path, node.type, [paths(child) for child in node.children]]

    assert paths(root) == [
        "",
        "multipart/mixed",
        [
            ["1", "multipart/alternative", [["1.1", "text/plain", []], ["1.2", "text/html", []]]],
            ["2", "message/rfc822", [["2.1", "text/plain", []]]],
            ["3", "application/pdf", []],
        ],
    ]
    pdf = root.children[2]
    assert (pdf.name, pdf.encoding, pdf.disposition, pdf.size) == (
        "a.pdf",
        "base64",
        "attachment",
        8,
    )
    assert root.children[0].children[1].charset == "utf-8"


def test_a_unique_pair_says_what_is_counted_of_what() -> None:
    found = dissect(b"From: a@a.example\n\nHello\n")
    pairs = {(one.name, one.a, one.b) for one in found.pairs}
    assert ("sender_recipient", "bounce@a.example", "two@b.example") in pairs
    assert ("ip_sender", "192.0.2.7", "bounce@a.example") in pairs
    assert {one.counts_type for one in found.pairs if one.type == ShingleType.IP_SENDER} == {
        ShingleType.IP_SENDERS
    }


def test_values_of_a_fingerprint_are_numbered() -> None:
    text = " ".join(f"{chr(97 + n % 26) * 3}{chr(97 + n // 26) * 2}ord" for n in range(60))
    found = dissect(f"From: a@a.example\n\n{text}\n".encode())
    values = [one.source for one in found.shingles if one.type == ShingleType.WORDS]
    assert [int(value.partition(":")[0]) for value in values] == list(range(WORD_VALUES))
    assert {one.form for one in found.shingles if one.type == ShingleType.WORDS} == {"value"}
    (first, *_) = [one for one in found.pairs if one.name == "text_ip"]
    assert first.a == values[0]
    assert first.b == "192.0.2.7"
