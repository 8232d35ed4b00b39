"""The final model of a process: the file in the state folder, looked at once a second.

A file that is broken, or sees what is not known here, leaves the model as it was, and the log says
why, once; a file that is taken away takes the model with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from oborona.errors import OboronaError, StoreError
from oborona.metrics import Gauge
from oborona.policy.expression import FactSchema
from oborona.policy.facts import Facts
from oborona.policy.list_files import Look, file_state
from oborona.policy.models.final.file import MAX_OCTETS, decode, version
from oborona.policy.models.final.model import Forest
from oborona.policy.rules import VerdictLines
from oborona.policy.tables import FinalTable
from oborona.telemetry.log import event
from oborona.types import RuleHit

LOOK_S: Final = 1.0
WRONG: Final = Gauge(
    "oborona_final_wrong",
    (
        "1 while the worker refuses the file of the final model; the one before it, or the "
        "score of the rules, decides."
    ),
    (),
)
INFO: Final = Gauge("oborona_final_info", "Version of the final model in use.", ("version",))

log = logging.getLogger("oborona.final")


def read(path: Path) -> bytes | None:
    """Return the octets of a model's file, no more than a model can have and one.

    None where there is none.

    Raises:
        StoreError: it can't be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(MAX_OCTETS + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


class FollowedFinalModel:
    """Satisfies `FinalModel`, by the file as it is now.

    Args:
        path: of the file.
        schema: the facts that are known.

    Attributes:
        forest: in use; None = there is none.
        version: of it; empty = there is none.
        error: what is wrong with the file as it is; None when it is what is in use.
    """

    def __init__(self, path: Path, schema: FactSchema) -> None:
        self._path = path
        self._schema = schema
        self._seen: Look | None = None
        self.forest: Forest | None = None
        self.version = ""
        self.error: OboronaError | None = None
        WRONG.set_function(lambda: {(): self.error is not None})
        INFO.set_function(lambda: {(self.version,): 1} if self.version else {})

    def weigh(
        self, facts: Facts, hits: Sequence[RuleHit], table: FinalTable, lines: VerdictLines
    ) -> tuple[RuleHit, ...]:
        """Return its part of the score; see `FinalModel.weigh`."""
        return () if self.forest is None else self.forest.weigh(facts, hits, table, lines)

    def meaning(self) -> NDArray[np.float32] | None:
        """Return the weights of the model on meaning that it was trained with.

        None = there are none.
        """
        return None if self.forest is None else self.forest.trained.meaning

    def look(self) -> bool:
        """Take the file if it has changed.

        Return whether another model, or none, is in use now, or something is wrong that was not.
        """
        state = file_state(self._path)  # reading it says what is wrong
        if state == self._seen:
            return False
        self._seen = state
        before = self.version, str(self.error)
        try:
            octets = read(self._path)
            if octets is None:
                self.forest, self.version = None, ""
            else:
                self.forest, self.version = Forest(decode(octets), self._schema), version(octets)
            self.error = None
        except OboronaError as error:
            self.error = error
        return before != (self.version, str(self.error))

    def begin(self) -> None:
        """Take the file before there is mail."""
        if self.look():
            self._say()

    async def watch(self) -> None:
        """Follow the file for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            if await asyncio.to_thread(self.look):
                self._say()

    def _say(self) -> None:
        if self.error is not None:
            event(
                log,
                logging.ERROR,
                "final model refused, the old one stays",
                error=self.error,
                version=self.version or "none",
            )
        elif self.forest is None:
            event(log, logging.INFO, "no final model: the score of the rules decides")
        else:
            event(log, logging.INFO, "final model loaded", version=self.version)
