"""`oborona incident list`, `show`, `stats`, and the group of all that is said of incidents."""

from __future__ import annotations

import click
from rich.table import Table

from oborona.accounts.incidents.statistics import LimitFigures
from oborona.cli.account.store import desk_call
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import shown_time
from oborona.cli.incident.hook_runs import run_hooks
from oborona.cli.incident.report import report
from oborona.cli.incident.store import incident_lines
from oborona.cli.incident.verdicts import close, take, undo
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.incidents import (
    IncidentFiguresQuestion,
    IncidentQuestion,
    IncidentsQuestion,
    list_incidents,
    show_incident,
    show_incident_figures,
)


@click.group()
def incident() -> None:
    """Look at accounts that went over a limit, and say what they are (docs/people/incidents.md)."""


@incident.command(name="list")
@click.option("--open", "still_open", is_flag=True, help="Only those that nobody has closed.")
@click.option("--account", "name", metavar="NAME", help="Only those of an account or login.")
@click.option(
    "--last",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="At most so many, the latest first.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON, an incident a line.")
@pass_cli_context
def list_(
    context: CliContext, still_open: bool, name: str | None, last: int, as_json: bool
) -> None:
    """List incidents."""
    question = IncidentsQuestion(open=still_open, account=name, most=last)
    with desk_call(context):
        found = list_incidents(context, terminal_caller(), question).incidents
    if as_json:
        for one in found:
            echo_json(one)
        return
    table = Table(show_edge=False)
    for column in ("id", "opened", "account", "limit", "value", "of", "rating", "line", "verdict"):
        table.add_column(column, no_wrap=column in ("id", "opened"))
    for one in found:
        table.add_row(
            str(one.id),
            shown_time(one.opened),
            plain(one.account),
            plain(str(one.limit)),
            f"{one.value:g}",
            f"{one.most:g}",
            str(one.rating),
            str(one.line),
            one.verdict.value if one.verdict else "",
        )
    Terminal(soft_wrap=True).print(table)


@incident.command()
@click.argument("ident", metavar="ID", type=int)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def show(context: CliContext, ident: int, as_json: bool) -> None:
    """Show an incident: what went over which limit, what was decided, done and said."""
    with desk_call(context):
        found = show_incident(context, terminal_caller(), IncidentQuestion(id=ident))
    if as_json:
        echo_json(found)
        return
    for line in incident_lines(found):
        echo(plain(line))


@incident.command()
@click.option(
    "--days",
    type=click.IntRange(1, 3660),
    default=30,
    show_default=True,
    help="Of incidents that were opened in so many days.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def stats(context: CliContext, days: int, as_json: bool) -> None:
    """Show how often each limit was right, incidents by day, metric and decision, and ratings."""
    question = IncidentFiguresQuestion(days=days)
    with desk_call(context):
        figures = show_incident_figures(context, terminal_caller(), question)
    if as_json:
        echo_json(figures)
        return
    table = Table(show_edge=False)
    table.add_column("limit")
    for column in ("incidents", "spam", "no spam", "open"):
        table.add_column(column, justify="right")
    for limit, of in figures.limits.items():
        table.add_row(plain(limit), *map(str, _row(of)))
    Terminal(soft_wrap=True).print(table)
    echo(f"by line: {_counts(figures.lines)}")
    echo(plain(f"by metric: {_counts(figures.metrics)}"))
    echo(f"by day: {_counts(figures.days)}")
    echo(f"accounts by rating: {_counts(figures.ratings)}")


for command in (take, close, undo, report, run_hooks):
    incident.add_command(command)


def _row(of: LimitFigures) -> tuple[int, int, int, int]:
    return of.incidents, of.spam, of.not_spam, of.incidents - of.spam - of.not_spam


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items()) or "none"
