"""The verdicts of a policy on messages that are judged alone, in columns, and which messages are
fitted and tested together.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.new_site import NOBODY, envelope_of_stranger, new_site
from benchmarks.rule_samples import Sample
from oborona.policy.counts import MessageCounts
from oborona.policy.decision import decide
from oborona.policy.evidence import NoInquiry, SenderEvidence
from oborona.policy.facts import Facts
from oborona.policy.load import Policy
from oborona.policy.models.final.features import SHIPPED
from oborona.policy.models.ports import FinalModel
from oborona.policy.ports import PictureView
from oborona.policy.scan import Scan, rescan
from oborona.policy.signatures import LiveSignatures
from oborona.types import CountedPieces, RuleMode, Verdict

FOLDS: Final = 5
CLOSED: Final = (0, 1)
NOTHING: Final = CountedPieces(shingles=(), pairs=())


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """All verdicts on some messages, in columns."""

    sample: list[Sample]
    verdicts: list[Verdict]
    spam: NDArray[np.bool_]
    scores: NDArray[np.float64]
    fold: NDArray[np.int64]
    order: NDArray[np.int64]  # by the time of arrival; what has none is left out
    rules: list[str]
    files: list[str]  # of each rule
    signs: list[float]
    hits: NDArray[np.float64]  # messages by rules, 1 where a rule fired
    parts: NDArray[np.float64]  # what each added, as the caps of groups left it


async def verdicts(
    sample: Sequence[Sample], policy: Policy, final: FinalModel | None = None
) -> list[Verdict]:
    """Judge each message, parsed already, as if nothing had ever been seen.

    Args:
        sample: messages.
        policy: that judges.
        final: the final models that it asks; None = the rules decide alone.
    """
    site = new_site(LiveSignatures(policy.signatures), final)
    judgements = []
    for dated in sample:
        message = dated.message
        author = message.from_.address if message.from_ else ""
        parsed = Scan(
            envelope=envelope_of_stranger(author or NOBODY),
            message=message,
            evidence=SenderEvidence(),
            pieces=NOTHING,
            facts=Facts(known=MessageCounts(), message_size=message.size),
            verdict=decide([], [], spam_score=100.0, reject_score=200.0),
            policy=policy,
        )
        scanned = await rescan(
            parsed, PictureView(pictures=()), site, NoInquiry(), now=dated.arrived
        )
        judgements.append(scanned.verdict)
    return judgements


def folds(sample: Sequence[Sample]) -> NDArray[np.int64]:
    """Return a fold for each message: clusters whole, largest first, each to where its kind is
    fewest; the largest of all to the last.
    """
    members: defaultdict[int, list[int]] = defaultdict(list)
    for place, dated in enumerate(sample):
        members[dated.cluster].append(place)
    load = [[0, 0] for _ in range(FOLDS)]
    folded = np.zeros(len(sample), dtype=np.int64)
    for number, places in enumerate(
        sorted(members.values(), key=lambda some: (-len(some), some[0]))
    ):
        kind = int(2 * sum(sample[place].spam for place in places) > len(places))
        to = (
            FOLDS - 1
            if number == 0
            else min(range(FOLDS), key=lambda fold: (load[fold][kind], fold))
        )
        load[to][kind] += len(places)
        folded[places] = to
    return folded


def judged(
    sample: list[Sample], policy: Policy, part: str, final: FinalModel | None = None
) -> Judged:
    """Return the verdicts on a part of a sample, in columns; arguments as of `verdicts`.

    What a final model adds is in the scores, and is no column: columns are of rules.
    """
    fold = folds(sample)
    keep = [
        place
        for place in range(len(sample))
        if part == "all" or (part == "closed") == (int(fold[place]) in CLOSED)
    ]
    some = [sample[place] for place in keep]
    judgements = asyncio.run(verdicts(some, policy, final))
    names = sorted(
        {
            hit.name
            for verdict in judgements
            for hit in verdict.rules
            if hit.mode is RuleMode.LIVE and hit.name != SHIPPED
        }
    )
    column = {name: number for number, name in enumerate(names)}
    hits, parts = np.zeros((len(some), len(names))), np.zeros((len(some), len(names)))
    for row, verdict in enumerate(judgements):
        for hit in verdict.rules:
            if hit.name in column:
                hits[row, column[hit.name]], parts[row, column[hit.name]] = 1.0, hit.score
    given = {rule.name: rule.score for rule in policy.rules}
    arrived = np.array([dated.arrived for dated in some])
    order = np.argsort(arrived, kind="stable")
    return Judged(
        sample=some,
        verdicts=judgements,
        spam=np.array([dated.spam for dated in some]),
        scores=np.array([verdict.score for verdict in judgements]),
        fold=fold[keep],
        order=order[arrived[order] > 0],
        rules=names,
        files=[_file(policy, name) for name in names],
        signs=[_score(given.get(name), parts[:, column[name]]) for name in names],
        hits=hits,
        parts=parts,
    )


def _score(given: float | str | None, parts: NDArray[np.float64]) -> float:
    """Return a rule's score; of a formula, or of what is no rule, the largest part that it had."""
    return given if isinstance(given, float | int) else float(parts[np.abs(parts).argmax()])


def _file(policy: Policy, name: str) -> str:
    where = policy.origins.get(f"rule.{name}.when", "")
    return Path(where.rpartition(":")[0]).name or "signatures"
