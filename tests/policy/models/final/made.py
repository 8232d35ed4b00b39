"""Facts and messages made up for the final model: what makes them spam is known, and not a single
rule.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from oborona import state_files
from oborona.policy.counts import MessageCounts
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.models.content.calibration import Calibration
from oborona.policy.models.final.examples import ExampleBuilder, FinalExample
from oborona.policy.models.final.file import TrainedModel, encode
from oborona.policy.models.final.summary import TrainingSummary
from oborona.policy.models.final.trees import Trees
from oborona.types import Metric, RuleHit, RuleMode, Shingle, Window


def counts(seen: int, spam: int) -> list[list[int]]:
    """The counts of one piece, the same in all windows."""
    row = [0] * len(Metric)
    row[Metric.SEEN], row[Metric.SPAM] = seen, spam
    return [list(row) for _ in Window]


def facts(chance: random.Random, *, spam: bool) -> Facts:
    seen = chance.randrange(50)
    known = MessageCounts(
        [Shingle(14, 1)], [counts(seen, int(seen * (chance.random() if spam else 0.2)))]
    )
    return Facts(
        known=known,
        text_words=chance.randrange(300),
        links=chance.randrange(2, 9) if spam else chance.randrange(5),
        text_language=chance.choice(("en", "ru", "")),
        spf_result="fail" if spam and chance.random() < 0.5 else "pass",
        model_content=None
        if chance.random() < 0.2
        else min(1.0, chance.random() * (2 if spam else 1)),
        findings=frozenset({"hidden-text"} if chance.random() < (0.4 if spam else 0.1) else ()),
        attachments_kinds=frozenset({"zip"} if chance.random() < 0.2 else ()),
        links_domains=frozenset(f"{number}.example" for number in range(chance.randrange(3))),
    )


def hits(chance: random.Random, *, spam: bool) -> list[RuleHit]:
    found = []
    if chance.random() < (0.6 if spam else 0.1):
        found.append(RuleHit(name="ODD", score=40.0))
    if chance.random() < (0.5 if spam else 0.05):
        found.append(RuleHit(name="QUIET", score=30.0, mode=RuleMode.SHADOW))
    return found


def examples(number: int, *, seed: int = 1) -> tuple[list[FinalExample], tuple[str, ...]]:
    chance, observer, made = random.Random(seed), ExampleBuilder(SCHEMA), []
    for place in range(number):
        spam = chance.random() < 0.4
        fired = hits(chance, spam=spam)
        score = sum(hit.score for hit in fired if hit.mode is RuleMode.LIVE)
        made.append(
            observer.example(
                facts(chance, spam=spam),
                fired,
                name=f"mail/{place}",
                time=1e9 + place,
                spam=spam,
                score=score,
            )
        )
    return made, observer.names


def trees(
    places: Sequence[Sequence[int]],
    borders: Sequence[Sequence[float]],
    values: Sequence[Sequence[float]],
) -> Trees:
    leaves = np.array(values, np.float64)
    return Trees(
        places=np.array(places, np.intp),
        borders=np.array(borders, np.float32),
        values=leaves,
        weights=np.ones_like(leaves),
        scale=1.0,
        bias=0.0,
    )


SILENT: Final = TrainedModel(
    features=("html",),
    trees=trees([[0]], [[0.5]], [[0.0, 0.0]]),
    calibration=Calibration(),
    policy="none",
    trained_at=0.0,
    summary=TrainingSummary(),
    points=1.0,
)
"""A model that adds nothing: installed in place of the one that comes with Oborona, it leaves the
score to the rules.
"""


def leave_to_rules(state: Path) -> None:
    """Have a site's score be that of its rules, whatever model comes with Oborona."""
    state.mkdir(parents=True, exist_ok=True)
    (state / state_files.FINAL_SHIPPED).write_bytes(encode(SILENT))
