"""Files that others write, as records: JSON lines, CSV, Parquet; each record a mapping.

A line that can't be read is given as the reason why; a file that can't be is an error. Nothing of a
file is believed: sizes are bounded before anything is unpacked.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from oborona.errors import OboronaError
from oborona.eventlog.export.record_shaper import MOST_OCTETS, Record

MOST_BYTES: Final = 1 << 30
"""Octets of a file; a slot of ten million events a day has five million of them."""
_BATCH: Final = 1 << 14
_UNITS: Final = MappingProxyType({"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9})


class UnreadableFile(OboronaError):  # noqa: N818 - reads as what happened
    """A file holds no records that can be read."""


def read_records(path: Path, columns: Sequence[str], most_rows: int) -> Iterator[Record | str]:
    """Yield the records of a file; of one that can't be read the reason.

    Args:
        path: of the file; its end tells how it is read.
        columns: what is wanted of it; other columns are not read.
        most_rows: that it may hold.

    Raises:
        UnreadableFile: it is too large, is cut short, lacks a column, or is nothing of its kind.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UnreadableFile(f"files end in {', '.join(READERS)}")
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise UnreadableFile(f"{size} octets; a file may have {MOST_BYTES}")
        for number, record in enumerate(reader(path, columns)):
            if number >= most_rows:
                raise UnreadableFile(f"more than {most_rows} records")
            yield record
    except OSError as error:
        raise UnreadableFile(error.strerror or str(error)) from error
    except (pa.ArrowException, csv.Error, ValueError, OverflowError) as error:
        raise UnreadableFile(str(error).split("\n", 1)[0][:500]) from error


def _json_lines(path: Path, _columns: Sequence[str]) -> Iterator[Record | str]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    with path.open("rb") as file:
        while line := file.readline(MOST_OCTETS + 1):
            if len(line) > MOST_OCTETS:
                raise UnreadableFile(f"a line of more than {MOST_OCTETS} octets")
            if not line.strip():
                continue
            try:
                yield decoder.decode(line)
            except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
                yield f"no JSON object: {error}"


def _csv(path: Path, columns: Sequence[str]) -> Iterator[Record | str]:
    with path.open(encoding="utf-8-sig", errors="strict", newline="") as file:
        reader = csv.DictReader(_short_lines(file), strict=True)
        _check_columns(reader.fieldnames or (), columns)
        for row in reader:
            if None in row or None in row.values():
                yield f"{len(row)} fields in the head, and another number in the row"
            else:
                yield {name: value or None for name, value in row.items()}


def _short_lines(file: io.TextIOWrapper) -> Iterator[str]:
    while line := file.readline(MOST_OCTETS + 1):
        if len(line) > MOST_OCTETS:
            raise UnreadableFile(f"a line of more than {MOST_OCTETS} characters")
        yield line


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Record | str]:
    with pq.ParquetFile(path) as file:
        _check_columns(file.schema_arrow.names, columns)
        wanted = file.schema_arrow.names
        unpacked = sum(
            file.metadata.row_group(group).total_byte_size
            for group in range(file.metadata.num_row_groups)
        )
        if unpacked > MOST_BYTES:
            raise UnreadableFile(f"{unpacked} octets unpacked; a file may have {MOST_BYTES}")
        taken = [name for name in columns if name in wanted]
        for batch in file.iter_batches(_BATCH, columns=taken):
            yield from _told(batch).to_pylist()


def _told(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with times as Unix seconds: those of no calendar can't be told otherwise."""
    for place, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type):
            ticks = batch.column(place).cast(pa.int64()).cast(pa.float64(), safe=False)
            batch = batch.set_column(place, field.name, pc.divide(ticks, _UNITS[field.type.unit]))
    return batch


def _check_columns(found: Sequence[str], wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in found]
    if missing:
        raise UnreadableFile(f"the column {missing[0]!r} is missing")
    twice = {name for name in wanted if list(found).count(name) > 1}
    if twice:
        raise UnreadableFile(f"the column {min(twice)!r} is there twice")


READERS: Final[Mapping[str, Callable[[Path, Sequence[str]], Iterator[Record | str]]]] = (
    MappingProxyType({".jsonl": _json_lines, ".csv": _csv, ".parquet": _parquet})
)
"""How files are read, by the end of their name."""
