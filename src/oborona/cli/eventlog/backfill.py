"""`oborona eventlog backfill`: days of a log as other rules judge them, into a table beside."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.eventlog.day_pass import DayParam
from oborona.cli.eventlog.logs import open_log_tables, policy_rules
from oborona.cli.eventlog.replay import comparison, show_comparison
from oborona.cli.output import echo, echo_json
from oborona.daemon.event_logs import check_packages
from oborona.desk.event_logs.logs import log_named
from oborona.desk.owner import as_owner_of
from oborona.errors import ConfigError

if TYPE_CHECKING:
    from oborona.eventlog.daily.backfill import LogBackfill

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class SideName(click.ParamType[str]):
    """The name of a side table."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it, if it can be a folder's."""
        if not _NAME.fullmatch(value):
            self.fail(
                f"{str(value)[:40]!r} is no name; write small letters, digits, - and _", param, ctx
            )
        return str(value)


@click.command()
@click.argument("log")
@click.argument("name", type=SideName())
@click.option(
    "--policy",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A policy folder with other rules; by default those in force.",
)
@click.option("--since", type=DayParam(), help="The first day, UTC, as 2026-03-01.")
@click.option("--until", type=DayParam(), help="The last day; by default the first alone.")
@click.option(
    "--limit", type=click.IntRange(0), default=5, show_default=True, help="Examples of each day."
)
@click.option("--remove", is_flag=True, help="Remove the side table.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a day.")
@pass_cli_context
def backfill(
    context: CliContext,
    log: str,
    name: str,
    folder: Path | None,
    since: str | None,
    until: str | None,
    limit: int,
    remove: bool,
    as_json: bool,
) -> None:
    """Judge delivered days of a LOG once more, each in the light of all of its rows, by the rules
    in force or those of another policy folder; write them to the side table NAME, and show which
    rows and persons have other rules than they were given out with.

    Rules in shadow mode are judged as live ones. What was given out does not change.
    """
    check_packages()
    log_named(context, log)
    if remove:
        _remove(context, log, name)
        return
    if since is None:
        raise click.UsageError("say the first day: --since 2026-03-01")
    with _opened(context, log, folder) as (judged, rules):
        dates = judged.dates(since, until or since)
        if not dates:
            raise ConfigError(f"{log} has no delivered day from {since} to {until or since}")
        for date in dates:
            began = time.process_time()
            found = judged.judge(date, rules, name, limit)
            if as_json:
                echo_json({"date": date} | comparison(log, found))
            else:
                show_comparison(f"{log} {date}", found)
                echo(f"side/{name}/{date}.parquet written, {time.process_time() - began:.1f} s CPU")


@contextmanager
def _opened(
    context: CliContext, log: str, folder: Path | None
) -> Iterator[tuple[LogBackfill, Any]]:
    from oborona.eventlog.daily.backfill import LogBackfill  # noqa: PLC0415 - see `policy_rules`
    from oborona.eventlog.folder import LogFolder  # noqa: PLC0415
    from oborona.eventlog.known_logs import model_path  # noqa: PLC0415
    from oborona.eventlog.persons.person_scores import PersonScores  # noqa: PLC0415

    schema = log_named(context, log)
    settings = context.loaded.settings
    rules = policy_rules(context if folder is None else context.under(folder)).of_day(log)
    with open_log_tables(context) as tables:
        of_log = LogFolder(tables.root, log)
        scores = PersonScores(
            schema,
            of_log,
            tables.engine,
            model_path(context.state, log),
            settings.eventlog.person_models,
            clock=time.time,
        )
        yield (
            LogBackfill(
                schema,
                of_log,
                tables.store,
                tables.engine,
                work=tables.work,
                scores=scores,
                renewed=settings.eventlog.renew_thresholds,
            ),
            rules,
        )


def _remove(context: CliContext, log: str, name: str) -> None:
    from oborona.eventlog.folder import LogFolder  # noqa: PLC0415 - see `policy_rules`
    from oborona.eventlog.known_logs import root_folder  # noqa: PLC0415

    with as_owner_of(context.state):  # what of its folders is missing is made
        folder = LogFolder(root_folder(context.loaded.settings, context.state), log)
        if name not in folder.sides():
            known = ", ".join(folder.sides()) or "none"
            raise ConfigError(f"{log} has no side table {name!r}; there are: {known}")
        folder.remove_side(name)
    echo(f"side/{name} of {log} is removed")
