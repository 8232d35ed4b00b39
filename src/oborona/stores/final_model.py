"""The final models of a process: the site's own, in the state folder, and the one that comes with
Oborona, with the word on which of them decides; followed by `oborona.doorbell`.

A file that is broken, or sees what is not known here, leaves the model as it was, and the log says
why, once; a file that is taken away takes the model with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from oborona import state_files
from oborona.doorbell import Doorbell
from oborona.errors import OboronaError, StoreError
from oborona.metrics import Gauge
from oborona.policy.expression import FactSchema
from oborona.policy.facts import Facts
from oborona.policy.final_table import FinalTable
from oborona.policy.groups import RuleGroups
from oborona.policy.list_files import Look, file_state
from oborona.policy.models.final import file
from oborona.policy.models.final.choice import (
    NO_CHOICE,
    FinalChoice,
    ShippedStanding,
    decode_choice,
)
from oborona.policy.models.final.file import MAX_OCTETS, BrokenModel, decode, version
from oborona.policy.models.final.model import Forest, decides
from oborona.policy.rules import VerdictLines
from oborona.telemetry.log import event
from oborona.types import RuleHit, RuleMode

WRONG: Final = Gauge(
    "oborona_final_wrong",
    (
        "1 while the worker refuses the file of the final model; the one before it, or the "
        "score of the rules, decides."
    ),
    (),
)
INFO: Final = Gauge("oborona_final_info", "Version of the final model in use.", ("version",))
SHIPPED_INFO: Final = Gauge(
    "oborona_final_shipped_info",
    "Version of the model that adds to the rules, and what the site's own mail said of it.",
    ("version", "standing"),
)
SHIPPED_FILE: Final = Path(file.__file__).with_name("shipped.model")
"""The model that comes with Oborona; made by `benchmarks/shipped_model.py`."""

log = logging.getLogger("oborona.final")


def read(path: Path) -> bytes | None:
    """Return the octets of a model's file, no more than a model can have and one.

    None where there is none.

    Raises:
        StoreError: it can't be read.
    """
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_OCTETS + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


def read_first(paths: Sequence[Path]) -> tuple[Path, bytes] | None:
    """Return the first of some files that is there, as `read` does; None = none of them is.

    Raises:
        StoreError: it can't be read.
    """
    for path in paths:
        if (octets := read(path)) is not None:
            return path, octets
    return None


def read_choice(path: Path) -> FinalChoice:
    """Return what a file says of which model decides; without one nothing was said.

    Raises:
        StoreError: it can't be read.
        BrokenModel: it is no such file.
    """
    octets = read(path)
    return NO_CHOICE if octets is None else decode_choice(octets)


def shipped_paths(state: Path) -> tuple[Path, ...]:
    """Return where the model that adds to the rules may be: an admin's, and the one that came."""
    return state / state_files.FINAL_SHIPPED, SHIPPED_FILE


def standing_of(shipped: str, choice: FinalChoice) -> ShippedStanding:
    """Return what a choice says of a version of the model that adds to the rules."""
    return choice.shipped if choice.shipped_version == shipped else ShippedStanding.UNPROVED


class _FollowedForest:
    """The model of one file; the first of its paths that is there."""

    def __init__(self, paths: Sequence[Path], schema: FactSchema, *, adds: bool) -> None:
        self._paths = tuple(paths)
        self._schema = schema
        self._adds = adds
        self._seen: tuple[Look, ...] | None = None
        self.forest: Forest | None = None
        self.version = ""
        self.error: OboronaError | None = None

    def look(self) -> None:
        """Take the file if it has changed."""
        state = tuple(map(file_state, self._paths))  # reading it says what is wrong
        if state == self._seen:
            return
        self._seen = state
        try:
            found = read_first(self._paths)
            if found is None:
                self.forest, self.version = None, ""
            else:
                self.forest, self.version = self._usable(found[1]), version(found[1])
            self.error = None
        except OboronaError as error:
            self.error = error

    def _usable(self, octets: bytes) -> Forest:
        trained = decode(octets)
        if bool(trained.points) is not self._adds:
            raise BrokenModel(
                "a model that stands alone in place of one that adds to the rules"
                if self._adds
                else "a model that adds to the rules in place of one that stands alone"
            )
        return Forest(trained, self._schema)


