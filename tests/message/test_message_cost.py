"""What comes out of reading a message is bounded by what goes in, and so is the work: messages
built to be dear, through a whole scan.

The bound on CPU is generous, as tests share their machine: such a scan takes a tenth of it, and
took up to thirty times as much before there was a bound.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from typing import Final

import pytest

from oborona.authentication import keys
from oborona.authentication.keys import NoDkimKey
from oborona.message.limits import DEFAULT
from oborona.message.parse import MAX_SUBJECT, parse
from oborona.policy.evidence import SenderEvidence
from tests.bombs import MARKS, PIECES, PLACES, STRUCTURES
from tests.policy.test_scan_evidence import scanned

A_SCAN_S: Final = 0.5  # of CPU: what a message of any size may take,
A_MB_S: Final = 2.0  # and what each of its megabytes may, beyond that
DEAR: Final = ("U+FDFA", "U+3316", "U+1D160", "marks turned", "Tibetan marks", "zero width")


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
    result = await scanned(SenderEvidence(), raw=raw)
    spent = time.process_time() - began
    assert spent < A_SCAN_S + A_MB_S * len(raw) / 1e6
    message = result.message
    assert len(message.normal_text) <= DEFAULT.text_characters
    assert len(message.text) <= DEFAULT.text_characters
    assert len(message.subject) <= MAX_SUBJECT


KEPT_BY_ALL: Final = 2 << 20  # octets that MANY hostile messages may leave behind
MANY: Final = 24
LARGE: Final = 120_000  # characters: as many entries of a cache of 4096 would be 500 MB


@pytest.mark.parametrize(
    "written",
    [
        "Content-Type: text/html\n\n<p style='{}'>a</p>",
        "Content-Type: text/html\n\n<p>a<font color='{}'>b</font>",
        "Content-Type: text/html\n\n<a href='http://a.example/{}'>b</a>",
        "Content-Type: text/html\n\n<a href='http://{}.example/'>b</a>",
        "X-{}: a\n\nb",
        "Reply-To: <a@{}.example>\n\nb",
        "Content-Type: text/plain; charset={}\n\nb",
        "X-Mailer: {}\n\nb",
        "Subject: {}\n\nb",
        "List-Id: <{}>\nList-Unsubscribe: <http://a.example/{}>\n\nb",
        "Message-ID: <a@{}.example>\n\nb",
        "Received: from {} ([192.0.2.1]) by b\n\nb",
    ],
)
async def test_what_is_remembered_of_messages_is_short(written: str) -> None:
    """Caches have room for so many entries, not for so many octets: what is remembered is cut
    before.
    """
    await scanned(SenderEvidence(), raw=written.replace("{}", "warm").encode())
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(MANY):
            raw = written.replace("{}", f"{number}x".ljust(LARGE, "y")).encode()
            await scanned(SenderEvidence(), raw=b"From: a@b.example\n" + raw)
        del raw
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < KEPT_BY_ALL


def test_of_keys_in_the_dns_those_of_a_usual_size_are_remembered() -> None:
    keys._read_key.cache_clear()  # full, it would grow no more
    before = keys._read_key.cache_info().currsize
    assert isinstance(keys.read_key(b"v=DKIM1; p=" + b"A" * LARGE), NoDkimKey)
    assert keys._read_key.cache_info().currsize == before
    assert keys.read_key(b"v=DKIM1; p=QQ==; n=usual") is keys.read_key(b"v=DKIM1; p=QQ==; n=usual")
    assert keys._read_key.cache_info().currsize == before + 1


@pytest.mark.parametrize("piece", ["\ufdfa", MARKS, "a"])
def test_a_subject_is_read_to_its_limit_and_that_is_told(piece: str) -> None:
    whole = parse(b"Subject: %b\n\nhello" % (piece * (MAX_SUBJECT // len(piece))).encode())
    assert not whole.findings
    cut = parse(b"Subject: %b\n\nhello" % (piece * (MAX_SUBJECT + 1)).encode())
    assert len(cut.subject) == MAX_SUBJECT
    assert "header-too-long" in {finding.name for finding in cut.findings}
