"""What follows from a training: the record, the model in force, the word on which decides, and the
pages that are kept.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.errors import StoreError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.models.final.choice import FinalChoice
from oborona.policy.models.final.comparison import PairedComparison
from oborona.policy.models.final.file import decode, version
from oborona.policy.models.final.model import Forest
from oborona.policy.models.final.succession import FinalSuccession, TrainingReport, succession
from oborona.stores.final_training_record import replacing
from oborona.stores.site_models.level import is_common
from oborona.stores.site_models.turn import check_training_turn
from oborona.telemetry.log import event

PAGES: Final = "*.html"

log = logging.getLogger("oborona.final")


def follow_report(
    state: Path, report: TrainingReport, model: bytes, *, words: int
) -> FinalSuccession:
    """Do what follows from a report, and return it.

    Args:
        state: the state folder.
        report: of a training.
        model: file of the model that was trained; empty = none was.
        words: messages that people had spoken of.

    Raises:
        OboronaError: the model can't be used, a file can't be written, or it is another machine's
            turn to train; the model in force stays.
    """
    if report.trained:
        Forest(decode(model), SCHEMA)
        if version(model) != report.trained:
            raise StoreError("the model that was trained is not the one that its report tells of")
    with replacing(state, check_training_turn) as files:
        before, installed, record = files.choice(), files.installed(), files.record
        if installed != report.in_force:  # a person was faster
            report = msgspec.structs.replace(report, in_force=installed, since=PairedComparison())
        result = succession(before, report, held=record.holds(installed), worse_at=record.worse_at)
        choice = result.choice
        files.write_record(
            msgspec.structs.replace(
                record,
                reports=(*record.reports, report),
                words=words,
                automatic=_with(record.automatic, report.trained if result.installs else ""),
                chosen=_with(record.chosen, choice.own),
                choice=choice,
                worse_at=report.at if result.worse else record.worse_at,
                failed="",
                failed_at=0.0,
            ),
        )
        if result.installs:
            files.install(model)
        if choice != before:
            files.choose(choice)
    _say(before, result)
    return result


def note_failure(state: Path, why: str, now: float) -> None:
    """Write down that a training came to no end; what is in force stays.

    Raises:
        StoreError: it can't be written.
    """
    with replacing(state, check_training_turn) as files:
        files.write_record(msgspec.structs.replace(files.record, failed=why, failed_at=now))


def finish_interrupted(state: Path) -> None:
    """Write the choice that the record has, where who wrote the record did not come to it.

    In a site of several machines the log has all of it or nothing, and the keeper brings it here.

    Raises:
        StoreError: a file can't be read or written.
    """
    if is_common(state):
        return
    if not (state / state_files.FINAL_TRAINING).exists():
        return
    with replacing(state) as files:
        choice = files.record.choice
        missing = choice.at > files.choice().at
        if missing and choice.own in ("", files.installed()):
            files.choose(choice)


def keep_page(state: Path, page: str, *, at: float, most: int) -> None:
    """Keep the page of a training, and the newest of those before it.

    Args:
        state: the state folder.
        page: HTML.
        at: Unix seconds, of the training.
        most: pages.

    Raises:
        StoreError: it can't be written.
    """
    folder = state / state_files.FINAL_REPORTS
    try:
        if most:
            folder.mkdir(mode=0o700, exist_ok=True)
            name = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H%M%SZ}.html"
            write_atomically(folder / name, page.encode())
        for old in sorted(folder.glob(PAGES))[: -most or None]:
            with suppress(FileNotFoundError):
                old.unlink()
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}") from error


def _with(versions: tuple[str, ...], new: str) -> tuple[str, ...]:
    if not new:
        return versions
    return (*(one for one in versions if one != new), new)


def _say(before: FinalChoice, result: FinalSuccession) -> None:
    choice = result.choice
    if choice == before:
        return
    changed = choice.shipped != before.shipped or choice.shipped_version != before.shipped_version
    event(
        log,
        logging.WARNING if result.worse or changed else logging.INFO,
        "another final model decides"
        if choice.own != before.own
        else "what the shipped model may add has changed",
        own=choice.own or "none",
        before=before.own or "none",
        shipped=choice.shipped,
        why=choice.why,
    )
