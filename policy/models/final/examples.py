"""Messages as they are trained on: what was seen of each when it came, and what people say of
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from oborona.policy.expression.schema import FactSchema
from oborona.policy.facts import Facts
from oborona.policy.models.final.features import FeatureReader, Vector, general, particular
from oborona.policy.models.final.trees import MAX_FEATURES
from oborona.types import RuleHit

# messages that a rule or word must be seen in, to be trained on: fewer tell of those messages alone
RARE: Final = 5


class FinalExample(msgspec.Struct, frozen=True, kw_only=True):
    """A message."""

    name: str  # its path, for the list of errors
    time: float  # Unix seconds at which it came; 0 = not known
    spam: bool  # by people's word
    score: float  # of the rules alone
    numbers: Vector  # of the features that every message has
    marks: frozenset[str]  # those of its own
    weight: float = 1.0  # beside others of its kind, above 0


class ExampleBuilder:
    """Makes examples of facts.

    Args:
        schema: the facts that are known.
    """

    def __init__(self, schema: FactSchema) -> None:
        self.names = general(schema)
        self._reader = FeatureReader(self.names, schema)

    def example(
        self,
        facts: Facts,
        hits: Sequence[RuleHit],
        *,
        name: str,
        time: float,
        spam: bool,
        score: float,
        unknown: Collection[str] = (),
    ) -> FinalExample:
        """Return the example of a message; see `FinalExample` for the arguments.

        Features of facts that are `unknown` are not a number, as facts are that are none.
        """
        numbers = self._reader.read(facts, hits)
        if unknown:
            gone = {*unknown, *(f"len({name})" for name in unknown)}
            numbers[[place for place, name in enumerate(self.names) if name in gone]] = np.nan
        return FinalExample(
            name=name,
            time=time,
            spam=spam,
            score=score,
            numbers=numbers,
            marks=frozenset(particular(facts, hits)),
        )


class ExampleTable(msgspec.Struct, frozen=True, kw_only=True):
    """Examples as rows, features as columns."""

    features: tuple[str, ...]
    numbers: NDArray[np.float32]
    spam: NDArray[np.bool_]
    scores: NDArray[np.float64]
    weights: NDArray[np.float64]


def example_table(examples: Sequence[FinalExample], names: Sequence[str]) -> ExampleTable:
    """Return examples as a table, without what is the same in all of them or rare.

    Args:
        examples: in the order in which they came.
        names: of their numbers.
    """
    numbers = np.array([example.numbers for example in examples], np.float32)
    varied = [place for place in range(len(names)) if len(np.unique(numbers[:, place])) > 1]
    counts = Counter(mark for example in examples for mark in example.marks)
    most = len(examples) - RARE
    common = sorted(
        (mark for mark, often in counts.items() if RARE <= often <= most),
        key=lambda mark: (-counts[mark], mark),
    )
    common = sorted(common[: MAX_FEATURES - len(varied)])
    place_of = {mark: place for place, mark in enumerate(common)}
    marks = np.zeros((len(examples), len(common)), np.float32)
    for row, example in enumerate(examples):
        marks[row, [place_of[mark] for mark in example.marks if mark in place_of]] = 1.0
    return ExampleTable(
        features=(*(names[place] for place in varied), *common),
        numbers=np.hstack((numbers[:, varied], marks)),
        spam=np.array([example.spam for example in examples], np.bool_),
        scores=np.array([example.score for example in examples], np.float64),
        weights=np.array([example.weight for example in examples], np.float64),
    )
