"""`oborona eventlog pass`: go over a whole day of a log now, and show what came of it."""

from __future__ import annotations

import time
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import click
from rich.table import Table

from oborona import lock, state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.eventlog.logs import open_log_store, schema_of
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.daemon.event_logs import check_packages
from oborona.errors import ConfigError, StoreError
from oborona.stores.policy_folders import policy_folders

if TYPE_CHECKING:
    from oborona.eventlog.daily.book import CaughtDay, PassedDay

DAY_S: Final = 86_400.0
_SHOWN_PERSONS: Final = 20


class DayParam(click.ParamType[str]):
    """A day, such as 2026-11-23."""

    name = "day"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it as tables name it."""
        try:
            return date.fromisoformat(value).isoformat()
        except (TypeError, ValueError):
            self.fail(f"{str(value)[:40]!r} is no day; write one as 2026-11-23", param, ctx)


@click.command("pass")
@click.argument("log")
@click.option("--day", type=DayParam(), help="UTC, as 2026-11-23; by default yesterday.")
@click.option("--json", "as_json", is_flag=True, help="The outcome as one JSON object.")
@pass_cli_context
def day_pass(context: CliContext, log: str, day: str | None, as_json: bool) -> None:
    """Go over a whole day of a LOG: all rules look at all of its rows, rows that have more of them
    now are given out again, and it is shown who was caught.

    Where the process of event logs runs, it is asked to, and does it within seconds.
    """
    check_packages()
    from oborona.eventlog import process  # noqa: PLC0415 - the engine takes a second to load
    from oborona.eventlog.daily.book import DayPassBook  # noqa: PLC0415

    schema_of(context, log)
    policies = policy_folders(context.loaded.settings.paths)
    asked = day or time.strftime("%Y-%m-%d", time.gmtime(time.time() - DAY_S))
    with open_log_store(context) as store:
        book = DayPassBook(store, log)
        if not book.days(asked, asked):
            raise ConfigError(f"the day {asked} of {log} has no rows, or is not delivered yet")
        book.request(asked)
        path = context.state / state_files.EVENT_LOG_LOCK
        holder = lock.holder(path)
        if holder is not None:
            echo(f"{holder} was asked to go over {asked}; see oborona eventlog status")
            return
        with lock.hold(path, "oborona eventlog pass"):
            process.work_on(context.loaded.settings, context.state, policies, log)
        done = book.last(asked)
        if done is None:
            raise StoreError(f"{asked} of {log} could not be gone over; a merge is not done yet")
        persons = book.persons(asked)
    if as_json:
        echo_json(passed_day(done) | {"caught": [_person(one) for one in persons]})
    else:
        _show(log, done, persons)


def passed_day(one: PassedDay | None) -> dict[str, Any]:
    """Return what came of a pass, as an object; empty of none."""
    if one is None:
        return {}
    return {
        "id": one.id,
        "date": one.date,
        "rows": one.rows,
        "marked": one.marked,
        "revised": one.revised,
        "persons": one.persons,
        "fired": dict(one.fired),
        "why": one.why,
    }


def _person(one: CaughtDay) -> dict[str, int]:
    return {"person": one.person, "events": one.events, "marked": one.marked}


def _show(log: str, done: PassedDay, persons: list[CaughtDay]) -> None:
    if done.why:
        echo(f"{log}: {done.date}: {plain(done.why)}")
        return
    echo(
        f"{log}: {done.date}: {done.rows} rows, {done.marked} marked, {done.revised} given out "
        f"again, {done.persons} persons caught"
    )
    for rule, count in done.fired.items():
        echo(f"{rule} {count} ({count / max(done.rows, 1):.2%})")
    if not persons:
        return
    table = Table(show_edge=False)
    for name in ("person", "events", "marked"):
        table.add_column(name, justify="right")
    for one in persons[:_SHOWN_PERSONS]:
        table.add_row(str(one.person), str(one.events), str(one.marked))
    Terminal(soft_wrap=True).print(table)
