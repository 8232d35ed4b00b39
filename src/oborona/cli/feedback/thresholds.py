"""`oborona feedback thresholds` and `rules`: what speaks against events, and how often it did."""

from __future__ import annotations

import sys
import time

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import PIPED, Terminal
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.antifraud import (
    RefusalsQuestion,
    ThresholdsQuestion,
    show_refusals,
    show_thresholds,
)

_DAY = 86_400.0


@click.command()
@click.option(
    "--last",
    type=click.IntRange(1, 3660),
    default=14,
    show_default=True,
    help="The last days, at most this many.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def thresholds(context: CliContext, last: int, as_json: bool) -> None:
    """Show how many spam and not-spam reports of a person are accepted on a day, the latest day
    first; computed from the day before.
    """
    found = show_thresholds(context, terminal_caller(), ThresholdsQuestion(most=last))
    for day in found.days:
        if as_json:
            echo_json(day)
        else:
            echo(
                f"{day.day}  {day.complaints:.0f} spam reports, {day.pardons:.0f} not-spam "
                f"reports  (from {day.people} people)"
            )
    if not found.days and not as_json:
        echo(
            f"none were computed yet: {found.floors.complaints:.0f} spam reports, "
            f"{found.floors.pardons:.0f} not-spam reports"
        )


@click.command()
@click.option(
    "--since",
    metavar="SPAN",
    type=DurationParam(),
    default=7 * _DAY,
    help="Reports of the last 2h, 7d, ...; default: 7d.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def rules(context: CliContext, since: float, as_json: bool) -> None:
    """Show the rules that refuse a report, and how many reports each refused."""
    question = RefusalsQuestion(since=time.time() - since)
    rows = show_refusals(context, terminal_caller(), question).rules
    if as_json:
        for row in rows:
            echo_json(row)
        return
    table = Table("rule", "reports", "refuses")
    for row in rows:
        table.add_row(row.rule, str(row.events), row.about)
    Terminal(width=None if sys.stdout.isatty() else PIPED).print(table, highlight=False)
