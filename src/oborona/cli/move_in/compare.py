"""`oborona move-in compare`: where another engine's verdicts and ours differ."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final, cast

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.output import echo, echo_json
from oborona.cli.progress import progress
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.desk.asks.engine_comparison import EngineComparison, comparison_of
from oborona.desk.policy.engine_tally import EngineTally, VerdictCell
from oborona.desk.policy.statistics import read_all
from oborona.policy.engine_table import EngineName

_ROWS: Final = ("good", "perhaps", "certain", "put off")
_COLUMNS: Final = ("good", "perhaps", "certain")
_NAMED: Final = 5  # rules and symbols of a pair


@click.command()
@click.option(
    "--engine", type=click.Choice(["rspamd", "spamd", "clamd"]), default="rspamd", show_default=True
)
@click.option(
    "--since", type=DurationParam(), default="14d", show_default=True, help="How far back: 2h, 7d."
)
@click.option(
    "--limit", type=click.IntRange(0, 200), default=5, show_default=True,
    help="Messages that are named of each pair of verdicts.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def compare(context: CliContext, engine: str, since: float, limit: int, as_json: bool) -> None:
    """Show where the verdicts of an engine beside ours and our own differ, over the journal.

    A table of both verdicts, a line a day, and of each pair that differs the rules that hit and the
    newest messages, for `oborona explain`. Ours is what our own policy says, also where the other
    engine's word made something else of it. Exit status 1 when it was asked about no message.
    """
    tally = EngineTally(context.policy(), cast(EngineName, engine), limit)
    with ExitStack() as shown:

        def begun(number: int) -> Callable[[], None]:
            return shown.enter_context(progress("messages", number))

        asyncio.run(read_all(tally, context.state, since, begun))
    found = comparison_of(tally, complete=True)
    if as_json:
        echo_json(found)
    else:
        _show(found)
    if not found.messages:
        click.get_current_context().exit(1)


def _show(found: EngineComparison) -> None:
    console = Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED)
    echo(
        f"{found.messages:,} messages with a verdict of {found.engine}; {found.unknown:,} without "
        f"an answer of it, {found.unasked:,} that it was not asked about or that are too old"
    )
    if found.damaged:
        echo(f"{found.damaged:,} more are damaged in the journal")
    if not found.messages:
        echo(f"[engines.{found.engine}] asks it (docs/mail-servers/engines.md)")
        return
    numbers = {(cell.ours, cell.theirs): cell.messages for cell in found.cells}
    table = Table("ours \\ theirs")
    for column in _COLUMNS:
        table.add_column(column, justify="right")
    for row in _ROWS:
        values = [numbers.get((row, column), 0) for column in _COLUMNS]
        if row != _ROWS[-1] or any(values):
            table.add_row(row, *(f"{value:,}" if value else "" for value in values))
    console.print(table, highlight=False)
    days = Table("day")
    for column in ("messages", "agree", "ours stricter", "ours milder"):
        days.add_column(column, justify="right")
    for day in found.days:
        days.add_row(
            day.day, *(f"{one:,}" for one in (day.messages, day.agree, day.stricter, day.milder))
        )
    console.print(days, highlight=False)
    for cell in found.cells:
        if cell.ours != cell.theirs:
            _show_cell(cell, found.engine)


def _show_cell(cell: VerdictCell, engine: str) -> None:
    echo(f"ours {cell.ours}, {engine} {cell.theirs}: {cell.messages:,}")
    for whose, named in (("our rules", cell.rules), ("theirs", cell.symbols)):
        if named:
            words = ", ".join(f"{name} {number:,}" for name, number in named[:_NAMED])
            echo(plain(f"    {whose}: {words}"))
    for one in cell.examples:
        when = time.strftime("%m-%d %H:%M", time.localtime(one.at))
        echo(plain(f"    {one.id}  {when}  {one.score:g}  {one.sender or '<>'}  {one.subject}"))
        echo(plain(f"        {one.says}"))
