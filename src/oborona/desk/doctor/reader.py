"""What `oborona doctor` says of pictures: what looking and reading take, and whether the reader
runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from oborona.daemon.reader.picture_queue import (
    PROCESSES,
    WAITING,
    missing_requirement,
    wanted_tasks,
)
from oborona.daemon.reader.wire import ReaderTask
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.telemetry import status

_WANTED: Final = (
    (ReaderTask.LOOK, "QR codes in pictures", "codes in pictures and their likeness are not seen"),
    (ReaderTask.READ, "text in pictures (OCR)", "text in pictures is not read"),
    (ReaderTask.MEAN, "meaning of texts", "grey mail is judged without it"),
)
_WAITS: Final[dict[str, str]] = {ReaderTask.LOOK: "to scan for codes", ReaderTask.READ: "for OCR"}


def reader(context: Site) -> Iterator[CheckReport]:
    """Look at what pictures need."""
    settings = context.loaded.settings.reader
    if not settings.enabled:
        yield CheckReport(
            "pictures",
            CheckState.WARN,
            "reader.enabled is off: pictures are counted by their checksums alone",
        )
        return
    for task, subject, lacks in _WANTED:
        if task not in wanted_tasks(settings):
            continue
        missing = missing_requirement(settings, task)
        if missing:
            yield CheckReport(subject, CheckState.WARN, f"not there: {missing}; {lacks}")
        elif task is ReaderTask.READ:
            yield CheckReport(subject, CheckState.OK, f"Tesseract with {settings.languages}")
    reader_status = status.read_process(context.state, status.ReaderStatus, time.time())
    if reader_status is None:
        yield CheckReport(
            "image reader", CheckState.WARN, "does not run, or not yet: pictures are not looked at"
        )
        return
    waits = WAITING.samples(reader_status.metrics)
    waiting = ", ".join(
        f"{waits[(task,)]} {_WAITS.get(task, task)}"
        for task in map(str, ReaderTask)
        if (task,) in waits
    )
    running = sum(PROCESSES.samples(reader_status.metrics).values())
    yield CheckReport(
        "image reader",
        CheckState.OK,
        f"runs (pid {reader_status.pid}) with {running} processes; waiting pictures: {waiting}",
    )
