"""`oborona chart`: what was counted in each ten minutes, or each day, as bars."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.counters.timeline_chart import BARS, number
from oborona.desk.asks.charts import (
    Chart,
    ChartKind,
    ChartLine,
    ChartQuestion,
    SeriesQuestion,
    list_series,
    read_charts,
)
from oborona.journal.query import BadQuery, parse_moment
from oborona.stores.charts.reader import ChartStep
from oborona.stores.charts.schema import DAY_S

WIDTH: Final = 72  # columns of bars
SHOWN: Final = 30  # series
LABEL: Final = 40
_TENS: Final = 3 * DAY_S  # a longer time is shown by days


@click.command()
@click.argument("series", nargs=-1)
@click.option(
    "--since",
    default="",
    metavar="TIME",
    help="From then on: 30m, 2h, 7d, 2026-11-22, or a day and time; 24h without it.",
)
@click.option("--until", default="", metavar="TIME", help="Before that; of a day its end.")
@click.option(
    "--step",
    type=click.Choice([step.value for step in ChartStep]),
    help="Of each value; 1d without it where more than three days are asked for.",
)
@click.option("--json", "as_json", is_flag=True, help="A JSON object.")
@pass_cli_context
def chart(
    context: CliContext,
    series: Sequence[str],
    since: str,
    until: str,
    step: str | None,
    as_json: bool,
) -> None:
    """Show what the daemon did in each ten minutes of two weeks, or each day of 400.

    SERIES is a name or the beginning of names: verdicts, rules/live, rules/live/MASS_TEXT, queues,
    domains/spam/example.org. Without it the names are listed. Times are UTC.

    \b
        oborona chart verdicts
        oborona chart rules/live/MASS_TEXT --since 14d
    """  # noqa: D301 - the backspace has click leave the lines as they stand
    caller = terminal_caller()
    if not series:
        listed = list_series(context, caller, SeriesQuestion())
        if as_json:
            echo_json(listed)
        else:
            echo("\n".join(plain(one.name) for one in listed.series))
        return
    asked = _question(series, since, until, step, time.time())
    found = read_charts(context, caller, asked)
    if as_json:
        echo_json(found)
    else:
        echo(drawn(found))
    if not found.series:
        click.get_current_context().exit(1)


def _question(
    series: Sequence[str], since: str, until: str, step: str | None, now: float
) -> ChartQuestion:
    asked = ChartQuestion(series=list(series))
    try:
        if since:
            asked.since = parse_moment(since, now)
        asked.until = parse_moment(until, now, end=True) if until else now
    except BadQuery as error:
        raise click.UsageError(str(error)) from None
    long = asked.since and asked.until - asked.since > _TENS
    asked.step = ChartStep(step or (ChartStep.DAY if long else ChartStep.TEN_MINUTES))
    return asked


def drawn(found: Chart) -> str:
    """Return charts as lines of text, the largest first."""
    together = -(-found.times // WIDTH)
    start = datetime.fromtimestamp(found.first, UTC)
    end = datetime.fromtimestamp(found.first + found.times * found.step, UTC)
    minutes = together * found.step // 60
    bar = f"{minutes} minutes" if found.step < DAY_S else f"{minutes // 1440} days"
    lines = [
        f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC, {bar} a bar"
        if found.step < DAY_S
        else f"{start:%Y-%m-%d} to {end:%Y-%m-%d} UTC, {bar} a bar"
    ]
    largest = sorted(found.series, key=lambda line: (-line.total, line.name))
    label = max((min(LABEL, len(line.name)) for line in largest[:SHOWN]), default=0)
    lines += [_row(line, together, label) for line in largest[:SHOWN]]
    if len(largest) > SHOWN:
        lines.append(f"and {len(largest) - SHOWN} smaller ones: ask for fewer, or for --json")
    lines += [f"there is no series {plain(name)}" for name in found.unknown]
    return "\n".join(lines)


def _row(line: ChartLine, together: int, label: int) -> str:
    join = max if line.kind is ChartKind.MOST else sum
    values = [value or 0 for value in line.values]
    columns = [join(values[at : at + together]) for at in range(0, len(values), together)]
    peak = max(columns, default=0)
    bars = "".join(
        BARS[-(-column * (len(BARS) - 1) // peak)] if peak else " " for column in columns
    )
    name = plain(line.name)
    name = name if len(name) <= label else f"{name[: label - 1]}…"
    return f"{name:<{label}} {bars} {number(line.total):>7} ^{number(peak)}"
