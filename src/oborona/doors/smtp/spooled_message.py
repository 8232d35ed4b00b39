"""A message that waits to be handed on: its header in memory, the rest there while it is small, and
in a file without a name when it is not.

What is written is never read back into memory as a whole: a copy is its own header, and the body in
pieces out of the file. Known limits: reading and writing the file is done on the event loop, so
that a disk that stalls stalls the worker.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

MEMORY_BYTES: Final = 256 * 1024  # of a body; most are smaller
MAX_HEADER: Final = 1024 * 1024  # Postfix keeps a tenth of that (header_size_limit)
PIECE_BYTES: Final = 64 * 1024  # that are read at once

_BLANK: Final = b"\r\n\r\n"


class SpooledMessage:
    """One message, written once and read as often as it has copies; a context manager.

    Args:
        folder: where its file lies, if it needs one; it is gone with us, whatever happens.
        limit_bytes: of content; what goes beyond is counted and thrown away.
    """

    def __init__(self, folder: Path, *, limit_bytes: int) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES, dir=str(folder))  # noqa: SIM115 - closed by `close`
        self._limit = limit_bytes
        self._early = bytearray()  # the beginning, until the header is whole
        self._split = False  # the header is
        self.size = 0  # bytes of content that came
        # with the blank line behind it; empty where there is none within `MAX_HEADER`
        self.header = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let everything go."""
        self._file.close()

    @property
    def in_memory(self) -> int:
        """Octets that are held in memory at most."""
        return min(self.size, MEMORY_BYTES + MAX_HEADER)

    @property
    def too_large(self) -> bool:
        """Whether part of it was thrown away."""
        return self.size > self._limit

    def write(self, content: bytes) -> None:
        """Take the next piece.

        Raises:
            OSError: the disk is full, or worse.
        """
        self.size += len(content)
        if self.too_large:
            return
        if self._split:
            self._file.write(content)
            return
        looked_at = max(0, len(self._early) - len(_BLANK) + 1)
        self._early += content
        if self._early.startswith(b"\r\n"):
            end = 2  # no header at all
        else:
            blank = self._early.find(_BLANK, looked_at)
            end = blank + len(_BLANK) if blank >= 0 else 0
        if end or len(self._early) > MAX_HEADER:
            self._part(end)

    def finish(self) -> None:
        """There is no more.

        Raises:
            OSError: as `write`.
        """
        if not self._split:
            self._part(0)

    def pieces(self, header: bytes) -> Iterator[bytes]:
        """Yield a copy of the message under a header of its own.

        One copy is read at a time.

        Args:
            header: instead of ours, with the blank line.
        """
        if header:
            yield header
        self._file.seek(0)
        while piece := self._file.read(PIECE_BYTES):
            yield piece

    def copy_size(self, header: bytes) -> int:
        """Return how many bytes that copy has."""
        return self.size - len(self.header) + len(header)

    def _part(self, end: int) -> None:
        self._split = True
        self.header = bytes(self._early[:end])
        self._file.write(self._early[end:])
        self._early = bytearray()
