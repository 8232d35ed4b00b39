"""A file of nfcapd, read by nfdump: records, and what nfcapd knows of the exporters.

Three runs, each with a fixed argv, no shell, limits on time and memory: `-v` verifies (a truncated
file is refused by it alone: `-r` of nfdump 1.7.1 prints nothing of it and succeeds), `-E` tells of
exporters and sampling, `-r` prints the records of SMTP.  A file counts as damaged when one of them
fails or complains.
"""

from __future__ import annotations

import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec

from oborona.accounts.flows.addresses import AddressTable, OwnSources
from oborona.accounts.flows.nfdump_lines import FORMAT, NfdumpLines
from oborona.accounts.flows.records import SMTP_PORTS, FlowRecords, RecordColumns
from oborona.errors import OboronaError

FILTER: Final = f"proto tcp and dst port in [{' '.join(map(str, SMTP_PORTS))}]"
CHUNK: Final = 1 << 20  # octets of nfdump's output at a time
TOLD: Final = 64 << 10  # octets of what -v and -E print
COMPLAINT: Final = 200  # letters of a complaint that are kept
NOTHING: Final = b"No matching flows\n"
EXPORTER: Final = re.compile(
    rb"SysID:\s*(\d+), IP:\s*(\S+), version:\s*(\d+), ID:\s*(\d+), "
    rb"Sequence failures:\s*(\d+), packets:\s*(\d+), flows:\s*(\d+)"
)
SAMPLER: Final = re.compile(rb"packet interval: (\d+), packet space: (\d+)")


class FileDamaged(OboronaError):  # noqa: N818 - what was found
    """nfdump can't read the file as a whole."""


class ExporterCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What the collector knows of an exporter in one file."""

    datagrams: int = 0
    failures: int = 0  # of the sequence: datagrams lost, or counted otherwise than we do
    flows: int = 0  # all of them, SMTP or not
    sampling: int = 1  # one packet in so many, by its own word; the collector has multiplied


class CollectedFile(msgspec.Struct, frozen=True, kw_only=True):
    """What one file holds of our sources."""

    records: FlowRecords
    exporters: list[str]
    wrong: int  # lines that are no record
    counts: dict[str, ExporterCounts]  # by exporter


class NfdumpReader:
    """Reads files.

    Args:
        program: nfdump.
        seconds: that one run may take.
        memory: octets that it may take.
        goes_on: called while it works.
    """

    def __init__(
        self, program: str, *, seconds: float, memory: int, goes_on: Callable[[], None]
    ) -> None:
        self._program = program
        self._seconds = seconds
        self._memory = memory
        self._goes_on = goes_on

    def read(self, path: Path, table: AddressTable, own: OwnSources) -> CollectedFile:
        """Return what a rotated file holds of our sources.

        Raises:
            FileDamaged: it is not whole, or nfdump does not end within its limits.
            OboronaError: nfdump can't be run.
        """
        self._told(["-v", str(path)])
        counts = exporter_counts(self._told(["-E", str(path)]))
        lines = NfdumpLines(table)
        gathered = RecordColumns()
        wrong, rest = 0, b""
        argv = ["-r", str(path), "-q", "-N", "-6", "-o", FORMAT, FILTER]
        with self._run(argv) as output:
            while chunk := output.read(CHUNK):
                self._goes_on()
                data = rest + chunk
                if data == NOTHING:
                    rest = b""
                    continue
                parsed = lines.parse(data)
                wrong += parsed.wrong
                rest = parsed.rest
                gathered.add(parsed.records.of_sources(own))
        return CollectedFile(
            records=gathered.records(),
            exporters=lines.exporters,
            wrong=wrong + bool(rest),
            counts=counts,
        )

    def _told(self, argv: Sequence[str]) -> bytes:
        with self._run(argv) as output:
            told = output.read(TOLD)
            while output.read(CHUNK):
                self._goes_on()
        return told

    @contextmanager
    def _run(self, argv: Sequence[str]) -> Iterator[IO[bytes]]:
        """Yield the output of a run; it must be read to its end.

        Raises:
            FileDamaged, OboronaError: as `read` does.
        """
        with tempfile.TemporaryFile() as complaints:
            try:
                process = subprocess.Popen(  # noqa: S603 - argv is fixed, no shell
                    [self._program, *argv],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    env={"PATH": "/usr/local/bin:/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C"},
                )
            except OSError as error:
                raise OboronaError(f"{self._program} can't be run: {error.strerror}") from error
            assert process.stdout is not None
            until = time.monotonic() + self._seconds
            try:
                _limit(process.pid, self._memory, self._seconds)
                with process.stdout:
                    yield process.stdout
                while process.poll() is None and time.monotonic() < until:
                    self._goes_on()
                    time.sleep(0.01)
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()
            complaints.seek(0)
            complaint = complaints.read(COMPLAINT).decode("ascii", "replace").strip()
            if process.returncode or complaint:
                raise FileDamaged(
                    f"nfdump {argv[0]} ended with {process.returncode}"
                    f"{': ' if complaint else ''}{_printable(complaint)}"
                )


def _limit(pid: int, memory: int, seconds: float) -> None:
    """Bound a process that has just begun; one that is over already needs no bounds."""
    try:
        resource.prlimit(pid, resource.RLIMIT_AS, (memory, memory))
        resource.prlimit(pid, resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    except ProcessLookupError:
        return


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def exporter_counts(told: bytes) -> dict[str, ExporterCounts]:
    """Return what `nfdump -E` tells, by address; those of one address are added up."""
    counts: dict[str, ExporterCounts] = {}
    found = list(EXPORTER.finditer(told))
    ends = [*(match.start() for match in found), len(told)][1:]  # none in a file without records
    for match, behind in zip(found, ends, strict=True):
        name = match[2].decode("ascii", "replace")
        before = counts.get(name, ExporterCounts())
        rates = [
            (int(taken) + int(left)) // max(int(taken), 1)
            for taken, left in SAMPLER.findall(told[match.end() : behind])
        ]
        counts[name] = ExporterCounts(
            datagrams=before.datagrams + int(match[6]),
            failures=before.failures + int(match[5]),
            flows=before.flows + int(match[7]),
            sampling=max([before.sampling, *rates]),
        )
    return counts
