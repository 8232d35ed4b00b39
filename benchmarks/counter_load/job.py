"""What the bench's parent and its processes tell each other: a job each, how far the store is, what
was noted.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from oborona.counter_load.report import WorkerNotes
from oborona.counter_load.subject import BenchSubject

READY: Final = b"ready\n"  # a process says, when it could begin
DONE: Final = b"done\n"  # a worker says, when its notes are there
AT_ONCE: Final = -1  # a flush ends when the store has it


class BenchJob(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is to do.

    Args:
        subject: the class, as module:name.
        settings: its fields, JSON.
        folder: of this run's own files.
        keys: that the store was filled with.
        workers: how many there are.
        rate: messages a second of each worker; 0 = as many as the store takes.
        seconds: to load for.
        pairs: unique pairs a message.
        at_once: messages that a worker has under way at the same time.
        ahead: messages that a worker prepares before the start.
        number: of the worker; None: be the writer.
    """

    subject: str
    settings: msgspec.Raw
    folder: str
    keys: int
    workers: int
    rate: float
    seconds: float
    pairs: int
    at_once: int
    ahead: int
    number: int | None = None

    def made(self) -> BenchSubject:
        """Return the subject, made anew in this process."""
        module, _, name = self.subject.partition(":")
        made: BenchSubject = msgspec.json.decode(
            self.settings, type=getattr(import_module(module), name)
        )
        return made

    def note(self, noted: WorkerNotes) -> None:
        """Leave a worker's notes for the parent."""
        self._notes(self.number).write_bytes(msgspec.json.encode(noted))

    def noted(self, number: int) -> WorkerNotes:
        """Return the notes of a worker that has said it is done."""
        return msgspec.json.decode(self._notes(number).read_bytes(), type=WorkerNotes)

    def _notes(self, number: int | None) -> Path:
        return Path(self.folder) / f"notes-{number}.json"


class AppliedFlushes:
    """How many flushes of each worker the store has; the parent writes, each worker reads its own.

    Args:
        folder: of the run.
        workers: how many; given by the parent, which makes it.
    """

    def __init__(self, folder: Path, workers: int | None = None) -> None:
        path = folder / "applied"
        if workers is not None:
            np.zeros(workers, np.int64).tofile(path)
        self._counts = np.memmap(path, np.int64, "r" if workers is None else "r+")

    def set(self, worker: int, flushes: int) -> None:
        self._counts[worker] = flushes

    def get(self, worker: int) -> int:
        return int(self._counts[worker])
