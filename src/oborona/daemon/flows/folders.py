"""Folders where collectors put files of flows: rotated files of nfcapd, and files of JSON lines.

A file is known by its name within the folder and its size.  Files of nfcapd stay where they are,
for nfexpire and other readers; those older than two days are not looked at.  Files of JSON lines
are a spool: what was taken is moved to `taken`.  What can't be read is tried three times, then
moved to `damaged`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from oborona.accounts.flows.addresses import AddressTable, OwnSources
from oborona.accounts.flows.flow_taker import ReadFile
from oborona.accounts.flows.json_lines import FieldNames, parse_json_lines
from oborona.accounts.flows.measurement import FlowRules, measure
from oborona.accounts.flows.nfdump import ExporterCounts, FileDamaged, NfdumpReader
from oborona.accounts.flows.store import FileState, FlowStore
from oborona.daemon.flows.source import FlowUnit
from oborona.errors import OboronaError
from oborona.telemetry.log import event

ROTATED: Final = re.compile(r"(nf|sf)capd\.[0-9]{12}([0-9]{2})?([+-][0-9]{4})?")
JSON_LINES: Final = re.compile(r"[^.].*\.(json|jsonl|ndjson)")
TAKEN: Final = "taken"
DAMAGED: Final = "damaged"
AGE_S: Final = 2 * 86_400.0
AGAIN_S: Final = 10.0  # between two tries of one file
TRIES: Final = 3
JSON_OCTETS: Final = 2 << 30  # a larger file is given up

log = logging.getLogger("oborona.flows")


class NfcapdFolder:
    """The folder of nfcapd or sfcapd; also one with folders in it (-S, -M).

    Args:
        folder: of the files.
        store: knows what was taken.
        reader: reads a file.
        rules: how its records are understood.
    """

    def __init__(
        self, folder: Path, store: FlowStore, reader: NfdumpReader, rules: FlowRules
    ) -> None:
        self._folder = folder
        self._store = store
        self._reader = reader
        self._rules = rules

    def ready(self, now: float) -> list[FlowUnit]:
        """Return the rotated files that were not taken, oldest first.

        Raises:
            OboronaError: the folder can't be read.
        """
        return list(
            _unread(self._folder, ROTATED, self._store, now, self._read, lambda _path: None)
        )

    def _read(self, path: Path, table: AddressTable, own: OwnSources) -> ReadFile:
        collected = self._reader.read(path, table, own)
        stat = path.stat()
        return measure(
            collected.records,
            collected.exporters,
            collected.counts,
            self._rules,
            table,
            name=str(path.relative_to(self._folder)),
            size=stat.st_size,
            received=stat.st_mtime - self._rules.rotation_s,
            wrong=collected.wrong,
        )


class JsonSpool:
    """A folder into which a collector moves whole files of JSON lines.

    Args:
        folder: of the files.
        store: knows what was taken.
        rules: how records are understood.
        names: of the members of an object.
    """

    def __init__(
        self,
        folder: Path,
        store: FlowStore,
        rules: FlowRules,
        names: FieldNames = FieldNames(),  # noqa: B008 - frozen
    ) -> None:
        self._folder = folder
        self._store = store
        self._rules = rules
        self._names = names

    def ready(self, now: float) -> list[FlowUnit]:
        """Return the files that were not taken, oldest first.

        Raises:
            OboronaError: the folder can't be read.
        """
        return list(
            _unread(self._folder, JSON_LINES, self._store, now, self._read, self._move_taken)
        )

    def _move_taken(self, path: Path) -> None:
        move_to(path, self._folder / TAKEN)

    def _read(self, path: Path, table: AddressTable, own: OwnSources) -> ReadFile:
        try:
            stat = path.stat()
            if stat.st_size > JSON_OCTETS:
                raise FileDamaged(f"{stat.st_size} octets; {JSON_OCTETS} at most")
            with path.open("rb") as file:
                found = parse_json_lines(file, table, self._names)
        except OSError as error:
            raise OboronaError(f"{path}: {error.strerror}") from error
        if found.wrong and not len(found.records):
            raise FileDamaged(f"none of its {found.wrong} lines is a record")
        return measure(
            found.records.of_sources(own),
            found.exporters,
            {name: ExporterCounts() for name in found.exporters},
            self._rules_with(found.sampling),
            table,
            name=path.name,
            size=stat.st_size,
            received=stat.st_mtime,
            wrong=found.wrong,
        )

    def _rules_with(self, sampling: Mapping[str, int]) -> FlowRules:
        """Return the rules with the rates that records tell; the settings win."""
        return FlowRules(
            rotation_s=self._rules.rotation_s,
            active_timeout_s=self._rules.active_timeout_s,
            believed=self._rules.believed,
            rates={**sampling, **self._rules.rates},
        )


def _unread(
    folder: Path,
    pattern: re.Pattern[str],
    store: FlowStore,
    now: float,
    read: Callable[[Path, AddressTable, OwnSources], ReadFile],
    dispose: Callable[[Path], None],
) -> Iterator[FlowUnit]:
    known = {(file.name, file.size): file for file in store.files()}
    for path, size in _files(folder, pattern, now - AGE_S):
        name = str(path.relative_to(folder))
        file = known.get((name, size))
        if file is not None:
            if file.state is FileState.TAKEN:
                dispose(path)  # we died before we could
                continue
            if file.state is not FileState.FAILING or now - file.taken < AGAIN_S:
                continue
        yield FlowUnit(
            name=name,
            size=size,
            known=file,
            read=partial(read, path),
            dispose=partial(dispose, path),
            set_aside=partial(move_to, path, folder / DAMAGED),
        )


def _files(folder: Path, pattern: re.Pattern[str], since: float) -> list[tuple[Path, int]]:
    """Return the files of a folder, oldest first, and their sizes."""
    try:
        if not folder.is_dir():
            raise OboronaError(f"{folder}: is no folder")
        found = []
        for path in folder.rglob("*"):
            if pattern.fullmatch(path.name) and path.parent.name not in (DAMAGED, TAKEN):
                stat = path.stat()
                if path.is_file() and not path.is_symlink() and stat.st_mtime >= since:
                    found.append((stat.st_mtime, path, stat.st_size))
    except FileNotFoundError:
        return []  # one went meanwhile: the next look sees the others
    except OSError as error:
        raise OboronaError(f"{folder}: {error.strerror}") from error
    return [(path, size) for _time, path, size in sorted(found)]


def move_to(path: Path, folder: Path) -> None:
    """Move a file into a folder; where that can't be it stays, which is told, and is not read
    again.
    """
    try:
        folder.mkdir(exist_ok=True)
        path.rename(folder / path.name)
    except OSError as error:
        event(log, logging.WARNING, "a file of flows stays where it is", file=path, error=error)
