"""The final model in a scan: shadow scores nothing, live makes the whole, and every part of its
word is told.
"""

from __future__ import annotations

import random

import msgspec
import numpy as np
import pytest

from oborona.feedback.final.train import TrainingResult
from oborona.policy.counts import MessageCounts
from oborona.policy.decision import decide
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.final_table import FinalMode, FinalTable
from oborona.policy.models.content.calibration import Calibration
from oborona.policy.models.final.features import NAME, UnknownFeature
from oborona.policy.models.final.law import log_odds
from oborona.policy.models.final.model import Forest, probability
from oborona.policy.rules import VerdictLines
from oborona.types import Action, RuleHit, RuleMode, Verdict
from tests.policy.models.final.made import facts, hits, trees

LINES = VerdictLines(spam_score=100, reject_score=200)
NOBODY = Facts(known=MessageCounts())


def fixed(training: TrainingResult, said: float) -> Forest:
    """A model that says one probability of everything."""
    constant = trees([[0]], [[0.0]], [[log_odds(said)] * 2])
    return Forest(
        msgspec.structs.replace(
            training.model, trees=constant, calibration=Calibration(slope=1.0, offset=0.0)
        ),
        SCHEMA,
    )


def judged(forest: Forest, fired: list[RuleHit], table: FinalTable) -> Verdict:
    found = [*fired, *forest.weigh(NOBODY, fired, table, LINES)]
    return decide(found, (), spam_score=100, reject_score=200)


def test_in_shadow_it_is_explained_and_scores_nothing(training: TrainingResult) -> None:
    verdict = judged(
        fixed(training, 0.9999), [RuleHit(name="A", score=62)], FinalTable(mode=FinalMode.SHADOW)
    )
    assert (verdict.action, verdict.score) == (Action.ACCEPT, 62)
    (hit,) = [hit for hit in verdict.rules if hit.name == NAME]
    assert hit.mode is RuleMode.SHADOW
    assert hit.say == "p=0.9999; rules alone 62"
    assert hit.score > 100


@pytest.mark.parametrize(
    ("said", "action", "score"),
    [
        (0.9, Action.SPAM, 100),
        (0.89, Action.ACCEPT, 97.58),
        (0.99, Action.REJECT, 200),
        (0.989, Action.SPAM, 196),
        (0.5, Action.ACCEPT, 50),
        (0.1, Action.ACCEPT, 0),
    ],
)
@pytest.mark.parametrize("rules", [[], [62.126], [-40.0, 99.0], [50.0, 49.0, 48.0]])
def test_live_it_decides_at_its_thresholds_whatever_small_rules_say(
    training: TrainingResult, said: float, action: Action, score: float, rules: list[float]
) -> None:
    fired = [RuleHit(name=f"R{number}", score=one) for number, one in enumerate(rules)]
    verdict = judged(
        fixed(training, said), fired, FinalTable(mode=FinalMode.LIVE, spam=0.9, reject=0.99)
    )
    assert verdict.action is action
    assert verdict.score == pytest.approx(score, abs=0.5)


def test_what_the_site_has_decided_stays_decided(training: TrainingResult) -> None:
    gtube = [RuleHit(name="GTUBE", score=1000)]
    assert (
        judged(fixed(training, 0.0001), gtube, FinalTable(mode=FinalMode.LIVE)).decided_by
        == "GTUBE"
    )
    partner = [RuleHit(name="PARTNER", score=-500)]
    assert (
        judged(fixed(training, 0.9999), partner, FinalTable(mode=FinalMode.LIVE)).action
        is Action.ACCEPT
    )


def test_parts_add_up_to_what_it_says(training: TrainingResult) -> None:
    forest, chance = Forest(training.model, SCHEMA), random.Random(3)
    for _ in range(10):
        spam = chance.random() < 0.5
        found, fired = facts(chance, spam=spam), hits(chance, spam=spam)
        why = forest.why(found, fired)
        whole = why.mean + sum(part.log_odds for part in why.parts)
        assert whole == pytest.approx(forest.odds(found, fired), abs=1e-6)
        assert why.probability == pytest.approx(probability(whole))
        sizes = [abs(part.log_odds) for part in why.parts]
        assert sizes == sorted(sizes, reverse=True)


def test_it_tells_spam_it_was_not_trained_on(training: TrainingResult) -> None:
    forest, chance = Forest(training.model, SCHEMA), random.Random(99)
    said: dict[bool, list[float]] = {True: [], False: []}
    for number in range(400):
        spam = number % 2 == 0
        said[spam].append(forest.odds(facts(chance, spam=spam), hits(chance, spam=spam)))
    assert np.mean(np.array(said[True])[:, None] > np.array(said[False])) > 0.9


def test_a_model_of_other_features_than_are_known_is_refused(training: TrainingResult) -> None:
    other = msgspec.structs.replace(
        training.model, features=("text.wonders", *training.model.features[1:])
    )
    with pytest.raises(UnknownFeature, match=r"text\.wonders"):
        Forest(other, SCHEMA)


def test_facts_of_nothing_and_of_the_absurd_are_weighed(training: TrainingResult) -> None:
    forest = Forest(training.model, SCHEMA)
    absurd = Facts(
        known=MessageCounts(), text_words=2**63, links=2**200 >> 100, model_content=float("nan"), model_meaning=float("inf"), message_size=10**30,
        findings=frozenset({"\ud800", ""}), text_language="x" * 10_000,
    )  # fmt: skip
    for found in (NOBODY, absurd):
        (hit,) = forest.weigh(
            found,
            [RuleHit(name="\ud800" * 500, score=1e308)],
            FinalTable(mode=FinalMode.LIVE),
            LINES,
        )
        assert np.isfinite(hit.score)
