"""`oborona eventlog`: the process that exports and checks event logs, and what it did."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import click
from rich.table import Table

from oborona import lock, state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.eventlog.backfill import backfill
from oborona.cli.eventlog.day_pass import day_pass, passed_day
from oborona.cli.eventlog.forget import forget
from oborona.cli.eventlog.logs import open_log_store
from oborona.cli.eventlog.person import person
from oborona.cli.eventlog.person_model import person_model
from oborona.cli.eventlog.replay import replay
from oborona.cli.eventlog.report import report
from oborona.cli.eventlog.suppress import suppress, suppressed, unsuppress
from oborona.cli.eventlog.thresholds import thresholds
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.daemon.event_logs import check_event_logs, check_packages
from oborona.desk.owner import as_owner_of
from oborona.stores.policy_folders import policy_folders
from oborona.telemetry.log import LogFormat, set_up

DAY_S: Final = 86_400.0


@click.group()
def eventlog() -> None:
    """Export and check event logs, and show what they hold (docs/operate/eventlog.md)."""


for one in (
    *(backfill, day_pass, forget, person, person_model, replay, report, thresholds),
    *(suppress, suppressed, unsuppress),
):
    eventlog.add_command(one)


@eventlog.command()
@click.option("--once", is_flag=True, help="Do what is due, and end.")
@pass_cli_context
def run(context: CliContext, once: bool) -> None:
    """Run the process that exports and checks event logs, and nothing else, until SIGTERM."""
    if not once:
        from oborona.cli import processes  # noqa: PLC0415 - what the daemon is made of

        processes.run_event_logs(context)
        return
    settings = context.loaded.settings
    check_event_logs(settings)
    from oborona.eventlog import process  # noqa: PLC0415 - the engine takes a second to load

    set_up(LogFormat(settings.log.format), settings.log.level.upper())
    with (
        as_owner_of(context.state),
        lock.hold(context.state / state_files.EVENT_LOG_LOCK, "oborona eventlog run --once"),
    ):
        process.run_once(settings, context.state, policy_folders(settings.paths))


@eventlog.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each log.")
@pass_cli_context
def status(context: CliContext, as_json: bool) -> None:
    """Show the last day of each log: tables, delay, rows, which rules fired, what was set aside."""
    check_packages()
    rows = list(_logs(context))
    if as_json:
        for row in rows:
            echo_json(row)
        return
    holder = lock.holder(context.state / state_files.EVENT_LOG_LOCK)
    echo("does not run" if holder is None else f"runs (pid {holder.pid})")
    terminal = Terminal(soft_wrap=True)
    terminal.print(_table(rows))
    for row in rows:
        for rule, count in row["fired"].items():
            echo(f"{row['log']}: {rule} {count} ({count / max(row['rows'], 1):.2%})")
        if row["day"]:
            echo(
                "{log}: {day[date]}: {day[revised]} of {day[rows]} rows given out again,"
                " {day[persons]} persons caught".format(**row)
            )
        for aside in row["aside"]:
            echo(f"{row['log']}: set aside {plain(aside['name'])}: {plain(aside['why'])}")


def _logs(context: CliContext) -> Iterator[dict[str, Any]]:
    """Yield what is known of each log."""
    from oborona.eventlog.daily.book import DayPassBook  # noqa: PLC0415
    from oborona.eventlog.known_logs import schemas  # noqa: PLC0415

    since = time.time() - DAY_S
    with open_log_store(context) as store:
        for schema in schemas(context.loaded.settings):
            sources = {table.name: table for table in store.sources(schema.name, since=since)}
            checked = [
                table for table in store.checked(schema.name, since) if table.name in sources
            ]
            fired = Counter[str]()
            for table in checked:
                fired.update(table.fired)
            files = store.files(schema.name).values()
            delays = [table.done - sources[table.name].delivered for table in checked]
            yield {
                "log": schema.name,
                "tables": len(sources),
                "checked": len(checked),
                "waiting": sum(not table.why for table in sources.values()) - len(checked),
                "last": checked[-1].name if checked else "",
                "delay_s": round(max(delays, default=0.0), 1),
                "rows": sum(table.rows for table in checked),
                "marked": sum(table.marked for table in checked),
                "fired": dict(sorted(fired.items())),
                "day": passed_day(DayPassBook(store, schema.name).last()),
                "broken_rows": sum(file.broken for file in files),
                "aside": [
                    {"name": name, "why": why}
                    for name, why in store.set_aside(schema.name, since, files_since=0.0)
                ],
            }


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(show_edge=False)
    table.add_column("log", no_wrap=True)
    for name in ("tables", "waiting", "longest delay", "rows", "marked", "broken rows", "last"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row["log"],
            str(row["tables"]),
            str(row["waiting"]),
            f"{row['delay_s']:.1f} s",
            str(row["rows"]),
            f"{row['marked'] / max(row['rows'], 1):.2%}",
            str(row["broken_rows"]),
            row["last"] or "-",
        )
    return table
