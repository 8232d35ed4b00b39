"""`oborona eventlog replay`: what other event rules would have caught."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.eventlog.logs import open_log_tables, policy_rules
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.daemon.event_logs import check_packages
from oborona.desk.event_logs.logs import log_named

if TYPE_CHECKING:
    from oborona.eventlog.rules.compare import RuleComparison

DAY_S: Final = 86_400.0
_SHOWN_PERSONS: Final = 10


@click.command()
@click.argument("log")
@click.option(
    "--policy",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="The policy folder with the other rules.",
)
@click.option(
    "--since",
    type=DurationParam(),
    default=DAY_S,
    help="Tables of the last 30m, 2h, 2d; by default 24h. They are kept two days.",
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Examples that are shown.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_cli_context
def replay(
    context: CliContext, log: str, folder: Path, since: float, limit: int, as_json: bool
) -> None:
    """Judge the checked tables of a LOG by the event rules of another policy folder, and show which
    rows and persons they would catch beside those in force.

    Rules in shadow mode are judged as live ones. Each table is judged with the day that was there
    when it was checked. Nothing is written.
    """
    check_packages()
    found = _compared(context, log, folder, time.time() - since, limit)
    if as_json:
        echo_json(comparison(log, found))
    else:
        show_comparison(log, found)


def _compared(
    context: CliContext, log: str, folder: Path, since: float, limit: int
) -> RuleComparison:
    from oborona.eventlog.folder import LogFolder  # noqa: PLC0415
    from oborona.eventlog.replay import RuleReplay  # noqa: PLC0415

    schema = log_named(context, log)
    before, after = (policy_rules(one).of(log) for one in (context, context.under(folder)))
    with open_log_tables(context) as tables:
        folder_of_log = LogFolder(tables.root, log)
        judged = RuleReplay(schema, folder_of_log, tables.store, tables.engine)
        return judged.compare(before, after, since, limit)


def comparison(log: str, found: RuleComparison) -> dict[str, Any]:
    """Return what rows would get by other rules, as an object."""
    return {
        "log": log,
        "rows": found.rows,
        "changed": found.changed,
        "rules": [rule._asdict() for rule in found.rules],
        "persons_new": list(found.persons_new),
        "persons_lost": list(found.persons_lost),
        "examples": [row._asdict() for row in found.examples],
    }


def show_comparison(log: str, found: RuleComparison) -> None:
    """Print what rows would get by other rules."""
    echo(f"{log}: {found.rows} rows, {found.changed} would have other rules")
    table = Table(show_edge=False)
    table.add_column("rule", no_wrap=True)
    for name in ("now", "then", "more", "fewer"):
        table.add_column(name, justify="right")
    for rule in found.rules:
        table.add_row(*map(str, rule))
    Terminal(soft_wrap=True).print(table)
    for words, persons in (("new", found.persons_new), ("lost", found.persons_lost)):
        some = " ".join(map(str, persons[:_SHOWN_PERSONS]))
        more = " ..." if len(persons) > _SHOWN_PERSONS else ""
        echo(f"persons {words}: {len(persons)}{': ' if some else ''}{some}{more}")
    for row in found.examples:
        before, after = (",".join(names) or "-" for names in (row.before, row.after))
        echo(
            f"{plain(str(row.id))} {plain(row.event or '')} person {row.person}: {before} -> {after}"
        )
