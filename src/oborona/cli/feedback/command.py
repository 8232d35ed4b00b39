"""`oborona feedback`: the group, and the list of what was said."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.feedback.moment import shown_time
from oborona.cli.feedback.persons import person, persons
from oborona.cli.feedback.show import show
from oborona.cli.feedback.take_back import take_back
from oborona.cli.feedback.thresholds import rules, thresholds
from oborona.cli.output import echo_json
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.events import EventsQuestion, list_events
from oborona.desk.persons.store import person_named
from oborona.feedback.events.model import EventKind, StoredEvent


@click.group()
def feedback() -> None:
    """Show reports of people and hits of spam traps, whose reports are accepted and why, and take
    reports back.

    docs/people/feedback.md has the rules.
    """


for command in (show, persons, person, take_back, thresholds, rules):
    feedback.add_command(command)


@feedback.command(name="list")
@click.option(
    "--last",
    type=click.IntRange(1, 1_000_000),
    default=20,
    show_default=True,
    help="At most this many.",
)
@click.option("--person", "by", metavar="ADDRESS", default="", help="Of this person alone.")
@click.option(
    "--what",
    type=click.Choice([kind.value for kind in EventKind]),
    help="Of this kind alone; complaint: spam report, pardon: not-spam report.",
)
@click.option("--rule", metavar="NAME", default="", help="Those alone that this rule refused.")
@click.option("--since", metavar="SPAN", type=DurationParam(), help="Of the last 2h, 7d, ...")
@click.option(
    "--believed/--not-believed",
    "counts",
    default=None,
    help="Those alone that count for all, or do not.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def list_(
    context: CliContext,
    last: int,
    by: str,
    what: str | None,
    rule: str,
    since: float | None,
    counts: bool | None,
    as_json: bool,
) -> None:
    """List the last reports, the newest first."""
    question = EventsQuestion(
        person=person_named(by) if by else "",
        what=None if what is None else EventKind(what),
        rule=rule,
        since=0.0 if since is None else time.time() - since,
        counts=counts,
        most=last,
    )
    matches = list_events(context, terminal_caller(), question).events
    if as_json:
        for event in matches:
            echo_json(event)
    else:
        print_events(matches)


def print_events(matches: Sequence[StoredEvent]) -> None:
    """Print events as a table."""
    table = Table("id", "time", "what", "way", "by", "message", "became", "rules")
    for event in matches:
        table.add_row(
            str(event.id),
            shown_time(event.time),
            event.what.report,
            event.way.value,
            plain(event.person or event.source),
            plain(event.message_id) or ("" if event.ident is None else f"journal {event.ident}"),
            event.opinion,
            " ".join(event.rules),
        )
    for column in table.columns:
        column.overflow = "fold"  # the end of an address is what tells it from others
    Terminal(width=None if sys.stdout.isatty() else PIPED).print(table, highlight=False)
