"""`oborona flows`: the process that counts flows of SMTP, and what it knows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click
import msgspec
from rich.table import Table

from oborona import state_files
from oborona.accounts.flows.store import (
    DAY_S,
    FileState,
    FlowFile,
    FlowStore,
    SourceWindow,
)
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.desk.flow_exporters import exporter_rows
from oborona.telemetry import status as process_status

SHOWN: Final = 10  # files
HOUR_S: Final = 3600


@click.group()
def flows() -> None:
    """Count flows of SMTP from routers, and show which of our machines sent most
    (docs/operate/flows.md).
    """


@flows.command()
@pass_cli_context
def run(context: CliContext) -> None:
    """Run the process that counts flows, and nothing else, until SIGTERM."""
    from oborona.cli import processes  # noqa: PLC0415 - what the daemon is made of

    processes.run_flows(context)


@flows.command()
@click.option(
    "--hours",
    type=click.IntRange(1, 24),
    default=1,
    show_default=True,
    help="Sources of so many hours back.",
)
@click.option(
    "--last",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    help="Sources, those with most streams in a minute first; at most this many.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def status(context: CliContext, hours: int, last: int, as_json: bool) -> None:
    """Show whether flows are counted, what each exporter lost, the last files, and the busiest
    minutes of our machines.
    """
    now = time.time()
    runs = process_status.read_process(context.state, process_status.FlowStatus, now)
    with FlowStore(context.state / state_files.FLOWS, make=False) as store:
        files = store.files(now - DAY_S)
        exporters = store.exporters(int(now - DAY_S))
        windows = store.windows(int(now - hours * HOUR_S))[:last]
    trouble = "" if runs is None else runs.trouble
    if as_json:
        echo_json(
            {
                "runs": runs is not None,
                "trouble": trouble,
                "files": [msgspec.to_builtins(file) for file in files[:SHOWN]],
                "exporters": exporter_rows(exporters),
                "sources": [msgspec.to_builtins(window) for window in windows],
            }
        )
        return
    echo("runs" if runs is not None else "does not run: see `oborona doctor`")
    if trouble:
        echo(f"trouble: {plain(trouble)}")
    terminal = Terminal(soft_wrap=True)
    terminal.print(_exporters(exporter_rows(exporters)))
    terminal.print(_files(files[:SHOWN]))
    terminal.print(_sources(windows))


def _exporters(rows: Sequence[dict[str, Any]]) -> Table:
    table = _table("exporter")
    for name in ("files", "records", "wrong times", "loss", "lag", "sampling", "last"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row["exporter"],
            str(row["files"]),
            str(row["records"]),
            str(row["times_wrong"]),
            f"{row['loss']:.2%}",
            f"{row['lag_s']:.0f} s",
            f"1 in {row['sampling']}",
            _moment(row["last"]),
        )
    return table


def _files(files: Sequence[FlowFile]) -> Table:
    table = _table("file", "state")
    for name in ("records", "wrong lines", "taken"):
        table.add_column(name, justify="right")
    table.add_column("why")
    for file in files:
        state = "counted" if file.state is FileState.TAKEN else file.state.value
        table.add_row(
            plain(file.name),
            state,
            str(file.records),
            str(file.wrong),
            _moment(file.taken),
            plain(file.why),
        )
    return table


def _sources(windows: Sequence[SourceWindow]) -> Table:
    table = _table("minute", "source")
    for name in ("streams", "destinations", "at once", "refused", "packets", "octets"):
        table.add_column(name, justify="right")
    for window in windows:
        exact = not window.sampled
        table.add_row(
            _moment(window.start),
            window.address,
            str(window.streams) if exact else "sampled",
            str(window.destinations) if exact else "sampled",
            "?" if window.at_once is None or not exact else str(window.at_once),
            str(window.refused) if exact else "sampled",
            str(window.packets),
            str(window.octets),
        )
    return table


def _table(*names: str) -> Table:
    """Return a table whose first columns keep their names and addresses whole."""
    table = Table(show_edge=False)
    for name in names:
        table.add_column(name, no_wrap=True)
    return table


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