class FollowedFinalModel:
    """Satisfies `FinalModel`, by the files as they are now.

    Args:
        path: of the site's own model.
        schema: the facts that are known.
        shipped: where the model that adds to the rules may be, the first that is there.
        choice: of the file that says which decides; None = there is none.

    Attributes:
        choice: what that file says.
    """

    def __init__(
        self,
        path: Path,
        schema: FactSchema,
        *,
        shipped: Sequence[Path] = (),
        choice: Path | None = None,
    ) -> None:
        self._paths = (path, *shipped, *(() if choice is None else (choice,)))
        self._own = _FollowedForest((path,), schema, adds=False)
        self._shipped = _FollowedForest(shipped, schema, adds=True)
        self._choice_path = choice
        self._choice_seen: Look | None = None
        self._choice_error: OboronaError | None = None
        self.choice = NO_CHOICE
        WRONG.set_function(lambda: {(): self.error is not None})
        INFO.set_function(lambda: {(self.version,): 1} if self.version else {})
        SHIPPED_INFO.set_function(
            lambda: {(self._shipped.version, self.standing): 1} if self._shipped.version else {}
        )

    @classmethod
    def of_site(cls, state: Path, schema: FactSchema) -> Self:
        """Return the models of a site: its own, and the one that comes with Oborona."""
        return cls(
            state / state_files.FINAL_MODEL,
            schema,
            shipped=shipped_paths(state),
            choice=state / state_files.FINAL_CHOICE,
        )

    @property
    def forest(self) -> Forest | None:
        """The site's own model in use; None = there is none."""
        return self._own.forest

    @property
    def shipped(self) -> Forest | None:
        """The model that adds to the rules; None = there is none."""
        return self._shipped.forest

    @property
    def version(self) -> str:
        """Of the site's own model; empty = there is none."""
        return self._own.version

    @property
    def in_use(self) -> tuple[str, str, FinalChoice]:
        """What its word depends on."""
        return self._own.version, self._shipped.version, self.choice

    @property
    def error(self) -> OboronaError | None:
        """What is wrong with a file as it is; None when all are what is in use."""
        return self._own.error or self._shipped.error or self._choice_error

    @property
    def standing(self) -> ShippedStanding:
        """What the site's own mail said of the model that adds to the rules."""
        return standing_of(self._shipped.version, self.choice)

    @property
    def better(self) -> bool:
        """Whether the site's own model was found better than what stands without it."""
        return self.version != "" and self.choice.own == self.version

    def weigh(
        self,
        facts: Facts,
        hits: Sequence[RuleHit],
        table: FinalTable,
        lines: VerdictLines,
        groups: RuleGroups,
    ) -> tuple[RuleHit, ...]:
        """Return the part of the score of both; see `FinalModel.weigh`.

        Where the site's own decides, the other is asked only where that adds to its word.
        """
        own, better = self.forest, self.better
        if own is None:
            return self._added(facts, hits, table, lines, groups)
        if decides(table, better=better):
            beside = self.beside(facts, hits, table, lines, groups)
            return own.weigh(facts, hits, table, lines, better=better, beside=beside)
        added = self._added(facts, hits, table, lines, groups)
        hits = (*hits, *added)
        beside = _points(added)
        return (*added, *own.weigh(facts, hits, table, lines, better=better, beside=beside))

    def beside(
        self,
        facts: Facts,
        hits: Sequence[RuleHit],
        table: FinalTable,
        lines: VerdictLines,
        groups: RuleGroups,
    ) -> float:
        """Return the points that the shipped model adds to hits, were the site's own not there.

        0 where the site's own does not ask for them.
        """
        if self.forest is None or not self.forest.trained.over:
            return 0.0
        return _points(self._added(facts, hits, table, lines, groups))

    def _added(
        self,
        facts: Facts,
        hits: Sequence[RuleHit],
        table: FinalTable,
        lines: VerdictLines,
        groups: RuleGroups,
    ) -> tuple[RuleHit, ...]:
        if self.shipped is None:
            return ()
        return self.shipped.add(facts, hits, table, lines, self.standing, groups)

    def meaning(self) -> NDArray[np.float32] | None:
        """Return the weights of the model on meaning that it was trained with.

        None = there are none.
        """
        return None if self.forest is None else self.forest.trained.meaning

    def look(self) -> bool:
        """Take the files that have changed.

        Return whether another model, or none, is in use now, or something is wrong that was not.
        """
        before = self.in_use, str(self.error)
        self._own.look()
        self._shipped.look()
        self._look_at_choice()
        return before != (self.in_use, str(self.error))

    def _look_at_choice(self) -> None:
        if self._choice_path is None:
            return
        state = file_state(self._choice_path)
        if state == self._choice_seen:
            return
        self._choice_seen = state
        try:
            self.choice = read_choice(self._choice_path)
            self._choice_error = None
        except OboronaError as error:
            self._choice_error = error

    def begin(self) -> None:
        """Take the files before there is mail."""
        if self.look():
            self._say()

    async def watch(self) -> None:
        """Follow the files for ever."""
        with Doorbell(*self._paths) as bell:
            while True:
                await bell.rung()
                if await asyncio.to_thread(self.look):
                    self._say()

    def _say(self) -> None:
        shipped = f"{self._shipped.version} {self.standing}" if self.shipped else "none"
        if self.error is not None:
            event(
                log,
                logging.ERROR,
                "final model refused, the old one stays",
                error=self.error,
                version=self.version or "none",
                shipped=shipped,
            )
        elif self.forest is None:
            event(
                log,
                logging.INFO,
                "no final model: the score of the rules decides"
                if self.shipped is None
                else "no final model of the site's own: the shipped one adds to the rules",
                shipped=shipped,
            )
        else:
            event(
                log,
                logging.INFO,
                "final model loaded",
                version=self.version,
                better=self.better,
                shipped=shipped,
            )


def _points(hits: Sequence[RuleHit]) -> float:
    return sum(hit.score for hit in hits if hit.mode is RuleMode.LIVE)
