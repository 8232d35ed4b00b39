"""Real mail: nothing raises, and the standard library's parser finds the same texts."""

from __future__ import annotations

import email
from email.message import Message as Oracle
from pathlib import Path

from oborona.message import mime, transfer_encoding
from oborona.message.findings import NAMES, Findings
from oborona.message.limits import DEFAULT
from oborona.message.parse import parse

# Five messages hold base64 cut or mixed with text; the standard library gives up or decodes less of
# it than we do.
KNOWN_DIFFERENT = 5


def texts_of_oracle(message: Oracle) -> list[bytes]:
    found = []
    for part in message.walk():
        if part.get_content_maintype() == "text" and not part.is_multipart():
            payload = part.get_payload(decode=True)
            assert isinstance(payload, bytes)
            found.append(b"".join(payload.split()))
    return [text for text in found if text]


def texts_of_ours(raw: bytes) -> list[bytes]:
    data = raw.replace(b"\r\n", b"\n")
    findings = Findings()
    found = []
    for entity in mime.split(data, DEFAULT, findings):
        if entity.leaf and entity.content_type.startswith("text/"):
            octets = transfer_encoding.decode(
                data[entity.start : entity.end], entity.encoding, findings
            )
            found.append(b"".join(octets.split()))
    return [text for text in found if text]


def test_text_parts_are_those_of_the_standard_library(corpus: list[Path]) -> None:
    different = []
    for path in corpus:
        raw = path.read_bytes()
        if texts_of_ours(raw) != texts_of_oracle(email.message_from_bytes(raw)):
            different.append(path.name)
            assert "base64-broken" in {finding.name for finding in parse(raw).findings}, path.name
    assert len(different) <= KNOWN_DIFFERENT, different


def test_every_message_of_the_corpus_is_read(corpus: list[Path]) -> None:
    without_from = without_text = 0
    for path in corpus:
        raw = path.read_bytes()
        message = parse(raw)
        assert message.raw == raw
        assert message.size == len(raw)
        assert {finding.name for finding in message.findings} <= NAMES.keys()
        without_from += message.from_ is None
        without_text += not message.text
    assert without_from == 3  # they have no From field
    assert without_text <= 19  # pictures alone


def test_a_second_look_sees_the_same(corpus: list[Path]) -> None:
    for path in corpus[::50]:
        raw = path.read_bytes()
        assert parse(raw) == parse(raw)
        assert parse(raw).text == parse(raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")).text
