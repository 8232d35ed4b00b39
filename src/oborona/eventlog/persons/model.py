"""A trained model of persons in use: numbers of persons in, scores and their reasons out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oborona.errors import StoreError
from oborona.eventlog.rules.columns import LogColumns
from oborona.eventlog.schema import LogSchema
from oborona.eventlog.transform.person_features import feature_names
from oborona.policy.models import odds
from oborona.policy.models.final.contributions import contributions
from oborona.policy.models.final.file import BrokenModel, TrainedModel, decode, version

SCORES: Final = pa.schema(
    [
        pa.field("person", pa.int64(), nullable=False),
        pa.field("score", pa.float64(), nullable=False),  # probability of fraud
        pa.field("why", pa.string(), nullable=False),  # features that add most; empty = nobody asks
    ]
)
EXPLAINED: Final = 100  # persons of a day: each takes up to a tenth of a second
SUSPECT: Final = 0.5  # score from which on it is said why
SHOWN: Final = 4  # features
AT_ONCE: Final = 1024  # persons


class PersonModel:
    """A model over the persons of one log.

    Args:
        octets: of its file.
        names: of the numbers that are known of each person.

    Raises:
        BrokenModel: it is none, or one of something else.
    """

    def __init__(self, octets: bytes, names: Sequence[str]) -> None:
        self.trained: TrainedModel = decode(octets)
        self.version = version(octets)
        self.names = tuple(names)
        unknown = [name for name in self.trained.features if name not in self.names]
        if unknown:
            raise BrokenModel(
                f"it asks for {unknown[0]!r}, which is known of no person of this log: it is a model "
                "of another log, or of messages"
            )
        self._places = [self.names.index(name) for name in self.trained.features]

    def scores(self, persons: pa.Table) -> pa.Table:
        """Return what it says of each person.

        Args:
            persons: of `transform.person_features`.
        """
        columns = [f"n{place}" for place in self._places]
        numbers = np.column_stack(
            [persons.column(name).to_numpy().astype(np.float32) for name in columns]
        ).reshape(-1, len(columns))
        calibration = self.trained.calibration
        raw = self._raw(numbers)
        scores = odds.probability(calibration.slope * raw + calibration.offset)
        heaviest = np.argsort(-scores, kind="stable")[:EXPLAINED]
        why = [""] * len(scores)
        for place in heaviest[scores[heaviest] >= SUSPECT]:
            why[place] = self._why(numbers[place])
        return pa.table(
            {"person": persons.column("person"), "score": scores, "why": why}, schema=SCORES
        )

    def _raw(self, numbers: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what the trees say of each, as `Trees.raw` of one."""
        trees = self.trained.trees
        powers = 1 << np.arange(trees.depth, dtype=np.intp)
        raw = np.empty(len(numbers))
        for begin in range(0, len(numbers), AT_ONCE):
            some = numbers[begin : begin + AT_ONCE]
            leaves = (some[:, trees.places] > trees.borders) @ powers
            said = trees.values[np.arange(len(trees.values)), leaves].sum(axis=1)
            raw[begin : begin + AT_ONCE] = trees.scale * said + trees.bias
        return raw

    def _why(self, vector: NDArray[np.float32]) -> str:
        """Return the features that add most to the odds of fraud, in words."""
        _, parts = contributions(self.trained.trees, vector)
        heaviest = np.argsort(-parts, kind="stable")[:SHOWN]
        return ", ".join(
            f"{self.trained.features[place]} {vector[place]:g} "
            f"({self.trained.calibration.slope * parts[place]:+.1f})"
            for place in heaviest
            if parts[place] > 0
        )


def known_names(
    schema: LogSchema, log: LogColumns | None, counted: Sequence[str]
) -> tuple[str, ...]:
    """Return the names of what is known of a person of a log; none where no policy declares it."""
    return () if log is None else feature_names(log, counted_columns(schema, counted))


def counted_columns(schema: LogSchema, counted: Sequence[str]) -> tuple[str, ...]:
    """Return the columns whose distinct values a model is told of."""
    return tuple(column for column in counted if column not in schema.outcomes)


def read_model(path: Path, names: Sequence[str]) -> PersonModel | None:
    """Return the model of a file; None where there is none.

    Raises:
        BrokenModel: it can't be used.
        StoreError: it can't be read.
    """
    try:
        return PersonModel(path.read_bytes(), names)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
