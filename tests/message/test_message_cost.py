"""What comes out of reading a message is bounded by what goes in, and so is the work: messages built to be dear, through a whole scan.

The bound on CPU is generous, as tests share their machine: such a scan takes a tenth of it, and took up to thirty times as much before there was a bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from oborona.message.limits import DEFAULT
from oborona.message.parse import MAX_SUBJECT, parse
from oborona.policy.evidence import Evidence
from tests.bombs import MARKS, PIECES, PLACES, STRUCTURES
from tests.policy.test_scan_evidence import scanned

A_SCAN_S = 0.5  # of CPU: what a message of any size may take,
A_MB_S = 2.0  # and what each of its megabytes may, beyond that
DEAR = ("U+FDFA", "U+3316", "U+1D160", "marks turned", "Tibetan marks", "zero width")


@pytest.mark.parametrize("piece", DEAR)
@pytest.mark.parametrize(
    "place", ["Subject", "text", "3 HTML", "calendar", "names of 400 files", "300 links"]
)
async def test_a_scan_is_bounded_by_the_message(place: str, piece: str) -> None:
    await _bounded(lambda: PLACES[place](PIECES[piece]))


@pytest.mark.parametrize("name", STRUCTURES)
async def test_so_is_that_of_any_structure(name: str) -> None:
    await _bounded(STRUCTURES[name])


async def _bounded(built: Callable[[], bytes]) -> None:
    raw = built()
    began = time.process_time()
    result = await scanned(Evidence(), raw=raw)
    spent = time.process_time() - began
    assert spent < A_SCAN_S + A_MB_S * len(raw) / 1e6
    message = result.message
    assert len(message.normal_text) <= DEFAULT.text_characters
    assert len(message.text) <= DEFAULT.text_characters
    assert len(message.subject) <= MAX_SUBJECT


@pytest.mark.parametrize("piece", ["\ufdfa", MARKS, "a"])
def test_a_subject_is_read_to_its_limit_and_that_is_told(piece: str) -> None:
    whole = parse(b"Subject: %b\n\nhello" % (piece * (MAX_SUBJECT // len(piece))).encode())
    assert not whole.findings
    cut = parse(b"Subject: %b\n\nhello" % (piece * (MAX_SUBJECT + 1)).encode())
    assert len(cut.subject) == MAX_SUBJECT
    assert "header-too-long" in {finding.name for finding in cut.findings}
