"""`oborona policy stats`: what the rules did to the mail of the last hours."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from typing import Any

import click
import msgspec
from rich.table import Table

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.output import echo_json
from oborona.cli.progress import progress
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.policy.decisive_rules import hangs_on
from oborona.policy.load import Policy
from oborona.types import Action, RuleMode


class RuleStats(msgspec.Struct, kw_only=True):
    """What one rule did."""

    hits: int = 0
    shadow: int = 0  # of these, in shadow mode
    decided: int = 0  # messages whose verdict it decided
    alone: int = 0  # messages that are spam, or are not, only by its part
    verdicts: Counter[str] = msgspec.field(default_factory=Counter)  # of the messages that it hit


class PolicyStats:
    """Adds up journal entries.

    Args:
        policy: in force: its spam line is what verdicts are held to, and its silent rules are told.
    """

    def __init__(self, policy: Policy) -> None:
        self._line = policy.verdict.spam_score
        self.messages = 0
        self.damaged = 0
        self.verdicts: Counter[str] = Counter()
        self.would: Counter[str] = (
            Counter()
        )  # "accept → spam": messages of which all in shadow mode would have made that
        self.rules: dict[str, RuleStats] = {
            rule.name: RuleStats() for rule in policy.rules if rule.enabled
        }

    def add(self, entry: JournalEntry) -> None:
        """Take one message."""
        self.messages += 1
        self.verdicts[entry.verdict] += 1
        if entry.would is not None:
            self.would[f"{entry.verdict} → {entry.would.action}"] += 1
        alone = hangs_on(entry.rules, entry.score, self._line)
        for hit in entry.rules:
            rule = self.rules.setdefault(hit.name, RuleStats())
            rule.hits += 1
            rule.shadow += hit.mode is RuleMode.SHADOW
            rule.decided += hit.name == entry.decided_by
            rule.alone += hit.name in alone
            rule.verdicts[entry.verdict] += 1


@click.command()
@click.option(
    "--since",
    type=DurationParam(),
    default="24h",
    show_default=True,
    help="How far back: 30m, 2h, 7d.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def stats(context: CliContext, since: float, as_json: bool) -> None:
    """Show what each rule did to the journal's messages: hits, verdicts that depend on its score,
    verdicts and reports of these messages.
    """
    statistics = PolicyStats(context.policy())
    asyncio.run(_read(context, statistics, since))
    if as_json:
        echo_json(_as_object(statistics))
    else:
        _show(statistics)


async def _read(context: CliContext, statistics: PolicyStats, since: float) -> None:
    async with await JournalReader.open(context.state / state_files.JOURNAL) as journal:
        start = time.time() - since
        with progress("messages", await journal.count_since(start)) as one_more:
            async for entry in journal.since(start):
                one_more()
                if isinstance(entry, int):
                    statistics.damaged += 1
                else:
                    statistics.add(entry)


def _as_object(statistics: PolicyStats) -> dict[str, Any]:
    return {
        "messages": statistics.messages,
        "damaged": statistics.damaged,
        "verdicts": dict(statistics.verdicts),
        "would": dict(statistics.would),
        "rules": statistics.rules,
    }


def _show(statistics: PolicyStats) -> None:
    console = Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED)
    line = ", ".join(f"{action} {number:,}" for action, number in statistics.verdicts.most_common())
    console.print(f"{statistics.messages:,} messages: {line or 'none'}", highlight=False)
    for change, number in statistics.would.most_common():
        console.print(f"with all in shadow mode live: {change} {number:,}", highlight=False)
    if statistics.damaged:
        console.print(f"{statistics.damaged:,} more are damaged in the journal", highlight=False)
    table = Table("rule")
    for column in ("hits", "share", "decided", "decisive", *(action.value for action in Action)):
        table.add_column(column, justify="right")
    for name, rule in sorted(
        statistics.rules.items(), key=lambda entry: (-entry[1].hits, entry[0])
    ):
        table.add_row(
            plain(f"({name})" if rule.hits and rule.shadow == rule.hits else name),
            f"{rule.hits:,}",
            f"{rule.hits / statistics.messages:.2%}" if statistics.messages else "",
            *(f"{number:,}" if number else "" for number in (rule.decided, rule.alone)),
            *(f"{rule.verdicts[action]:,}" if rule.verdicts[action] else "" for action in Action),
        )
    console.print(table, highlight=False)
