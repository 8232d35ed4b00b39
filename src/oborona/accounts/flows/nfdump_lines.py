"""The lines that nfdump prints of flow records, turned into columns; no line ends the others.

Format, octets: `FORMAT`, one record a line, fields between commas, padded with spaces.  A line that
is no record is left out and counted.  Parsed many lines at a time: a record costs about a
microsecond, a fifth of what nfdump takes to print it.

nfdump prints addresses in text, times in seconds with three decimals, and the flags of TCP as
letters.  The end of a stream comes as its begin and `%td`: `%ter` of nfdump 1.7.1 has the seconds
of the begin and the milliseconds of the end.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from oborona.accounts.flows.addresses import AddressTable
from oborona.accounts.flows.records import FlowRecords

FORMAT: Final = "fmt:%trr,%tsr,%td,%sa,%da,%sp,%pkt,%byt,%flg,%ra"
FIELDS: Final = 10
DIGITS: Final = 18  # of a number: what 64 bits hold for sure
LINE_OCTETS: Final = 4096  # nfdump's are 300 at most
FLAG_LETTERS: Final = b"CEUAPRSF"  # from the heaviest bit of TCP's flags to the lightest

MOST_EXPORTERS: Final = 1000  # in one file

Octets = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Column = tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]
"""Values, and which of them are sound; the others may be anything."""
_DOT, _COMMA, _SPACE, _NEWLINE, _ZERO = b"., \n0"


class ParsedLines(msgspec.Struct, frozen=True, kw_only=True):
    """The records of some lines."""

    records: FlowRecords  # the exporter is the place in `exporters`
    wrong: int  # lines that are no record
    rest: bytes  # behind the last whole line


class NfdumpLines:
    """Parses lines, chunk after chunk.

    Args:
        table: takes the addresses.

    Attributes:
        exporters: addresses of the exporters that were met.
    """

    def __init__(self, table: AddressTable) -> None:
        self._table = table
        self.exporters: list[str] = []

    def parse(self, data: bytes) -> ParsedLines:
        """Return the records of all whole lines of `data`."""
        behind = data.rfind(b"\n") + 1
        rest = data[behind:]
        octets = np.frombuffer(data, np.uint8, behind)
        ends = np.flatnonzero(octets == _NEWLINE)
        starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
        commas = np.flatnonzero(octets == _COMMA)
        first = np.searchsorted(commas, starts)
        number = np.searchsorted(commas, ends) - first
        sound = (number == FIELDS - 1) & (ends - starts <= LINE_OCTETS)
        starts, ends, first = starts[sound], ends[sound], first[sound]
        begins, behinds = [starts], []
        for field in range(FIELDS - 1):
            at = commas[first + field]
            behinds.append(at)
            begins.append(at + 1)
        behinds.append(ends)
        fields = list(zip(begins, behinds, strict=True))
        is_sound = np.ones(len(starts), dtype=bool)
        columns: dict[str, npt.NDArray[np.int64]] = {}
        for name, field, parse in (
            ("received", 0, _milliseconds),
            ("begin", 1, _milliseconds),
            ("lasted", 2, _milliseconds),
            ("source", 3, self._addresses),
            ("destination", 4, self._addresses),
            ("source_port", 5, _numbers),
            ("packets", 6, _numbers),
            ("octets", 7, _numbers),
            ("flags", 8, _flags),
            ("exporter", 9, self._exporters),
        ):
            columns[name], told = parse(octets, *fields[field])
            is_sound &= told
        is_sound &= columns["source_port"] <= 0xFFFF
        end = columns["begin"] + columns.pop("lasted")
        records = FlowRecords(
            source=columns["source"],
            destination=columns["destination"],
            source_port=columns["source_port"].astype(np.uint16),
            packets=columns["packets"],
            octets=columns["octets"],
            begin=columns["begin"],
            end=end,
            received=columns["received"],
            flags=columns["flags"].astype(np.uint8),
            exporter=columns["exporter"].astype(np.uint16),
        )
        if not is_sound.all():
            records = records.only(is_sound)
        return ParsedLines(records=records, wrong=len(sound) - len(records), rest=rest)

    def _addresses(self, octets: Octets, begin: Places, end: Places) -> Column:
        values, sound = _dotted(octets, begin, end)
        others = np.flatnonzero(~sound)
        for place in others.tolist():  # IPv6, and what is no address
            try:
                values[place] = self._table.id_of(
                    octets[begin[place] : end[place]].tobytes().strip(b" ")
                )
            except ValueError:
                continue
            sound[place] = True
        return values, sound

    def _exporters(self, octets: Octets, begin: Places, end: Places) -> Column:
        ids, sound = self._addresses(octets, begin, end)
        places = np.zeros(len(ids), dtype=np.int64)
        for number in np.unique(ids[sound]).tolist():
            text = self._table.text_of(number)
            if text not in self.exporters:
                if len(self.exporters) >= MOST_EXPORTERS:
                    sound[ids == number] = False
                    continue
                self.exporters.append(text)
            places[ids == number] = self.exporters.index(text)
        return places, sound


def _aligned(octets: Octets, begin: Places, end: Places, most: int) -> Octets:
    """Return [letter, row] of the last letters of fields, spaces where a field is shorter."""
    width = min(int((end - begin).max(initial=0)), most)
    place = end - width + np.arange(width)[:, None]
    letters: Octets = np.where(place >= begin, octets.take(place, mode="clip"), _SPACE)
    return letters


def _numbers(octets: Octets, begin: Places, end: Places) -> Column:
    """Return whole numbers of `DIGITS` at most."""
    return _right_aligned_numbers(_aligned(octets, begin, end, DIGITS + 1))


def _right_aligned_numbers(letters: Octets) -> Column:
    rows = letters.shape[1]
    values = np.zeros(rows, dtype=np.int64)
    begun = np.zeros(rows, dtype=bool)
    sound = np.ones(rows, dtype=bool)
    for row in letters:
        digit = row - np.uint8(_ZERO)  # wraps below: no digit then
        is_digit = digit <= 9
        sound &= is_digit | (~begun & (row == _SPACE))
        begun |= is_digit
        values *= 10
        values += np.where(is_digit, digit, 0)
    if len(letters) > DIGITS:
        sound &= letters[0] == _SPACE
    return values, sound & begun


def _milliseconds(octets: Octets, begin: Places, end: Places) -> Column:
    """Return seconds with three decimals, in milliseconds."""
    letters = _aligned(octets, begin, end, DIGITS + 1)
    if len(letters) < len("0.000"):
        return np.zeros(len(begin), dtype=np.int64), np.zeros(len(begin), dtype=bool)
    whole, is_whole = _right_aligned_numbers(letters[:-4])
    part, is_part = _right_aligned_numbers(letters[-3:])
    return whole * 1000 + part, is_whole & is_part & (letters[-4] == _DOT) & (letters[-3] != _SPACE)


def _dotted(octets: Octets, begin: Places, end: Places) -> Column:
    """Return IPv4 addresses in their four numbers (RFC 6943 section 3.1.1, strict)."""
    letters = _aligned(octets, begin, end, len("255.255.255.255") + 1)
    rows = len(begin)
    values, part = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int32)
    width, dots = np.zeros(rows, dtype=np.uint8), np.zeros(rows, dtype=np.uint8)
    sound = np.ones(rows, dtype=bool)
    for row in letters:
        digit = row - np.uint8(_ZERO)
        is_digit, is_dot = digit <= 9, row == _DOT
        sound &= is_digit | (is_dot & (width > 0)) | ((row == _SPACE) & (width == 0) & (dots == 0))
        values = np.where(is_dot, values << 8 | part, values)
        sound &= part <= 255
        part = np.where(is_digit, part * 10 + digit, 0)
        width = np.where(is_digit, width + 1, 0)
        sound &= width <= 3
        dots += is_dot
    if len(letters) > len("255.255.255.255"):
        sound &= letters[0] == _SPACE
    return values << 8 | part, sound & (dots == 3) & (width > 0) & (part <= 255)


def _flags(octets: Octets, begin: Places, end: Places) -> Column:
    """Return the flags of TCP: eight letters, a point where one is not set."""
    letters = _aligned(octets, begin, end, len(FLAG_LETTERS))
    values = np.zeros(len(begin), dtype=np.int64)
    sound = np.full(len(begin), len(letters) == len(FLAG_LETTERS))
    for row, letter in zip(letters, FLAG_LETTERS, strict=False):
        is_set = row == letter
        sound &= is_set | (row == _DOT)
        values = values << 1 | is_set
    return values, sound
