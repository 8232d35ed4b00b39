"""`oborona reputation top`: the worst, best, loudest and most changed."""

from __future__ import annotations

import sys

import click
from rich.table import Table
from rich.text import Text

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.reputation.show import COLOURS
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.entities import MOST_RANKED, RANKED, RankQuestion, rank_entities
from oborona.desk.reputation.entity import KINDS
from oborona.desk.reputation.rank import RankOrder, RankWindow


@click.command()
@click.argument("kind", type=click.Choice(list(KINDS)), default="address")
@click.option(
    "--by",
    type=click.Choice([order.value for order in RankOrder]),
    default="worst",
    show_default=True,
)
@click.option(
    "--window",
    type=click.Choice([window.value for window in RankWindow]),
    default="day",
    show_default=True,
    help="Mail came within it; and which the loudest are counted in.",
)
@click.option("--limit", type=click.IntRange(1, MOST_RANKED), default=RANKED, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def top(context: CliContext, kind: str, by: str, window: str, limit: int, as_json: bool) -> None:
    """Show the entities of a KIND that stand out: worst and best by trust points, most messages,
    most changed against their own history.

    Names come from the journal and from manual overrides; what counted much and has no name there
    is shown by its hash.
    """
    question = RankQuestion(kind=kind, by=RankOrder(by), window=RankWindow(window), limit=limit)
    ranked = rank_entities(context, terminal_caller(), question).entities
    if as_json:
        for entity in ranked:
            echo_json(entity)
        return
    if not ranked:
        echo(f"no {kind} had mail in that time")
        return
    table = Table(kind, "flag", show_edge=False)
    for column in ("trust", "change", f"in a {window}"):
        table.add_column(column, justify="right")
    table.add_column("evidence", overflow="fold")
    for entity in ranked:
        flag = Text(
            f"{entity.pinned} by hand" if entity.pinned else entity.flag.value,
            COLOURS[entity.pinned or entity.flag],
        )
        numbers = f"{entity.trust:+.0f}", f"{entity.change:.1f}", str(entity.seen)
        table.add_row(Text(plain(entity.entity)), flag, *numbers, Text(plain(entity.say)))
    Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED).print(table)
