"""`oborona eventlog thresholds`: from how many events of a day on a person is abnormal, and since
when.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.eventlog.logs import open_log_store, schema_of
from oborona.cli.output import echo_json
from oborona.cli.terminal import Terminal
from oborona.daemon.event_logs import check_packages

if TYPE_CHECKING:
    from oborona.eventlog.batch.threshold_book import EventThreshold

DAYS: Final = 14


@click.command()
@click.argument("log")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each event and day.")
@pass_cli_context
def thresholds(context: CliContext, log: str, as_json: bool) -> None:
    """Show the thresholds of a LOG: for each event those of the last 14 days that it was made anew,
    the persons that they were made of, and a mark where the last one has leapt.
    """
    check_packages()
    from oborona.eventlog.batch.threshold_book import ThresholdBook  # noqa: PLC0415 - see `eventlog run`

    schema = schema_of(context, log)
    with open_log_store(context) as store:
        history = ThresholdBook(store, log).history()
    declared = {"": schema.threshold, **schema.thresholds}
    of_event = {name: list(days) for name, days in groupby(history, attrgetter("event"))}
    rows = [
        _row(name, of_event.get(name, []), declared) for name in sorted(declared.keys() | of_event)
    ]
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
            row["event"] or "(others)",
            f"{row['threshold']:g}" + " !" * row["leapt"],
            f"{row['declared']:g}",
            row["date"] or "-",
            str(row["people"]),
            f"{row['most']:g}",
            " ".join(f"{line:g}" for line in row["days"]),
        )
    Terminal(soft_wrap=True).print(table)


def _row(name: str, history: list[EventThreshold], declared: Mapping[str, float]) -> dict[str, Any]:
    from oborona.eventlog.batch.threshold_book import threshold_leap  # noqa: PLC0415 - see above

    least = declared.get(name, declared[""])
    days = [round(one.threshold, 1) for one in history[-DAYS:]]
    last = history[-1] if history else None
    return {
        "event": name,
        "threshold": days[-1] if days else least,
        "declared": least,
        "date": last.date if last else "",
        "people": last.people if last else 0,
        "most": last.most if last else 0.0,
        "days": days,
        "leapt": threshold_leap(history) is not None,
    }
