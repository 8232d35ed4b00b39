"""`oborona policy stats`: what the rules did to the mail of the last hours."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.output import echo_json
from oborona.cli.progress import progress
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.desk.policy.statistics import PolicyStats, read_all
from oborona.types import Action


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
    with ExitStack() as shown:

        def begun(number: int) -> Callable[[], None]:
            return shown.enter_context(progress("messages", number))

        asyncio.run(read_all(statistics, context.state, since, begun))
    if as_json:
        echo_json(_as_object(statistics))
    else:
        _show(statistics)


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
