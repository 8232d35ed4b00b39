"""The content of a message that passes: what a milter would see of it, and what goes on, whether it
lies in memory or in a file.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from oborona.doors.proxy.content import copy, for_session, head
from oborona.doors.reply import AddHeader, RemoveHeader
from oborona.doors.rfc5322 import edited, gathered
from oborona.doors.smtp.spooled import MAX_HEADER, Spooled

EDITS = (RemoveHeader("X-A", 1), AddHeader("X-New", "1"), AddHeader("X-Top", "2", top=True))
messages = st.lists(
    st.sampled_from([b"X-A: 1\r\n", b"Subject: x\r\n", b"\tfolded\r\n", b"\r\n", b"no field\r\n", b"body\r\n", b"\xff\0\r\r\n", b"y" * 500 + b"\r\n"])
).map(b"".join)  # fmt: skip


def spooled(message: bytes, folder: Path, size: int = 1000) -> Spooled:
    found = Spooled(folder, limit_bytes=1 << 30)
    for place in range(0, len(message), size):
        found.write(message[place : place + size])
    found.finish()
    return found


@given(messages, st.sampled_from([1, 7, 1000]))
@example(b"", 1)
@example(b"X-A: 1\r\n", 1)
@example(b"\r\nbody\r\n", 1)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_is_what_it_would_be_in_one_piece(tmp_path: Path, message: bytes, size: int) -> None:
    """A message in a spool is seen and edited as the same octets in memory are.

    Without edits no octet changes.
    """
    with spooled(message, tmp_path, size) as kept:
        beginning = head(kept)
        assert beginning is not None
        for limit in (10, 1 << 20):
            assert for_session(kept, beginning, limit) == gathered(message, limit)
        assert b"".join(copy(kept, beginning, ())) == message
        assert b"".join(copy(kept, beginning, EDITS)) == edited(message, EDITS)


@pytest.mark.parametrize(
    "header", [b"Subject: x\r\n\r\n", b"Subject: x\r\nno field\r\n", b"no field\r\n"]
)
def test_a_large_one_is_too(tmp_path: Path, header: bytes) -> None:
    message = header + (b"z" * 998 + b"\r\n") * 3000
    with spooled(message, tmp_path, 60_000) as kept:
        beginning = head(kept)
        assert beginning is not None
        assert len(beginning) <= MAX_HEADER
        assert b"".join(copy(kept, beginning, EDITS)) == edited(message, EDITS)
        seen = for_session(kept, beginning, 65_536)
        assert seen == gathered(message, 65_536)
        assert (seen.size, seen.truncated) == (gathered(message, 65_536).size, True)


@pytest.mark.parametrize(
    "line", [b"X-A: " + b"y" * 90 + b"\r\n", b"\tfolded " + b"y" * 90 + b"\r\n"]
)
def test_a_header_without_end_is_none(tmp_path: Path, line: bytes) -> None:
    message = b"Subject: x\r\n" + line * 20_000 + b"\r\nbody\r\n"
    assert len(message) > MAX_HEADER
    with spooled(message, tmp_path) as kept:
        assert head(kept) is None


def test_names_of_headers_are_seen_beyond_what_is_scanned(tmp_path: Path) -> None:
    message = (
        b"".join(b"X-%d: y\r\n" % number for number in range(1000)) + b"X-A: forged\r\n\r\nbody\r\n"
    )
    with spooled(message, tmp_path) as kept:
        beginning = head(kept)
        assert beginning is not None
        assert for_session(kept, beginning, 100) == gathered(message, 100)
        assert for_session(kept, beginning, 100).headers[-1][0] == b"X-A"
