"""What flows cost: a file of a minute of SMTP, from nfdump's lines to the counters' spool.

    python benchmarks/flows.py                     100,000 records a second, of a million sources
    python benchmarks/flows.py --rate 10000 --sources 20000
    python benchmarks/flows.py --clickhouse        the same, added up by ClickHouse

Lines are made as nfdump prints them, and rows as ClickHouse answers; what nfdump itself takes to
print them stands beside, measured on a file that nfcapd would have written only where --file names
one.  CPU is of one process, memory its highest.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from oborona.accounts.flows.addresses import AddressTable, OwnSources
from oborona.accounts.flows.clickhouse_rows import SourceColumns
from oborona.accounts.flows.flow_taker import FlowTaker, ReadFile
from oborona.accounts.flows.measurement import FlowRules, measure
from oborona.accounts.flows.nfdump import CHUNK
from oborona.accounts.flows.nfdump_lines import FORMAT, NfdumpLines
from oborona.accounts.flows.records import RecordColumns
from oborona.accounts.flows.store import FlowStore
from oborona.counters.whole_spool import WholeSpool
from oborona.message.hashing import Hasher

WINDOW_S = 60
START = 1_700_000_040
BLOCK = 200_000  # lines that are made at once
FIRST = 0x0B000000  # 11.0.0.0: a network of no other use
TO = 0xFFFF_C6330000  # 198.51.0.0, mapped into IPv6


def blocks(number: int, sources: int) -> Iterator[bytes]:
    """Yield lines of nfdump, some at a time."""
    draw = np.random.default_rng(1)
    left = number
    while left:
        size = min(left, BLOCK)
        left -= size
        source = FIRST + draw.integers(0, sources, size)
        columns = zip(
            source.tolist(), draw.integers(0, 60_000, size).tolist(),
            draw.integers(0, 1 << 16, size).tolist(), draw.integers(3, 40, size).tolist(),
            strict=True,
        )  # fmt: skip
        yield b"".join(
            b"%d.%03d,%d.%03d,   1.250,  %d.%d.%d.%d,  198.51.%d.%d, %5d,%5d, %7d,...AP.SF,203.0.113.1\n"
            % (
                START + ms // 1000, ms % 1000, START + ms // 1000 - 2, ms % 1000,
                ours >> 24, ours >> 16 & 255, ours >> 8 & 255, ours & 255,
                port >> 8, port & 255, 1024 + port % 60_000, packets, packets * 300,
            )
            for ours, ms, port, packets in columns
        )  # fmt: skip


def rows(number: int, sources: int) -> Iterator[bytes]:
    """Yield rows as ClickHouse answers, of sources that share so many records evenly."""
    draw = np.random.default_rng(1)
    each = max(number // sources, 1)
    for place in range(sources):
        there = [TO + to for to in set(draw.integers(0, 1 << 16, each).tolist())]
        ours = (0xFFFF << 32) + FIRST + place
        told = [ours, each * 20, each * 6000, each, min(each, 3), len(there), 0, 0, there]
        yield msgspec.json.encode(told)


def of_lines(asked: argparse.Namespace, taken: dict[str, float]) -> ReadFile:
    """Return what nfdump's lines say, and note what that took."""
    table = AddressTable()
    own = OwnSources([ip_network("11.0.0.0/8")], table)
    lines, rest = NfdumpLines(table), b""
    gathered = RecordColumns()
    spent = 0.0
    for block in blocks(asked.rate * WINDOW_S, asked.sources):
        at = time.process_time()
        for place in range(0, len(block), CHUNK):
            parsed = lines.parse(rest + block[place : place + CHUNK])
            rest = parsed.rest
            gathered.add(parsed.records.of_sources(own))
        spent += time.process_time() - at
    taken["lines → records"] = spent
    began = time.process_time()
    read = measure(
        gathered.records(), lines.exporters, {}, FlowRules(), table,
        name="bench", size=1, received=START + WINDOW_S, wrong=0,
    )  # fmt: skip
    taken["records → sums"] = time.process_time() - began
    return read


def of_rows(asked: argparse.Namespace, taken: dict[str, float]) -> ReadFile:
    """Return what ClickHouse's rows say, and note what that took."""
    table = AddressTable()
    columns = SourceColumns(table, OwnSources([ip_network("11.0.0.0/8")], table))
    spent = 0.0
    for row in rows(asked.rate * WINDOW_S, asked.sources):
        at = time.process_time()
        columns.add(row)
        spent += time.process_time() - at
    at = time.process_time()
    window = columns.window(START)
    taken["rows → sums"] = spent + time.process_time() - at
    return ReadFile(
        name="bench", size=0, start=START, windows=[window], table=table, exporters=[],
        records=int(window.streams.sum()),
    )  # fmt: skip


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=int, default=100_000, help="records a second")
    parser.add_argument("--sources", type=int, default=1_000_000)
    parser.add_argument("--clickhouse", action="store_true", help="rows in place of lines")
    parser.add_argument("--file", help="of nfcapd: how fast nfdump prints it")
    asked = parser.parse_args()
    taken: dict[str, float] = {}
    read = of_rows(asked, taken) if asked.clickhouse else of_lines(asked, taken)
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder, FlowStore(Path(folder, "flows.db")) as store:
        spool = WholeSpool(Path(folder, "staged"), Path(folder, "spool"), "flows")
        FlowTaker(store, spool, Hasher(b"k" * 32), kept_from=10).take(read, START + WINDOW_S)
        octets = sum(path.stat().st_size for path in Path(folder, "spool").iterdir())
    taken["sums → spool"] = time.process_time() - began
    number = asked.rate * WINDOW_S
    shown = Table("step", "CPU s a minute", "µs a record", title=f"{number:,} records of a minute")
    for step, seconds in taken.items():
        shown.add_row(step, f"{seconds:.1f}", f"{seconds / number * 1e6:.2f}")
    if asked.file:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        argv = ["nfdump", "-r", asked.file, "-q", "-N", "-6", "-o", FORMAT]
        told = subprocess.run(argv, capture_output=True, check=True).stdout.count(b"\n")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        shown.add_row(f"nfdump, {told:,} records", f"{cpu:.1f}", f"{cpu / max(told, 1) * 1e6:.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    shown.caption = f"Python {sys.version.split()[0]} of {sys.base_prefix}; {peak} MiB at most; spool {octets >> 20} MiB"
    Console(width=100).print(shown)


if __name__ == "__main__":
    main()
