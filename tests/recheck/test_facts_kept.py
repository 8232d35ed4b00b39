"""Counts of the other direction in the journal: kept where rules asked for them, never guessed."""

from __future__ import annotations

import gc

import msgspec
import pytest

from oborona.journal.evidence import VerdictEvidence, pack_evidence, unpack_evidence, without_counts
from oborona.message.hashing import ShingleType
from oborona.policy.facts import Facts
from oborona.recheck.facts_at_delivery import NotKept, facts_then
from oborona.types import Metric, Window
from tests.journal.entries import make_entry

TEXT, SUBJECT = int(ShingleType.TEXT), int(ShingleType.SUBJECT)
OWN = [[[1] * len(Metric) for _ in Window]]
OTHER = [[[7] * len(Metric) for _ in Window]]
_FACTS = {
    name: sorted(value) if isinstance(value, frozenset) else value
    for name, value in msgspec.structs.asdict(Facts(client_own=True, outgoing=True)).items()
    if name not in ("known", "text")
}
EVIDENCE = VerdictEvidence(counts=((TEXT, OWN), (SUBJECT, OWN)), across=((TEXT, OTHER),))


def then(evidence: VerdictEvidence) -> Facts:
    plain = msgspec.json.decode(msgspec.json.encode(_FACTS))
    entry = make_entry(facts=plain, kept=unpack_evidence(pack_evidence(evidence)))
    facts = facts_then(entry)
    assert facts is not None
    return facts


def test_what_rules_saw_of_the_other_direction_is_there_again() -> None:
    facts = then(EVIDENCE)
    assert facts.inbound.count(TEXT, Window.DAY, Metric.SPAM) == 7
    assert facts.outbound.count(TEXT, Window.DAY, Metric.SPAM) == 1
    assert facts.count(TEXT, Window.DAY, Metric.SPAM) == 1


def test_what_no_rule_asked_for_fails_and_is_not_taken_for_none() -> None:
    for evidence in (EVIDENCE, VerdictEvidence(counts=EVIDENCE.counts)):
        with pytest.raises(NotKept):
            assert then(evidence).inbound.count(SUBJECT, Window.DAY, Metric.SPAM) == 0


def test_what_the_message_had_not_is_none_seen() -> None:
    assert then(EVIDENCE).inbound.count(int(ShingleType.URL), Window.DAY, Metric.SEEN) == 0


def test_counts_may_be_left_out_when_they_are_read() -> None:
    assert without_counts(pack_evidence(EVIDENCE)).across is None


def test_facts_leave_nothing_for_the_collector() -> None:
    """Their counts are hundreds of lists: a second look at much mail would wait for it."""
    then(EVIDENCE)  # what is made once
    gc.collect()
    gc.disable()
    try:
        facts = then(EVIDENCE)
        assert facts.known.across is not None
        del facts
        assert gc.collect() == 0
    finally:
        gc.enable()
