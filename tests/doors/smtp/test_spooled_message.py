"""A message that waits: what is written is read, in memory or in a file, and nothing is left
behind.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.smtp.spooled_message import MAX_HEADER, MEMORY_BYTES, SpooledMessage

ROOMY = 1 << 30


def spooled(folder: Path, pieces: list[bytes], limit: int = ROOMY) -> SpooledMessage:
    message = SpooledMessage(folder, limit_bytes=limit)
    for piece in pieces:
        message.write(piece)
    message.finish()
    return message


@given(
    st.lists(st.sampled_from([b"\r\n", b"\r", b"\n", b"a: b", b".", b"\r\n\r\n"])),
    st.integers(1, 9),
)
def test_the_header_ends_at_the_first_blank_line_in_any_pieces(
    parts: list[bytes], size: int
) -> None:
    """Header and body make the message.

    The header is all up to its first empty line, or nothing.
    """
    whole = b"".join(parts)
    with spooled(
        Path("/tmp"), [whole[place : place + size] for place in range(0, len(whole), size)]
    ) as message:
        header, blank, _ = whole.partition(b"\r\n\r\n")
        wanted = b"\r\n" if whole.startswith(b"\r\n") else header + blank if blank else b""
        assert message.header == wanted
        assert b"".join(message.pieces(message.header)) == whole
        assert b"".join(message.pieces(b"X: y\r\n\r\n")) == b"X: y\r\n\r\n" + whole[len(wanted) :]
        assert message.size == len(whole)
        assert message.copy_size(b"1234") == len(whole) - len(wanted) + 4


def test_a_large_body_lies_in_a_file_that_has_no_name(tmp_path: Path) -> None:
    body = b"x" * 1000 + b"\r\n"
    times = MEMORY_BYTES // len(body) + 100
    with spooled(tmp_path, [b"A: b\r\n\r\n", *[body] * times]) as message:
        assert list(tmp_path.iterdir()) == []
        for header in (b"A: b\r\n\r\n", b"A: c\r\n\r\n"):  # each copy is the whole
            assert b"".join(message.pieces(header)) == header + body * times


def test_a_header_without_an_end_is_none(tmp_path: Path) -> None:
    line = b"a: " + b"x" * 1000 + b"\r\n"
    times = MAX_HEADER // len(line) + 10
    with spooled(tmp_path, [line] * times + [b"\r\nbody\r\n"]) as message:
        assert message.header == b""
        assert b"".join(message.pieces(b"")) == line * times + b"\r\nbody\r\n"


def test_what_goes_beyond_the_limit_is_counted_and_not_kept(tmp_path: Path) -> None:
    with spooled(tmp_path, [b"A: b\r\n\r\n", b"x" * 100, b"y"], limit=108) as message:
        assert message.too_large
        assert message.size == 109
    with spooled(tmp_path, [b"A: b\r\n\r\n", b"x" * 100], limit=108) as message:
        assert not message.too_large


def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    message = SpooledMessage(tmp_path / "gone", limit_bytes=ROOMY)
    message.write(b"A: b\r\n\r\n")
    with pytest.raises(OSError):
        message.write(b"x" * (MEMORY_BYTES + 1))
    message.close()
