"""Metrics of a worker: verdicts, the rules behind them, and authentication."""

from __future__ import annotations

from typing import Final

from oborona.authentication.model import AuthIdentity
from oborona.metrics import Counter, Histogram
from oborona.policy.outgoing_table import OutgoingOutcome
from oborona.types import Action, Stage, Verdict

VERDICTS: Final = Counter("oborona_verdicts", "Verdicts by stage and action.", ("stage", "action"))
REFUSED: Final = Counter(
    "oborona_refused",
    "Refusals, for good or for now, by stage and by what decided: a list, or the heaviest rule.",
    ("stage", "by"),
)
OUTGOING: Final = Counter(
    "oborona_outgoing",
    "Messages of our own people that leave, by what becomes of them.",
    ("outcome",),
)
RULE_HITS: Final = Counter("oborona_rule_hits", "Messages that a rule hit.", ("rule", "mode"))
WOULD: Final = Counter(
    "oborona_would",
    "Messages of which everything in shadow mode would have made another verdict.",
    ("action", "would"),
)
SCAN_SECONDS: Final = Histogram(
    "oborona_scan_seconds",
    "How long scans took, waiting for the DNS and for pictures included.",
    (),
    (
        0.001,
        0.002,
        0.003,
        0.005,
        0.007,
        0.01,
        0.02,
        0.03,
        0.05,
        0.1,
        0.2,
        0.5,
        1.0,
        2.0,
        5.0,
        10.0,
        30.0,
    ),
)
STAGE_SECONDS: Final = Histogram(
    "oborona_stage_seconds",
    "How long judging took at each stage, by the listener that asked: a client, a sender, a "
    "recipient, or a whole message; waiting for the DNS and for pictures included.",
    ("door", "stage"),
    (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
)
AUTHENTICATION: Final = Counter(
    "oborona_authentication",
    "Results of authentication, of each DKIM signature one.",
    ("method", "result"),
)


def count_verdict(stage: Stage, verdict: Verdict) -> None:
    """Count one verdict."""
    VERDICTS.inc(stage, verdict.action)
    if verdict.action in (Action.REJECT, Action.TEMPFAIL):
        REFUSED.inc(stage, verdict.decided_by)


def count_outgoing(outcome: OutgoingOutcome) -> None:
    """Count one message that leaves, or would have."""
    OUTGOING.inc(outcome)


def count_stage(door: str, stage: Stage, took_s: float) -> None:
    """Count how long a judgement took, whatever came of it."""
    STAGE_SECONDS.observe(took_s, door, stage)


def count_scan(verdict: Verdict, took_s: float, door: str) -> None:
    """Count the hits of a message's rules, what shadow mode would have done, and the time of its
    scan.

    Args:
        verdict: of the message.
        took_s: seconds that its scan took.
        door: the listener that it came by.
    """
    for hit in verdict.rules:
        RULE_HITS.inc(hit.name, hit.mode)
    if verdict.would is not None:
        WOULD.inc(verdict.action, verdict.would.action)
    SCAN_SECONDS.observe(took_s)
    count_stage(door, Stage.CONTENT, took_s)


def count_identity(identity: AuthIdentity) -> None:
    """Count what was found of one message; of several signatures each."""
    AUTHENTICATION.inc("spf", identity.spf.result)
    for signature in identity.dkim:
        AUTHENTICATION.inc("dkim", signature.result)
    AUTHENTICATION.inc("dmarc", identity.dmarc.result)
    AUTHENTICATION.inc("arc", identity.arc.result)
    AUTHENTICATION.inc("iprev", identity.iprev.result)
