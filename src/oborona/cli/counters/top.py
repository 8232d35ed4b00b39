"""`oborona counters top`."""

from __future__ import annotations

from typing import Final

import click
import msgspec
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.shingle import of_service, type_of
from oborona.cli.terminal import Terminal
from oborona.cli.terminal_person import terminal_caller
from oborona.counters.heavy_hitters import NOTE_ROOM
from oborona.counters.top import TOP_LIMIT
from oborona.desk.asks.counters import WINDOWS, CounterTopQuestion, rank_counters
from oborona.desk.reputation.entity import KINDS
from oborona.message.shingle_name import type_name
from oborona.message.shingles import ShingleType
from oborona.types import CounterPrefix, Metric, Window

_NAMED: Final = {
    ShingleType.FROM: ShingleType.AUTHOR, ShingleType.MAIL_FROM: ShingleType.PROVED_SENDER, ShingleType.FROM_DOMAIN: ShingleType.AUTHOR_DOMAIN, ShingleType.MAIL_FROM_DOMAIN: ShingleType.AUTHOR_DOMAIN,
}  # fmt: skip
"""Types whose pieces nobody names → the nearest that `reputation top` does."""


def _names(kind: type[Metric | Window]) -> click.Choice[str]:
    return click.Choice([member.name.lower() for member in kind], case_sensitive=False)


@click.command()
@click.argument("kind", metavar="TYPE", type=type_of)
@click.option(
    "--metric", type=_names(Metric), default="seen", show_default=True, help="Count to sort by."
)
@click.option(
    "--window", type=_names(Window), default="day", show_default=True, help="Counts of this window."
)
@of_service
@click.option(
    "--limit",
    type=click.IntRange(1, NOTE_ROOM),
    default=TOP_LIMIT,
    show_default=True,
    help="At most this many.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_cli_context
def top(
    context: CliContext,
    kind: ShingleType,
    metric: str,
    window: str,
    prefix: str,
    limit: int,
    as_json: bool,
) -> None:
    """Show the shingles (hashes) of a type with the highest counts; `oborona reputation top` shows
    names.

    Every count is exact. Which shingles are looked at is kept by a sketch that the daemon writes
    twice a minute: none is missing that has more than 1/129 of all that its type counted, what is a
    day old weighing half. In a cluster it is kept of what this machine counted.
    """
    report = rank_counters(
        context,
        terminal_caller(),
        CounterTopQuestion(
            type=type_name(kind),
            metric=metric.lower(),
            window=window.lower(),
            prefix=CounterPrefix(prefix),
            limit=limit,
        ),
    )
    if as_json:
        rows = [{"shingle": ranked.shingle, "count": ranked.count} for ranked in report.top]
        fields = {"type": report.type, "prefix": prefix, "metric": metric, "window": window}
        echo(msgspec.json.encode(fields | {"top": rows}))
        return
    if not report.top:
        echo(f"no {type_name(kind)} counted {metric} in window {window}")
        return
    table = Table("shingle", show_edge=False)
    for column in WINDOWS:
        heading = f"{metric}, {column}" if column == report.window else column
        table.add_column(heading, justify="right")
    for ranked in report.top:
        table.add_row(ranked.shingle, *(str(ranked.windows[column]) for column in WINDOWS))
    Terminal(soft_wrap=True).print(table)
    named = next(
        (label for label, named_kind in KINDS.items() if named_kind is _NAMED.get(kind, kind)), ""
    )
    if named and prefix == CounterPrefix.IN:
        click.echo(f"these are hashes; with names: oborona reputation top {named}", err=True)
