"""What the training of the site's own final model found and did, in the state folder, and what a
person holds against it.

    final.training   the record: the last reports, which models it put in force, what failed
    final.choice     which model decides: what workers follow
    final.model      the model

The record is written first, the choice last: who is killed between two of them leaves the model
before in force, or the new one in shadow, and finds in the record what was chosen.  Whoever changes
any of them holds `final.lock`, and in a site of several machines the turn at `site-models.db`, by
which all machines have them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.errors import OboronaError, StoreError
from oborona.lock import hold
from oborona.policy.models.final.choice import (
    NO_CHOICE,
    FinalChoice,
    decode_choice,
    encode_choice,
)
from oborona.policy.models.final.file import decode, version
from oborona.policy.models.final.succession import TrainingReport
from oborona.replication.link import read_link
from oborona.stores.final_model import read, read_choice
from oborona.stores.site_models.level import bring_level, is_common, usable_files
from oborona.stores.site_models.store import SiteModelStore

if TYPE_CHECKING:
    from oborona.replication.replica import TurnGuard

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


@contextmanager
def replacing(state: Path, guard: TurnGuard | None = None) -> Iterator[FinalModelFiles]:
    """Give the files of the final models, and hold what others would change meanwhile.

    In a site of several machines what is written is kept until the end, and then on all machines,
    or on none.

    Args:
        state: the state folder.
        guard: raises what keeps this process from writing for the site.

    Raises:
        StoreBusy: another is at it.
        StoreError: the lock can't be had, or the site's log not be reached: nothing was changed.
    """
    with hold(
        state / state_files.FINAL_LOCK, "oborona, replacing a final model", patience_s=PATIENCE_S
    ):
        link = read_link(state)
        if link is None or not is_common(state):
            yield FinalModelFiles(state)
            return
        with SiteModelStore(state / state_files.SITE_MODELS) as store:
            store.guard = guard
            with store.transaction():
                bring_level(state, store)
                begun = store.standing() is not None
                files = FinalModelFiles(state, {} if begun else usable_files(state))
                yield files
                if files.kept:
                    store.replace(files.kept, machine=link.machine, now=time.time())
            # it is in force everywhere; where this fails the keeper goes on, and says why
            with suppress(StoreError):
                bring_level(state, store)


class FinalModelFiles:
    """The files of the final models while nobody else replaces them.

    Args:
        state: the state folder.
        kept: where what is written is kept, until all machines have it; None = it is written to the
            files, as it is said.

    Attributes:
        kept: what was written, by name; None = there is none any more.
        record: what was found and done; a damaged one holds what is installed.
    """

    def __init__(self, state: Path, kept: Mapping[str, bytes] | None = None) -> None:
        self.state = state
        self.kept: dict[str, bytes | None] | None = None if kept is None else dict(kept)
        try:
            self.record = read_record(state)
        except StoreError:
            self.record = TrainingRecord(held_by="a record that is damaged")

    def read(self, name: str) -> bytes | None:
        """Return what a file holds; None = there is none.

        Raises:
            StoreError: it can't be read.
        """
        if self.kept is not None and name in self.kept:
            return self.kept[name]
        return read(self.state / name)

    def write(self, name: str, octets: bytes) -> None:
        """Let a file hold something else.

        Raises:
            StoreError: it can't be written.
        """
        if self.kept is not None:
            self.kept[name] = octets
        else:
            write_atomically(self.state / name, octets)

    def remove(self, name: str) -> None:
        """Take a file away, which is there.

        Raises:
            StoreError: it can't be.
        """
        if self.kept is not None:
            self.kept[name] = None
            return
        try:
            (self.state / name).unlink()
        except OSError as error:
            raise StoreError(f"{self.state / name}: {error.strerror}") from error

    def write_record(self, record: TrainingRecord) -> None:
        """Replace the record.

        Raises:
            StoreError: it can't be written.
        """
        self.record = msgspec.structs.replace(
            record,
            reports=record.reports[-KEPT_REPORTS:],
            automatic=record.automatic[-KEPT_VERSIONS:],
            chosen=record.chosen[-KEPT_VERSIONS:],
        )
        octets = msgspec.json.format(msgspec.json.encode(self.record)) + b"\n"
        self.write(state_files.FINAL_TRAINING, octets)

    def installed(self) -> str:
        """Return the version of the site's own model; empty = there is none.

        Raises:
            StoreError: its file can't be read.
        """
        octets = self.read(state_files.FINAL_MODEL)
        return "" if octets is None else version(octets)

    def install(self, octets: bytes) -> bool:
        """Put a model of the site's own in force; the one before it is kept.

        Return whether it was not before.

        Raises:
            StoreError: a file can't be written; what was in force stays.
        """
        before = self.read(state_files.FINAL_MODEL)
        if before == octets:
            return False
        if before is not None and _is_model(before):
            self.write(state_files.FINAL_MODEL_BEFORE, before)
        self.write(state_files.FINAL_MODEL, octets)
        return True

    def choice(self) -> FinalChoice:
        """Return which model decides; where the file can't be used nothing was said."""
        try:
            octets = self.read(state_files.FINAL_CHOICE)
            return NO_CHOICE if octets is None else decode_choice(octets)
        except OboronaError:
            return NO_CHOICE

    def choose(self, choice: FinalChoice) -> None:
        """Replace the word on which model decides; workers follow within two seconds.

        Raises:
            StoreError: it can't be written.
        """
        self.write(state_files.FINAL_CHOICE, encode_choice(choice))

    def hold(self, command: str, now: float) -> None:
        """Write down that a person chose what is installed, and let a model that had decided before
        decide again.

        Args:
            command: by which it was chosen.
            now: Unix seconds.

        Raises:
            StoreError: a file can't be written.
        """
        installed, before, record = self.installed(), self.choice(), self.record
        own = installed if installed in record.chosen else ""
        choice = (
            before
            if before.own == own
            else msgspec.structs.replace(before, own=own, at=now, why=f"{command} by a person")
        )
        self.write_record(
            msgspec.structs.replace(record, held_by=command, held_at=now, choice=choice)
        )
        if choice != before:
            self.choose(choice)


def installed_version(state: Path) -> str:
    """Return the version of the site's own model; empty = there is none.

    Raises:
        StoreError: its file can't be read.
    """
    octets = read(state / state_files.FINAL_MODEL)
    return "" if octets is None else version(octets)


def readable_choice(state: Path) -> FinalChoice:
    """Return which model decides; where the file can't be used nothing was said."""
    try:
        return read_choice(state / state_files.FINAL_CHOICE)
    except OboronaError:
        return NO_CHOICE


def _is_model(octets: bytes) -> bool:
    """Tell whether a file holds a model: what does not is not worth going back to."""
    try:
        decode(octets)
    except OboronaError:
        return False
    return True
