"""QR codes of the second step: what a telephone reads of them is what was put in."""

from __future__ import annotations

import re

import numpy as np
import pytest
import zxingcpp

from oborona.console.qr_code import MAX_TEXT, QrCode, qr_code
from oborona.people.second_step import enrolment_uri, new_secret

PIECE = re.compile(r"M([0-9]+) ([0-9]+)h([0-9]+)v([0-9]+)h-?[0-9]+Z")
SCALE = 4


def read(code: QrCode) -> str:
    """Draw a code and read it as a telephone does."""
    picture = np.full((code.size * SCALE, code.size * SCALE), 255, dtype=np.uint8)
    pieces = PIECE.findall(code.path)
    assert "".join(f"M{x} {y}h{w}v{h}h-{w}Z" for x, y, w, h in pieces) == code.path
    for x, y, width, height in ((int(one) * SCALE for one in piece) for piece in pieces):
        picture[y : y + height, x : x + width] = 0
    found = zxingcpp.read_barcodes(picture)
    assert len(found) == 1
    return str(found[0].text)


@pytest.mark.parametrize("name", ["anna", "a" * 254, "anna@example.org", "anna+x@example.org"])
def test_what_is_read_is_what_was_put_in(name: str) -> None:
    uri = enrolment_uri(new_secret(), name, "mx1.example.org")
    code = qr_code(uri)
    assert code is not None
    assert read(code) == uri


@pytest.mark.parametrize("text", ["", "x" * (MAX_TEXT + 1), "\u044f" * MAX_TEXT, "\udcff" * 5000])
def test_what_can_be_none_is_none(text: str) -> None:
    assert qr_code(text) is None


@pytest.mark.parametrize("text", ["x" * MAX_TEXT, "\0", "\udcff", '"><script>', "\u202e"])
def test_odd_texts_do_no_harm(text: str) -> None:
    code = qr_code(text)
    assert code is None or re.fullmatch(r"[0-9MhvZ. -]+", code.path)
