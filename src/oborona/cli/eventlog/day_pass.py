"""`oborona eventlog pass`: go over a whole day of a log now, and show what came of it."""

from __future__ import annotations

from datetime import date
from typing import Any, Final

import click
import msgspec
from rich.table import Table

from oborona import lock, state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.event_logs import DayPassOrder, ask_day_pass
from oborona.desk.asks.event_logs import passed_day
from oborona.desk.event_logs.logs import open_log_store
from oborona.errors import StoreError
from oborona.eventlog.daily.book import CaughtDay, DayPassBook, PassedDay
from oborona.stores.policy_folders import policy_folders

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
    order = DayPassOrder(log=log, day=day or "")
    asked = ask_day_pass(context, terminal_caller(), order)
    if asked.asked_of:
        echo(f"{asked.asked_of} was asked to go over {asked.day}; see oborona eventlog status")
        return
    done, persons = _go_over(context, log, asked.day)
    if as_json:
        passed = msgspec.structs.asdict(passed_day(done))
        echo_json(passed | {"caught": [_person(one) for one in persons]})
    else:
        _show(log, done, persons)


def _go_over(context: CliContext, log: str, day: str) -> tuple[PassedDay, list[CaughtDay]]:
    """Go over a day that was asked for; return what came of it, and who was caught.

    Raises:
        StoreError: it could not be gone over.
    """
    from oborona.eventlog import process  # noqa: PLC0415 - the engine takes a second to load

    path = context.state / state_files.EVENT_LOG_LOCK
    policies = policy_folders(context.loaded.settings.paths)
    with open_log_store(context) as store:
        with lock.hold(path, "oborona eventlog pass"):
            process.work_on(context.loaded.settings, context.state, policies, log)
        book = DayPassBook(store, log)
        done = book.last(day)
        if done is None:
            raise StoreError(f"{day} of {log} could not be gone over; a merge is not done yet")
        return done, book.persons(day)


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
