"""`oborona feedback thresholds` and `rules`: what speaks against events, and how often it did."""

from __future__ import annotations

import sys
import time
from typing import Final

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.feedback.event_log import log, rule_refusals
from oborona.cli.feedback.event_log import thresholds as limits
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import PIPED, Terminal
from oborona.feedback.antifraud.rules import RULES
from oborona.feedback.antifraud.thresholds import FLOORS

_DAY = 86_400.0
_OTHERS: Final = {
    "OPPOSITE": "what the same person reports the opposite of later",
    "REVISED": "what later reports of the campaign speak against",
    "UNREADABLE": "a report that does not show which message it is about",
    "TAKEN_BACK": "what an admin took back",
}
"""Names of decisions that no rule makes."""


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
    with log(context) as opened:
        daily = limits(opened, last)
    for day, day_limits in daily:
        if as_json:
            echo_json(
                {
                    "day": day,
                    "complaints": day_limits.complaints,
                    "pardons": day_limits.pardons,
                    "people": day_limits.people,
                }
            )
        else:
            echo(
                f"{day}  {day_limits.complaints:.0f} spam reports, {day_limits.pardons:.0f} not-spam "
                f"reports  (from {day_limits.people} people)"
            )
    if not daily and not as_json:
        echo(
            f"none were computed yet: {FLOORS.complaints:.0f} spam reports, "
            f"{FLOORS.pardons:.0f} not-spam reports"
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
    with log(context) as opened:
        refusals = rule_refusals(opened, time.time() - since)
    rows = [(rule.name, refusals.pop(rule.name, 0), rule.about) for rule in RULES]
    rows += [(name, number, _OTHERS.get(name, "")) for name, number in sorted(refusals.items())]
    if as_json:
        for name, number, about in rows:
            echo_json({"rule": name, "events": number, "about": about})
        return
    table = Table("rule", "reports", "refuses")
    for name, number, about in rows:
        table.add_row(name, str(number), about)
    Terminal(width=None if sys.stdout.isatty() else PIPED).print(table, highlight=False)
