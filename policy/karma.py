"""Karma as a part of the score: one hit, bounded by the policy's table.

Some findings bar it from helping a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oborona.policy.expression.template import printable
from oborona.policy.facts import Facts
from oborona.policy.groups import RuleGroups
from oborona.policy.tables import KarmaTable
from oborona.types import RuleHit, RuleMode

KARMA: Final = "KARMA"
LEAST: Final = 10  # of karma: what is nearer to nothing adds nothing


def karma_hits(
    facts: Facts, hits: Sequence[RuleHit], table: KarmaTable, groups: RuleGroups
) -> tuple[RuleHit, ...]:
    """Return karma's part of the score; nothing where it is nearer to 0 than `LEAST`.

    Args:
        facts: with karma and its parts.
        hits: of rules, lists and signatures.
        table: of the policy.
        groups: of the same policy.
    """
    karma = facts.karma
    if abs(karma) < LEAST:
        return ()
    points = round(karma / 100 * (-table.worst if karma < 0 else table.best), 2)
    say = f"{karma:+.0f}: {facts.karma_why}"
    barred = _barred(facts, hits, table, groups) if points < 0 else ""
    if barred:
        points, say = 0.0, f"nothing for {barred}, {say}"
    return (RuleHit(name=KARMA, score=points, say=printable(say), mode=table.mode),)


def _barred(facts: Facts, hits: Sequence[RuleHit], table: KarmaTable, groups: RuleGroups) -> str:
    """Return what the message bears that karma must never help."""
    bears = {hit.name for hit in hits if hit.mode is RuleMode.LIVE and hit.score > 0}
    bears |= {groups.members[name] for name in bears if name in groups.members}
    return next((name for name in table.never_helps if name in bears or name in facts.findings), "")
