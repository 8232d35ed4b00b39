"""A list file to a table: one entry a line, `#` before a comment.

Plain IPv4 lines are read many at a time; all others, and each that the arrays do not accept, by
`entry`, which has the words for what is wrong.  The text is taken in pieces, so that no step holds
up other threads for long.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from oborona.domains import MAX_HOST
from oborona.reputation.locallists.entry import SIMPLE, entry
from oborona.reputation.locallists.ipv4_lines import plain
from oborona.reputation.locallists.table import ListEntryType, ListTable
from oborona.reputation.networks import Network, NetworkSet, PackedNetworks, pack

MAX_ENTRIES: Final = 2_000_000  # of a file; 8 to 21 octets each in every process
PIECE: Final = 1 << 18  # octets read at a time

_NO_NETWORKS: Final = pack(())


class BrokenLine(ValueError):  # noqa: N818 - reads as what happened
    """An entry that can't be used.

    Args:
        problem: in words for an admin.
        line: 1-based.
    """

    def __init__(self, problem: str, line: int) -> None:
        self.problem = problem
        self.line = line
        super().__init__(f"line {line}: {problem}")


class _EntryCollector:
    """Entries as they are found."""

    def __init__(self) -> None:
        self.first: dict[ListEntryType, int] = {}
        self._networks: list[PackedNetworks] = []
        self._hashes: list[npt.NDArray[np.int64]] = []

    def lines(self, numbers: Sequence[int], texts: Sequence[str], before: int) -> int:
        """Take some lines; return how many of them are entries.

        Args:
            numbers: which of `texts`.
            texts: lines of the file.
            before: how many lines stand before the first of `texts`.

        Raises:
            BrokenLine: the first that can't be used.
        """
        places: list[int] = []
        names: list[str] = []
        networks: list[Network] = []
        for number in numbers:
            text = texts[number]
            if SIMPLE(text) and len(text) <= MAX_HOST:  # nearly all
                places.append(number)
                names.append(text)
                continue
            try:
                normal = entry(text)
            except ValueError as fault:
                raise BrokenLine(f"{_shown(text)} {fault}", before + number + 1) from None
            if isinstance(normal, str):
                places.append(number)
                names.append(normal)
            elif normal is not None:
                networks.append(normal)
                self._note_first(ListEntryType.NETWORK, before + number + 1)
        for sort, at in ((ListEntryType.NAME, False), (ListEntryType.MAILBOX, True)):
            if sort not in self.first:
                place = next(
                    (
                        place
                        for place, text in zip(places, names, strict=True)
                        if ("@" in text) is at
                    ),
                    -1,
                )
                if place >= 0:
                    self.first[sort] = before + place + 1
        self._hashes.append(np.fromiter(map(hash, names), np.int64, len(names)))
        self._networks.append(pack(networks))
        return len(names) + len(networks)

    def plain(
        self, starts: npt.NDArray[np.uint32], lengths: npt.NDArray[np.uint8], line: int
    ) -> None:
        """Take IPv4 networks; `line` is that of the first."""
        self._networks.append(_NO_NETWORKS._replace(starts4=starts, lengths4=lengths))
        self._note_first(ListEntryType.NETWORK, line)

    def _note_first(self, sort: ListEntryType, line: int) -> None:
        self.first[sort] = min(line, self.first.get(sort, line))

    def table(self) -> ListTable:
        """Return all entries."""
        hashes = np.concatenate([np.empty(0, np.int64), *self._hashes])
        return ListTable(NetworkSet(self._networks), hashes, self.first)


def entries(texts: Sequence[str]) -> ListTable:
    """Return the entries of a policy file.

    Raises:
        BrokenLine: its `line` is the 1-based number of the entry.
    """
    gathered = _EntryCollector()
    gathered.lines(range(len(texts)), texts, 0)
    return gathered.table()


def read(raw: bytes) -> ListTable:
    """Return the entries of a list file.

    Args:
        raw: the file; one that is empty, or whose last line does not end, is taken for
            half-written.

    Raises:
        BrokenLine: the first line that can't be used, or that holds an entry too many.
    """
    if not raw.endswith(b"\n"):
        empty = "is empty: half-written? A file may be switched off by a comment"
        problem = "its last line does not end: half-written?" if raw.strip() else empty
        raise BrokenLine(problem, raw.count(b"\n") + 1)
    if raw.startswith(codecs.BOM_UTF8):
        raise BrokenLine("begins with a byte order mark; save it as UTF-8 without one", 1)
    gathered = _EntryCollector()
    lines = count = 0
    for piece in _pieces(raw):
        accepted, starts, lengths = plain(piece)
        if starts.size:
            gathered.plain(starts, lengths, lines + int(np.argmax(accepted)) + 1)
        count += starts.size
        if starts.size < accepted.size:
            others = np.flatnonzero(~accepted).tolist()
            count += gathered.lines(others, _decoded(piece, lines), lines)
        lines += accepted.size
        if count > MAX_ENTRIES:
            raise BrokenLine(f"more than {MAX_ENTRIES} entries", lines)
    return gathered.table()


def _pieces(raw: bytes) -> Iterator[bytes]:
    """Yield the file in pieces of whole lines, at least one line each."""
    at = 0
    while at < len(raw):
        end = raw.rfind(b"\n", at, at + PIECE) + 1 or raw.find(b"\n", at) + 1
        yield raw[at:end].replace(b"\r\n", b"\n")
        at = end


def _decoded(piece: bytes, lines: int) -> list[str]:
    try:
        return piece.decode().split("\n")
    except UnicodeDecodeError as fault:
        number = lines + piece.count(b"\n", 0, fault.start) + 1
        raise BrokenLine(f"is not UTF-8: byte 0x{piece[fault.start]:02x}", number) from None


def _shown(text: str) -> str:
    """An entry as an error repeats it: quoted, cut short, nothing that a terminal would obey."""
    short = "".join(letter if letter.isprintable() else "?" for letter in text.strip()[:60])
    return f'"{short}"'
