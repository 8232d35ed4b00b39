"""What `oborona doctor` says of pictures: what looking and reading take, and whether the reader
runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from oborona.cli.asked import Asked
from oborona.cli.report import Report, State
from oborona.daemon.reader.desk import PROCESSES, WAITING, missing, wanted
from oborona.daemon.reader.frames import Task
from oborona.telemetry import status

_WANTED: Final = (
    (Task.LOOK, "QR codes in pictures", "codes in pictures and their likeness are not seen"),
    (Task.READ, "text in pictures (OCR)", "text in pictures is not read"),
    (Task.MEAN, "meaning of texts", "grey mail is judged without it"),
)
_WAITS: Final[dict[str, str]] = {Task.LOOK: "to scan for codes", Task.READ: "for OCR"}


def reader(asked: Asked) -> Iterator[Report]:
    """Look at what pictures need."""
    settings = asked.loaded.settings.reader
    if not settings.enabled:
        yield Report(
            "pictures",
            State.WARN,
            "reader.enabled is off: pictures are counted by their checksums alone",
        )
        return
    for task, what, lacks in _WANTED:
        if task not in wanted(settings):
            continue
        gone = missing(settings, task)
        if gone:
            yield Report(what, State.WARN, f"not there: {gone}; {lacks}")
        elif task is Task.READ:
            yield Report(what, State.OK, f"Tesseract with {settings.languages}")
    found = status.read_one(asked.state, status.ReaderStatus, time.time())
    if found is None:
        yield Report(
            "image reader", State.WARN, "does not run, or not yet: pictures are not looked at"
        )
        return
    waits = WAITING.samples(found.metrics)
    waiting = ", ".join(
        f"{waits[(task,)]} {_WAITS.get(task, task)}" for task in map(str, Task) if (task,) in waits
    )
    running = sum(PROCESSES.samples(found.metrics).values())
    yield Report(
        "image reader",
        State.OK,
        f"runs (pid {found.pid}) with {running} processes; waiting pictures: {waiting}",
    )
