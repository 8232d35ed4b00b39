"""What a worker counts of its verdicts."""

from __future__ import annotations

import pytest

from oborona.authentication.model import AuthIdentity
from oborona.metrics import REGISTRY
from oborona.session.verdict_metrics import (
    AUTHENTICATION,
    REFUSED,
    RULE_HITS,
    SCAN_SECONDS,
    STAGE_SECONDS,
    VERDICTS,
    WOULD,
    count_identity,
    count_scan,
    count_stage,
    count_verdict,
)
from oborona.types import Action, RuleHit, RuleMode, ShadowVerdict, Stage, Verdict


def verdict_of(action: Action, decided_by: str) -> Verdict:
    return Verdict(action=action, score=1, line=100, decided_by=decided_by)


def test_verdicts_are_counted_by_stage_and_action() -> None:
    for action in (Action.REJECT, Action.REJECT, Action.TEMPFAIL):
        count_verdict(Stage.CONNECT, verdict_of(action, "ZEN"))
    count_verdict(Stage.CONTENT, verdict_of(Action.ACCEPT, "below-threshold"))
    assert VERDICTS.values == {
        ("connect", "reject"): 2,
        ("connect", "tempfail"): 1,
        ("content", "accept"): 1,
    }
    assert REFUSED.values == {("connect", "ZEN"): 3}


def test_rules_verdicts_that_would_have_been_and_the_time_of_scans_are_counted() -> None:
    would = ShadowVerdict(action=Action.SPAM, score=120, line=100, decided_by="TRIAL")
    rules = (RuleHit(name="A", score=1), RuleHit(name="TRIAL", score=119, mode=RuleMode.SHADOW))
    given = Verdict(
        action=Action.ACCEPT,
        score=1,
        line=100,
        decided_by="below-threshold",
        rules=rules,
        would=would,
    )
    for took in (0.0, 0.001, 0.0011, 99.0):
        count_scan(given, took, "milter")
    calm = Verdict(action=Action.ACCEPT, score=0, line=100, decided_by="below-threshold")
    count_scan(calm, 0.004, "http")
    assert RULE_HITS.values == {("A", "live"): 4, ("TRIAL", "shadow"): 4}
    assert WOULD.values == {("accept", "spam"): 4}
    told = REGISTRY.snapshot().histograms
    ((_, counts, total),) = told[SCAN_SECONDS.name]
    steps = dict(zip((*SCAN_SECONDS.steps, "more"), counts, strict=True))
    assert {step: number for step, number in steps.items() if number} == {
        0.001: 2,
        0.002: 1,
        0.005: 1,
        "more": 1,
    }
    assert total == pytest.approx(99.0061)
    by_door = {labels: sum(counts) for labels, counts, _ in told[STAGE_SECONDS.name]}
    assert by_door == {("http", "content"): 1, ("milter", "content"): 4}


def test_the_time_of_stages_is_counted_by_listener() -> None:
    for stage in (Stage.CONNECT, Stage.SENDER, Stage.CONNECT):
        count_stage("milter", stage, 0.002)
    told = REGISTRY.snapshot().histograms[STAGE_SECONDS.name]
    assert [(labels, counts[:2]) for labels, counts, _ in told] == [
        (("milter", "connect"), [0, 2]),
        (("milter", "sender"), [0, 1]),
    ]


def test_each_method_of_authentication_is_counted() -> None:
    count_identity(AuthIdentity())
    assert sum(AUTHENTICATION.values.values()) == 4, (
        "without a signature there is no result of DKIM"
    )
    assert {method for method, _ in AUTHENTICATION.values} == {"spf", "dmarc", "arc", "iprev"}
