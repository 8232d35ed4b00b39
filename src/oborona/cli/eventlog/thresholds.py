"""`oborona eventlog thresholds`: from how many events of a day on a person is abnormal, and since
when.
"""

from __future__ import annotations

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo_json
from oborona.cli.terminal import Terminal
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.event_logs import EventLogQuestion, show_event_thresholds


@click.command()
@click.argument("log")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each event and day.")
@pass_cli_context
def thresholds(context: CliContext, log: str, as_json: bool) -> None:
    """Show the thresholds of a LOG: for each event those of the last 14 days that it was made anew,
    the persons that they were made of, and a mark where the last one has leapt.
    """
    question = EventLogQuestion(log=log)
    rows = show_event_thresholds(context, terminal_caller(), question).thresholds
    if as_json:
        for row in rows:
            echo_json(row)
        return
    table = Table(show_edge=False)
    for name in ("event", "threshold", "declared", "made of", "persons", "most of any"):
        table.add_column(name, justify="left" if name in ("event", "made of") else "right")
    table.add_column("last days")
    for row in rows:
        table.add_row(
            row.event or "(others)",
            f"{row.threshold:g}" + " !" * row.leapt,
            f"{row.declared:g}",
            row.date or "-",
            str(row.people),
            f"{row.most:g}",
            " ".join(f"{line:g}" for line in row.days),
        )
    Terminal(soft_wrap=True).print(table)
