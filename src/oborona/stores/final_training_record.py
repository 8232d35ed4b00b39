"""What the training of the site's own final model found and did, in the state folder, and what a
person holds against it.

    final.training   the record: the last reports, which models it put in force, what failed
    final.choice     which model decides: what workers follow
    final.model      the model

The record is written first, the choice last: who is killed between two of them leaves the model
before in force, or the new one in shadow, and finds in the record what was chosen.  Whoever changes
any of them holds `final.lock`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.errors import OboronaError, StoreError
from oborona.lock import hold
from oborona.policy.models.final.choice import NO_CHOICE, FinalChoice, encode_choice
from oborona.policy.models.final.file import decode, version
from oborona.policy.models.final.succession import TrainingReport
from oborona.stores.final_model import read, read_choice

KEPT_REPORTS: Final = 30  # in the record: a month of days
KEPT_VERSIONS: Final = 100  # of models that were put in force, or decided
MAX_OCTETS: Final = 1 << 20
PATIENCE_S: Final = 10.0  # for another that replaces a model


class TrainingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What was found and done."""

    reports: tuple[TrainingReport, ...] = ()  # newest last
    words: int = 0  # messages that people had spoken of at the last of them
    automatic: tuple[str, ...] = ()  # versions that the training put in force, newest last
    chosen: tuple[str, ...] = ()  # versions that have decided, newest last
    choice: FinalChoice = NO_CHOICE  # the last one
    worse_at: float = 0.0  # Unix seconds, when one in force was last found worse; 0 = never
    held_by: str = ""  # command by which a person chose what is installed; empty = nobody did
    held_at: float = 0.0  # Unix seconds
    failed: str = ""  # why the last training came to no end; empty = it did
    failed_at: float = 0.0

    @property
    def last(self) -> TrainingReport | None:
        """The last report; None = there was none yet."""
        return self.reports[-1] if self.reports else None

    @property
    def tried_at(self) -> float:
        """When a training last ended, one way or the other; Unix seconds, 0 = never."""
        return max(self.failed_at, self.reports[-1].at if self.reports else 0.0)

    def holds(self, installed: str) -> bool:
        """Tell whether a person chose what is installed.

        Args:
            installed: version of the site's own model; empty = there is none.
        """
        return bool(self.held_by) or (installed != "" and installed not in self.automatic)


_DECODER: Final = msgspec.json.Decoder(TrainingRecord)


def read_record(state: Path) -> TrainingRecord:
    """Return the record of a site; without one nothing was found.

    Raises:
        StoreError: it can't be read, or is damaged.
    """
    path = state / state_files.FINAL_TRAINING
    octets = read(path)
    if octets is None:
        return TrainingRecord()
    if len(octets) > MAX_OCTETS:
        raise StoreError(f"{path}: larger than {MAX_OCTETS >> 10} KiB: no record of trainings")
    try:
        return _DECODER.decode(octets)
    except (ValueError, RecursionError) as fault:
        raise StoreError(f"{path}: no record of trainings: {fault}") from fault


def write_record(state: Path, record: TrainingRecord) -> None:
    """Replace the record.

    Raises:
        StoreError: it can't be written.
    """
    kept = msgspec.structs.replace(
        record,
        reports=record.reports[-KEPT_REPORTS:],
        automatic=record.automatic[-KEPT_VERSIONS:],
        chosen=record.chosen[-KEPT_VERSIONS:],
    )
    write_atomically(
        state / state_files.FINAL_TRAINING, msgspec.json.format(msgspec.json.encode(kept)) + b"\n"
    )


@contextmanager
def replacing(state: Path) -> Iterator[TrainingRecord]:
    """Give the record, and hold what others would change meanwhile; a damaged one is as none.

    Raises:
        StoreBusy: another is at it.
        StoreError: the lock can't be had.
    """
    with hold(
        state / state_files.FINAL_LOCK, "oborona, replacing a final model", patience_s=PATIENCE_S
    ):
        try:
            record = read_record(state)
        except StoreError:
            record = TrainingRecord(held_by="a record that is damaged")
        yield record


def install_model(state: Path, octets: bytes) -> bool:
    """Put a model of the site's own in force; the one before it is kept.

    Return whether it was not before.

    Raises:
        StoreError: a file can't be written; what was in force stays.
    """
    before = read(state / state_files.FINAL_MODEL)
    if before == octets:
        return False
    if before is not None and _is_model(before):
        write_atomically(state / state_files.FINAL_MODEL_BEFORE, before)
    write_atomically(state / state_files.FINAL_MODEL, octets)
    return True


def installed_version(state: Path) -> str:
    """Return the version of the site's own model; empty = there is none.

    Raises:
        StoreError: its file can't be read.
    """
    octets = read(state / state_files.FINAL_MODEL)
    return "" if octets is None else version(octets)


def hold_model(state: Path, record: TrainingRecord, command: str, now: float) -> None:
    """Write down that a person chose what is installed, and let a model that had decided before
    decide again.

    Args:
        state: the state folder; within `replacing`.
        record: as it is.
        command: by which it was chosen.
        now: Unix seconds.

    Raises:
        StoreError: a file can't be written.
    """
    installed, before = installed_version(state), readable_choice(state)
    own = installed if installed in record.chosen else ""
    choice = (
        before
        if before.own == own
        else msgspec.structs.replace(before, own=own, at=now, why=f"{command} by a person")
    )
    held = msgspec.structs.replace(record, held_by=command, held_at=now, choice=choice)
    write_record(state, held)
    if choice != before:
        write_choice(state, choice)


def readable_choice(state: Path) -> FinalChoice:
    """Return which model decides; where the file can't be used nothing was said."""
    try:
        return read_choice(state / state_files.FINAL_CHOICE)
    except OboronaError:
        return NO_CHOICE


def write_choice(state: Path, choice: FinalChoice) -> None:
    """Replace the word on which model decides; workers follow within two seconds.

    Raises:
        StoreError: it can't be written.
    """
    write_atomically(state / state_files.FINAL_CHOICE, encode_choice(choice))


def _is_model(octets: bytes) -> bool:
    """Tell whether a file holds a model: what does not is not worth going back to."""
    try:
        decode(octets)
    except OboronaError:
        return False
    return True
