"""The content of a message that passes: what a milter would see of it, and what goes on, whether it
lies in memory or in a file.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from oborona.doors.proxy.content import edited_message, read_header, session_message
from oborona.doors.reply import AddHeader, RemoveHeader
from oborona.doors.rfc5322 import raw_message_of, with_edits
from oborona.doors.smtp.spooled_message import MAX_HEADER, SpooledMessage

EDITS = (RemoveHeader("X-A", 1), AddHeader("X-New", "1"), AddHeader("X-Top", "2", top=True))
messages = st.lists(
    st.sampled_from([b"X-A: 1\r\n", b"Subject: x\r\n", b"\tfolded\r\n", b"\r\n", b"no field\r\n", b"body\r\n", b"\xff\0\r\r\n", b"y" * 500 + b"\r\n"])
).map(b"".join)  # fmt: skip


def spooled(message: bytes, folder: Path, size: int = 1000) -> SpooledMessage:
    found = SpooledMessage(folder, limit_bytes=1 << 30)
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
        beginning = read_header(kept)
        assert beginning is not None
        for limit in (10, 1 << 20):
            assert session_message(kept, beginning, limit) == raw_message_of(message, limit)
        assert b"".join(edited_message(kept, beginning, ())) == message
        assert b"".join(edited_message(kept, beginning, EDITS)) == with_edits(message, EDITS)


@pytest.mark.parametrize(
    "header", [b"Subject: x\r\n\r\n", b"Subject: x\r\nno field\r\n", b"no field\r\n"]
)
def test_a_large_one_is_too(tmp_path: Path, header: bytes) -> None:
    message = header + (b"z" * 998 + b"\r\n") * 3000
    with spooled(message, tmp_path, 60_000) as kept:
        beginning = read_header(kept)
        assert beginning is not None
        assert len(beginning) <= MAX_HEADER
        assert b"".join(edited_message(kept, beginning, EDITS)) == with_edits(message, EDITS)
        seen = session_message(kept, beginning, 65_536)
        assert seen == raw_message_of(message, 65_536)
        assert (seen.size, seen.truncated) == (raw_message_of(message, 65_536).size, True)


@pytest.mark.parametrize(
    "line", [b"X-A: " + b"y" * 90 + b"\r\n", b"\tfolded " + b"y" * 90 + b"\r\n"]
)
def test_a_header_without_end_is_none(tmp_path: Path, line: bytes) -> None:
    message = b"Subject: x\r\n" + line * 20_000 + b"\r\nbody\r\n"
    assert len(message) > MAX_HEADER
    with spooled(message, tmp_path) as kept:
        assert read_header(kept) is None


def test_names_of_headers_are_seen_beyond_what_is_scanned(tmp_path: Path) -> None:
    message = (
        b"".join(b"X-%d: y\r\n" % number for number in range(1000)) + b"X-A: forged\r\n\r\nbody\r\n"
    )
    with spooled(message, tmp_path) as kept:
        beginning = read_header(kept)
        assert beginning is not None
        assert session_message(kept, beginning, 100) == raw_message_of(message, 100)
        assert session_message(kept, beginning, 100).headers[-1][0] == b"X-A"
