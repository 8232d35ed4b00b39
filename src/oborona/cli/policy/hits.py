"""How often the rules hit sorted good mail and spam:
`oborona policy check --ham --spam`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.table import Table

from oborona.cli.context import CliContext
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo
from oborona.cli.progress import progress
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.desk.policy.rule_costs import SCRIPTS, costs
from oborona.desk.policy.verdict_tally import VerdictTally
from oborona.policy.evidence import NoInquiry
from oborona.policy.facts import Facts
from oborona.policy.load import Policy
from oborona.policy.scan import Scan, scan
from oborona.types import Action, Envelope, RuleMode

TIMED: Final = 150  # messages of either sort on which each rule's cost is measured, the first


def hits_on(context: CliContext, ham: Path | None, spam: Path | None) -> bool:
    """Print which rules fire on sorted mail, and what they cost.

    Tell whether all good mail would reach the inbox.

    Args:
        context: settings and policy.
        ham: a mailbox of any sort.
        spam: the same.
    """
    policy = context.policy()
    tally, sample, lost = VerdictTally(policy), list[Facts](), list[str]()
    for name, result, is_spam in _scanned(context, policy, ham, spam):
        verdict = result.verdict
        tally.add(verdict, spam=is_spam)
        if tally.messages[is_spam] <= TIMED:
            sample.append(result.facts)
        if not is_spam and verdict.action is not Action.ACCEPT:
            lost.append(
                f"{name}: {verdict.action} {verdict.score:.1f}, decided by {verdict.decided_by}"
            )
    for line in lost:
        echo(plain(line))
    console = Terminal(width=None if sys.stdout.isatty() else PIPED)
    console.print(_lines(tally, policy))
    console.print(_rules(tally, policy, costs(policy, sample)))
    return not lost


def _scanned(
    context: CliContext, policy: Policy, ham: Path | None, spam: Path | None
) -> Iterator[tuple[str, Scan, bool]]:
    with context.site() as site, asyncio.Runner() as runner, progress("messages") as one_more:
        for folder, is_spam in ((ham, False), (spam, True)):
            if folder is None:
                continue
            for source in messages(folder):
                yield (
                    source.name,
                    runner.run(
                        scan(source.raw, Envelope(), site, policy, NoInquiry(), now=time.time())
                    ),
                    is_spam,
                )
                one_more()


def _lines(tally: VerdictTally, policy: Policy) -> Table:
    lines = policy.verdict
    table = Table("threshold", title="at the thresholds", title_justify="left")
    for column in ("false positives", "of", "share", "spam caught", "of", "share"):
        table.add_column(column, justify="right")
    for name, numbers in (
        (f"spam from {lines.spam_score:g}", tally.filed),
        (f"refused from {lines.reject_score:g}", tally.refused),
        ("with all in shadow mode live", tally.would),
    ):
        row = [name]
        for spam in (False, True):
            row += [
                f"{numbers[spam]:,}",
                f"{tally.messages[spam]:,}",
                f"{tally.share(numbers, spam=spam):.2%}",
            ]
        table.add_row(*row)
    return table


def _rules(tally: VerdictTally, policy: Policy, cost: dict[str, float]) -> Table:
    table = Table(
        "rule", title="rules, those first that make false positives", title_justify="left"
    )
    for column in (
        "score",
        "ham",
        "share",
        "spam",
        "share",
        "ham, decisive",
        "spam, decisive",
        "µs",
    ):
        table.add_column(column, justify="right")
    silent = [rule.name for rule in policy.rules if rule.enabled and rule.name not in tally.rules]
    for name, effect in tally.worst_first():
        low, high = min(effect.scores), max(effect.scores)
        score = f"{low:g}" if low == high else f"{low:g}…{high:g}"
        table.add_row(
            plain(name),
            f"({score})" if effect.mode is RuleMode.SHADOW else score,
            f"{effect.hits[0]:,}",
            f"{tally.share(effect.hits, spam=False):.2%}",
            f"{effect.hits[1]:,}",
            f"{tally.share(effect.hits, spam=True):.2%}",
            f"{effect.alone[0]:,}" if effect.alone[0] else "",
            f"{effect.alone[1]:,}" if effect.alone[1] else "",
            f"{cost[name]:.2f}" if name in cost else "",
        )
    if SCRIPTS in cost:
        table.add_row(SCRIPTS, *[""] * 7, f"{cost[SCRIPTS]:.2f}")
    for name in silent:
        table.add_row(
            name, "", "0", "", "0", "", "", "", f"{cost[name]:.2f}" if name in cost else ""
        )
    return table
