"""`oborona feedback persons` and `person`: how much the reports of people weigh."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.feedback.moment import shown_time
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.events import (
    ReporterOrder,
    ReporterQuestion,
    ReportersQuestion,
    list_reporters,
    show_reporter,
)
from oborona.desk.call import NotFoundError
from oborona.desk.events.event_log import ReporterSummary
from oborona.desk.persons.store import person_named


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
    type=click.Choice([order.value for order in ReporterOrder]),
    default="complaints",
    show_default=True,
    help="Most of it first.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def persons(context: CliContext, last: int, order: str, as_json: bool) -> None:
    """List the people who reported mail, with the weight of their reports."""
    question = ReportersQuestion(order=ReporterOrder(order), most=last)
    summaries = list_reporters(context, terminal_caller(), question).persons
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
    question = ReporterQuestion(person=person_named(address), most=last)
    try:
        found = show_reporter(context, terminal_caller(), question)
    except NotFoundError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        echo_json(found)
        return
    today = found.thresholds
    if found.person is not None:
        _print([found.person])
        echo(
            f"more than {today.complaints:.0f} spam reports or {today.pardons:.0f} "
            f"not-spam reports on one day are refused"
        )
    for report in found.events:
        why = f": {' '.join(report.rules)} ({plain(report.say)})" if report.rules else ""
        about = plain(report.message_id) or (
            "" if report.ident is None else f"journal {report.ident}"
        )
        echo(
            f"{report.id}  {shown_time(report.time)}  {report.what.report} {about}  {report.opinion}{why}"
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
