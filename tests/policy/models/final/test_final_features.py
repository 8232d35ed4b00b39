"""What the final model sees: the same at training and in the scan, nothing of who and when, nothing
unknown.
"""

from __future__ import annotations

import random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.policy.counts import MessageCounts
from oborona.policy.expression import FactSchema
from oborona.policy.expression.schema import PieceKind
from oborona.policy.fact_table import SCHEMA, TABLE
from oborona.policy.facts import Facts
from oborona.policy.models.final.features import (
    NAME,
    FeatureReader,
    UnknownFeature,
    general,
    particular,
)
from oborona.types import Metric, RuleHit, Shingle
from tests.policy.models.final.made import counts, facts, hits


def test_what_was_seen_at_training_is_what_is_read_in_the_scan() -> None:
    chance = random.Random(7)
    for _ in range(50):
        spam = chance.random() < 0.5
        found, fired = facts(chance, spam=spam), hits(chance, spam=spam)
        marks = particular(found, fired)
        others = {
            "rule NEVER",
            "found('never')",
            "spf.result == 'never'",
            "'never' in attachments.kinds",
        }
        names = sorted(marks | others)
        read = FeatureReader(names, SCHEMA).read(found, fired)
        assert {name for name, value in zip(names, read, strict=True) if value} == marks


def test_numbers_conditions_and_counts_are_read_as_they_are() -> None:
    found = facts(random.Random(1), spam=True)
    found = msgspec.structs.replace(
        found, text_words=17, html=True, model_content=None, links_domains=frozenset("ab")
    )
    fired = [RuleHit(name="A", score=40.5), RuleHit(name=NAME, score=9.0)]
    names = (
        "html", "score", "text.words", "len(links.domains)", "model.content", "count[From].day.seen", "count[From].day.spam_share", f"rule {NAME}",
    )  # fmt: skip
    read = FeatureReader(names, SCHEMA).read(found, fired[:1])
    assert list(read[:4]) == [1, 40.5, 17, 2]
    assert np.isnan(read[4])
    assert read[5] == found.count(14, 2, 0)
    assert read[6] == pytest.approx(found.spam_share(14, 2))
    assert FeatureReader(["score"], SCHEMA).read(found, fired)[0] == 40.5  # it does not see itself
    assert f"rule {NAME}" not in particular(found, fired)


def test_nothing_of_traps_is_seen_nor_read_for_a_model_that_saw_it() -> None:
    assert not [name for name in general(SCHEMA) if "traps" in name]
    shingle = Shingle(14, 1)
    row = counts(9, 2)
    for window in row:
        window[Metric.TRAPS] = 5
    found = Facts(
        known=MessageCounts([shingle], [row]), recipients_traps=1, mass_traps=3, text_words=17
    )
    names = ["recipients.traps", "mass.traps", "count[From].day.traps", "text.words"]
    assert list(FeatureReader(names, SCHEMA).read(found, ())) == [0, 0, 0, 17]


def test_nothing_that_names_people_the_site_or_the_time_is_seen() -> None:
    names = general(SCHEMA)
    for fact in TABLE:
        if fact.kind is PieceKind.TEXT:
            assert fact.name not in names
    assert not [name for name in names if name.startswith(("date", "time"))]
    assert {"client.as_number", "model.spam_learned", "model.ham_learned"}.isdisjoint(names)
    told = Facts(
        known=MessageCounts(), client_ip="192.0.2.1", sender="ann@a.example", from_address="bob@b.example", subject="secret", links_domains=frozenset({"c.example"}),
        headers=frozenset({"x-mine"}), message_id="1@a.example", recipient="eve@e.example",
    )  # fmt: skip
    marks = " ".join(particular(told, ()))
    for word in ("192", "ann", "bob", "secret", "c.example", "x-mine", "eve"):
        assert word not in marks


@pytest.mark.parametrize(
    "name",
    [
        "client.as_number", "date.age_hours", "text.wonders", "len(text.words)", "subject", "subject == 'x'", "'x' in links.domains",
        "count[Wonder].day.seen", "count[From].year.seen", "count[From].day.wonders", "", "rule ", "rule A B", "found('A')", "__class__", "known",
    ],
)  # fmt: skip
def test_a_feature_that_is_not_known_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(UnknownFeature, match="not known here") as refused:
        FeatureReader(["links", name], SCHEMA)
    assert name in str(refused.value)


def test_many_unknown_features_are_told_in_one_line() -> None:
    with pytest.raises(UnknownFeature, match="and 15 more"):
        FeatureReader([f"wonder{number}" for number in range(20)], SCHEMA)


def test_a_fact_that_has_gone_since_the_training_is_refused() -> None:
    fewer = FactSchema(
        facts=tuple(fact for fact in TABLE if fact.name != "text.words"), counted=SCHEMA.counted
    )
    with pytest.raises(UnknownFeature, match=r"text\.words"):
        FeatureReader(general(SCHEMA), fewer)


def test_a_feature_named_twice_is_refused() -> None:
    with pytest.raises(UnknownFeature, match="twice"):
        FeatureReader(["links", "links"], SCHEMA)


@given(st.lists(st.text(max_size=40), max_size=5))
def test_whatever_names_are_told_give_a_reader_or_an_error_of_ours(names: list[str]) -> None:
    try:
        read = FeatureReader(names, SCHEMA).read(Facts(known=MessageCounts()), ())
    except UnknownFeature:
        return
    assert read.shape == (len(names),)
