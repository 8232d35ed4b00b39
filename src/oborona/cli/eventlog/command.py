"""`oborona eventlog`: the process that exports and checks event logs, and what it did."""

from __future__ import annotations

from collections.abc import Sequence

import click
import msgspec
from rich.table import Table

from oborona import lock, state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.eventlog.backfill import backfill
from oborona.cli.eventlog.day_pass import day_pass
from oborona.cli.eventlog.forget import forget
from oborona.cli.eventlog.person import person
from oborona.cli.eventlog.person_model import person_model
from oborona.cli.eventlog.replay import replay
from oborona.cli.eventlog.report import report
from oborona.cli.eventlog.suppress import suppress, suppressed, unsuppress
from oborona.cli.eventlog.thresholds import thresholds
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.daemon.event_logs import check_event_logs
from oborona.desk.asks.event_logs import EventLogsQuestion, EventLogState, show_event_logs
from oborona.desk.owner import as_owner_of
from oborona.stores.policy_folders import policy_folders
from oborona.telemetry.log import LogFormat, set_up


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
    found = show_event_logs(context, terminal_caller(), EventLogsQuestion())
    rows = found.logs
    if as_json:
        for row in rows:
            echo_json(msgspec.structs.asdict(row) | {"day": row.day or {}})
        return
    echo("does not run" if found.pid is None else f"runs (pid {found.pid})")
    terminal = Terminal(soft_wrap=True)
    terminal.print(_table(rows))
    for row in rows:
        for rule, count in row.fired.items():
            echo(f"{row.log}: {rule} {count} ({count / max(row.rows, 1):.2%})")
        if row.day:
            echo(
                f"{row.log}: {row.day.date}: {row.day.revised} of {row.day.rows} rows given out "
                f"again, {row.day.persons} persons caught"
            )
        for aside in row.aside:
            echo(f"{row.log}: set aside {plain(aside.name)}: {plain(aside.why)}")


def _table(rows: Sequence[EventLogState]) -> Table:
    table = Table(show_edge=False)
    table.add_column("log", no_wrap=True)
    for name in ("tables", "waiting", "longest delay", "rows", "marked", "broken rows", "last"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.log,
            str(row.tables),
            str(row.waiting),
            f"{row.delay_s:.1f} s",
            str(row.rows),
            f"{row.marked / max(row.rows, 1):.2%}",
            str(row.broken_rows),
            row.last or "-",
        )
    return table
