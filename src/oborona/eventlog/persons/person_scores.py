"""What a model says of the persons of a log, for its rules: a day's own in the pass over it, those
of the last day that was gone over in batches.

A model that can't be used says nothing, which is said in the log: rules see none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa
from ibis.expr import types as ir

from oborona.config.eventlog import PersonModelMode
from oborona.errors import OboronaError
from oborona.eventlog.engines.engine import EventEngine
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.periods import DAY
from oborona.eventlog.persons.model import (
    SCORES,
    PersonModel,
    counted_columns,
    known_names,
    read_model,
)
from oborona.eventlog.policy_rules import EventRules
from oborona.eventlog.schema import LogSchema
from oborona.eventlog.slots import DAY_S
from oborona.eventlog.transform.person_features import person_features
from oborona.telemetry.log import event

HEEDED_DAYS: Final = 7  # that the scores of a day are heeded
FACT: Final = "person.score"

_log = logging.getLogger("oborona.eventlog")


class PersonScores:
    """The model of persons of one log, as its file is by now.

    Args:
        schema: of the log.
        folder: of the log.
        engine: what computes.
        path: of the model; it may not be there.
        mode: whether rules see what it says.
        clock: Unix seconds.
    """

    def __init__(
        self,
        schema: LogSchema,
        folder: LogFolder,
        engine: EventEngine,
        path: Path,
        mode: PersonModelMode,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._schema = schema
        self._folder = folder
        self._engine = engine
        self._path = path
        self._live = mode is PersonModelMode.LIVE
        self._clock = clock
        self._trouble = ""

    def model(self, rules: EventRules) -> PersonModel | None:
        """Return the model; None where there is none, or none that can be used.

        Args:
            rules: of the log, which declare its columns.
        """
        counted = () if rules.log is None else rules.log.counted
        try:
            found = read_model(self._path, known_names(self._schema, rules.log, counted))
        except OboronaError as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                event(
                    _log, logging.ERROR, "a model of persons says nothing",
                    log=self._schema.name, error=error,
                )  # fmt: skip
            return None
        self._trouble = ""
        return found

    def of_day(self, model: PersonModel, rules: EventRules, placed: ir.Table) -> pa.Table:
        """Return what a model says of the persons of a day.

        Args:
            model: of this log.
            rules: which declare its columns.
            placed: rows of `transform.day.placed_rows`.
        """
        if rules.log is None:
            return SCORES.empty_table()
        counted = counted_columns(self._schema, rules.log.counted)
        features = self._engine.collect(person_features(placed, rules.log, counted))
        return model.scores(features)

    def heeding(self, rules: EventRules, scores: pa.Table) -> EventRules:
        """Return rules that see scores, where the mode lets them."""
        if not self._live or FACT not in rules.needed:
            return rules
        return rules._replace(scores=self._engine.table("person_scores", scores))

    def of_last_day(self, rules: EventRules) -> EventRules:
        """Return rules that see the scores of the last day that was gone over; their version says
        which.
        """
        if not self._live or FACT not in rules.needed:
            return rules
        path = self._folder.last_scores()
        oldest = DAY.slot(self._clock() - HEEDED_DAYS * DAY_S)
        if path is None or path.name < oldest:
            return rules
        scores = self._engine.files("last_scores", [path], SCORES)
        return rules._replace(scores=scores, version=f"{rules.version} scores {path.stem}")
