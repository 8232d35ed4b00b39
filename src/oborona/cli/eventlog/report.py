"""`oborona eventlog report`: charts of event logs on a page of their own, or their figures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from oborona.atomic_file import write_atomically
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.daemon.event_logs import check_packages
from oborona.desk.event_logs.logs import log_named, open_log_store
from oborona.telemetry import status

if TYPE_CHECKING:
    from oborona.eventlog.batch.store import LogStore

MINUTE_S: Final = 60.0
PAGE: Final = Path("eventlog.html")
MOST_DAYS: Final = 3660  # ten years


@click.command()
@click.argument("log", default="")
@click.option(
    "--days",
    type=click.IntRange(1, MOST_DAYS),
    default=30,
    show_default=True,
    help="That are looked back.",
)
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Where the page goes; {PAGE} by default, and nowhere with --json.",
)
@click.option("--json", "as_json", is_flag=True, help="The same figures as one JSON object.")
@pass_cli_context
def report(context: CliContext, log: str, days: int, page: Path | None, as_json: bool) -> None:
    """Write a page of charts of a LOG, or of all: how late checks and merges were, how long batches
    took, rows, which rules marked them, thresholds, passes over days, and what needs a look.

    The page is one file that fetches nothing.
    """
    check_packages()
    from oborona.eventlog.report.log_page import report_page  # noqa: PLC0415 - no other command draws
    from oborona.eventlog.report.log_report import report_figures  # noqa: PLC0415

    now = time.time()
    words = status.read_process(context.state, status.EventLogStatus, now)
    with open_log_store(context) as store:
        figures = report_figures(
            store,
            _names(context, store, log),
            words.troubles if words else {},
            days=days,
            now=now,
            late_s=context.loaded.settings.eventlog.late_minutes * MINUTE_S,
        )
    if as_json:
        echo_json(figures)
    if page or not as_json:
        path = page or PAGE
        write_atomically(path, report_page(figures, now).encode())
        if not as_json:
            echo(f"{path}: {plain(', '.join(one.log for one in figures.logs)) or 'no log'}")


def _names(context: CliContext, store: LogStore, log: str) -> list[str]:
    """Return the names of the logs that are asked for; those that had no table yet come last.

    Raises:
        ConfigError: there is none of the name, or a log is not declared as it must be.
    """
    known = store.logs()
    if log:
        return [log] if log in known else [log_named(context, log).name]
    folder = Path(context.loaded.settings.paths.event_logs)
    if {path.stem for path in folder.glob("*.toml")} <= set(known):
        return known
    from oborona.eventlog.declared_log import read_logs  # noqa: PLC0415 - Arrow takes a while to load

    declared = [one.schema.name for one in read_logs(folder, frozenset())]
    return [*known, *(name for name in declared if name not in known)]
