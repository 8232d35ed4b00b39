"""What `oborona doctor` says of the stores as files: is each the one that was begun here, was one
lost, is one damaged.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from oborona import state_files, store_birth
from oborona.counters.spool import parse_name
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.octets import size
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.journal.schema import suspicion
from oborona.lock import holder
from oborona.sqlite_file import closed_on_error, connect

PUT_BACK: Final = (
    "stop the daemon and put it back from a backup (`oborona restore`); started without, "
    "it begins anew"
)

WAITS_S: Final = 30.0  # the journal is tried again each ten seconds at most


def stores(context: Site) -> Iterator[CheckReport]:
    """Look at every store that was begun here."""
    records = store_birth.read_records(context.state)
    wrong = [
        report
        for store, record in records.items()
        for report in _describe_damage(context.state, store, record, time.time())
    ]
    yield from wrong
    if records and not wrong:
        yield CheckReport("stores", CheckState.OK, f"{', '.join(records)}: as they were begun")
    yield from _spool(context.state, time.time())
    doubt = suspicion(context.state / state_files.JOURNAL)
    if doubt:
        looked_at = holder(context.state / state_files.KEEPER_LOCK) is not None
        yield CheckReport(
            "journal",
            CheckState.FAIL,
            doubt,
            "the keeper reads all of it, and begins a new one where it must"
            if looked_at
            else (
                "start the keeper (oborona serve): it reads all of it, and begins a new one "
                "where it must"
            ),
        )


def _spool(state: Path, now: float) -> Iterator[CheckReport]:
    """Look at what is acknowledged and not in the journal yet.

    A daemon at work writes it within a second.
    """
    folder = state / state_files.JOURNAL_SPOOL
    if not folder.is_dir():
        return
    damaged, waiting, oldest = 0, 0, now
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # written just now
            details = path.stat()
            damaged += ".damaged-" in path.name
            if parse_name(path.name) is not None and details.st_size:
                waiting += details.st_size
                oldest = min(oldest, details.st_mtime)
    if damaged:
        yield CheckReport(
            "journal",
            CheckState.WARN,
            (
                f"{damaged} files in {folder} are damaged: what could be read of them is in "
                f"the journal, the rest is not"
            ),
            "the log says how much that was; remove them when nobody wants to look",
        )
    if not waiting:
        return
    words = (
        f"{size(waiting)} of acknowledged messages wait in {folder}, the oldest "
        f"{now - oldest:.0f} s"
    )
    if not any(
        holder(state / name) for name in (state_files.WORKERS_LOCK, state_files.KEEPER_LOCK)
    ):
        yield CheckReport(
            "journal", CheckState.WARN, words, "start the daemon: it takes them into the journal"
        )
    elif now - oldest > WAITS_S:
        yield CheckReport(
            "journal", CheckState.FAIL, words, "the journal can't be written; the log says why"
        )


def _describe_damage(
    state: Path, store: str, record: store_birth.StoreBirthRecord, now: float
) -> Iterator[CheckReport]:
    path, since = state / store, time.strftime("%Y-%m-%d", time.localtime(record.since))
    if not record.off and not path.exists():
        yield CheckReport(
            "stores", CheckState.FAIL, f"{path} is gone; it was begun {since}", PUT_BACK
        )
        return
    if record.off:
        yield CheckReport(
            "stores", CheckState.FAIL, f"not used since the last start: {record.off}", PUT_BACK
        )
        return
    if path.is_file() and not path.stat().st_size:
        yield CheckReport(
            "stores", CheckState.FAIL, f"{path} is empty; it was begun {since}", PUT_BACK
        )
        return
    if path.suffix == ".db":
        try:
            with closing(connect(path, write=False)) as db, closed_on_error(db, path):
                birth = store_birth.stored_birth(db)
        except StoreError as error:
            yield CheckReport("stores", CheckState.FAIL, str(error), PUT_BACK)
            return
        if birth is not None and store_birth.is_foreign(birth, state):
            yield CheckReport(
                "stores", CheckState.FAIL, f"{path} was begun with another site's secret", PUT_BACK
            )
        elif record.mark and (birth is None or birth.mark != record.mark):
            words = f"{path} is another file than the one that was begun {since}"
            yield CheckReport(
                "stores",
                CheckState.WARN,
                words,
                "the next start says of when it is, and goes on with it",
            )
    if record.lost and now - record.lost_at < store_birth.LOSS_REPORTED_S:
        lost = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.lost_at))
        yield CheckReport(
            "stores",
            CheckState.WARN,
            f"{path} was lost and begun anew, found {lost}: it {record.lost}",
            (
                "what it held is in a backup, if there is one (`oborona restore`); this is "
                "said for 30 days"
            ),
        )
