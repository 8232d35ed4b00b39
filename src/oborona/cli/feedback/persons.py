"""`oborona feedback persons` and `person`: how much the reports of people weigh."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.feedback.event_log import (
    EventFilter,
    ReporterSummary,
    events,
    log,
    opinion,
    shown_time,
    thresholds,
)
from oborona.cli.feedback.event_log import persons as reporters
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.desk.persons.store import person_named
from oborona.eventlog.person_verdicts import opened_verdicts
from oborona.feedback.antifraud.thresholds import FLOORS

_ORDERS = ("wrong", "right", "complaints", "pardons", "first")


@click.command()
@click.option(
    "--last",
    type=click.IntRange(1, 1_000_000),
    default=20,
    show_default=True,
    help="At most this many.",
)
@click.option(
    "--order",
    type=click.Choice(_ORDERS),
    default="complaints",
    show_default=True,
    help="Most of it first.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def persons(context: CliContext, last: int, order: str, as_json: bool) -> None:
    """List the people who reported mail, with the weight of their reports."""
    settings = context.loaded.settings
    with log(context) as opened, opened_verdicts(settings, context.state) as verdicts:
        summaries = reporters(opened, verdicts, order, last, time.time())
    if as_json:
        for summary in summaries:
            echo_json(summary)
    else:
        _print(summaries)


@click.command()
@click.argument("address")
@click.option(
    "--last",
    type=click.IntRange(1, 1_000_000),
    default=10,
    show_default=True,
    help="At most this many reports.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def person(context: CliContext, address: str, last: int, as_json: bool) -> None:
    """Show the weight of a person's reports, and the last of them."""
    name, now = person_named(address), time.time()
    settings = context.loaded.settings
    with log(context) as opened, opened_verdicts(settings, context.state) as verdicts:
        summaries = reporters(opened, verdicts, "first", 1, now, name)
        reports = events(opened, EventFilter(person=name, most=last))
        today = next((limit for _, limit in thresholds(opened, 1)), FLOORS)
    if not summaries and not reports:
        raise click.ClickException(f"{name} has never reported anything")
    if as_json:
        echo_json(
            {"person": summaries[0] if summaries else None, "thresholds": today, "events": reports}
        )
        return
    if summaries:
        _print(summaries)
        echo(
            f"more than {today.complaints:.0f} spam reports or {today.pardons:.0f} "
            f"not-spam reports on one day are refused"
        )
    for report in reports:
        why = f": {' '.join(report.rules)} ({plain(report.say)})" if report.rules else ""
        about = plain(report.message_id) or (
            "" if report.ident is None else f"journal {report.ident}"
        )
        echo(
            f"{report.id}  {shown_time(report.time)}  {report.what.report} {about}  {opinion(report)}{why}"
        )


def _print(summaries: Sequence[ReporterSummary]) -> None:
    table = Table(
        "person",
        "weight",
        "standing",
        "right",
        "wrong",
        "caught",
        "spam",
        "not spam",
        "today",
        "since",
    )
    for summary in summaries:
        table.add_row(
            plain(summary.person),
            f"{summary.weight:.2f}",
            summary.standing,
            f"{summary.right:.0f}",
            f"{summary.wrong:.0f}",
            str(summary.caught),
            str(summary.complaints),
            str(summary.pardons),
            f"{summary.complaints_today}, {summary.pardons_today}",
            shown_time(summary.first),
        )
    for column in table.columns:
        column.overflow = "fold"
    Terminal(width=None if sys.stdout.isatty() else PIPED).print(table, highlight=False)
