"""`oborona model status` and `history`: what the content model was taught, how it does, and the
states it can go back to.
"""

from __future__ import annotations

from collections.abc import Mapping

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.models import (
    ModelQuestion,
    TrainerFigures,
    learned,
    list_snapshots,
    show_model,
)
from oborona.desk.moment import shown_utc
from oborona.feedback.label import LabelSource
from oborona.feedback.statistics import FeedbackStatistics


@click.command()
@click.option("--json", "as_json", is_flag=True)
@pass_cli_context
def status(context: CliContext, as_json: bool) -> None:
    """Show who trained the content model with how much, whether it is in use, and how well it
    predicted labels before it was trained on them.
    """
    told = show_model(context, terminal_caller(), ModelQuestion())
    if as_json:
        echo_json(told)
        return
    header, statistics = told.weights, told.figures
    table = Table(show_header=False, show_edge=False)
    for name, value in (
        ("model", told.trouble or _speech(told.missing)),
        ("version", f"{header.version}, {_when(header.time)}"),
        (
            "learned",
            " and ".join(f"{number} of {kind}" for kind, number in learned(header).items()),
        ),
        (
            "base",
            f"{header.base}: {header.base_spam} of spam and {header.base_ham} of ham"
            if header.base
            else "",
        ),
        ("trainer", _trainer(told.trainer)),
        ("waiting", f"{statistics.waiting} labels" if statistics.waiting else ""),
        ("last label", _when(statistics.last)),
        (
            "kept to train again",
            " and ".join(f"{number} of {kind}" for kind, number in statistics.kept.items()),
        ),
    ):
        if value:
            table.add_row(name, plain(value))
    console = Terminal()
    console.print(table, highlight=False)
    _show_figures(console, statistics)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def history(context: CliContext, as_json: bool) -> None:
    """List the snapshots that `model rollback` can go back to, the newest first."""
    rows = list_snapshots(context, terminal_caller(), ModelQuestion()).snapshots
    if as_json:
        for row in rows:
            echo_json(row)
        return
    table = Table("snapshot", "time", "version", "spam", "ham", "why", "MB")
    for row in rows:
        size = row.octets
        table.add_row(
            str(row.id), _when(row.time), f"{row.epoch}.{row.position}", str(row.spam), str(row.ham), row.why,
            "gone" if size is None else f"{size / 1e6:.1f}",
        )  # fmt: skip
    if rows:
        Terminal().print(table)
    else:
        echo("there are none yet")


def _speech(missing: Mapping[str, int]) -> str:
    lacks = [f"{number} of {kind}" for kind, number in missing.items() if number]
    return f"not in use until it has learned {' and '.join(lacks)} more" if lacks else "in use"


def _trainer(trainer: TrainerFigures | None) -> str:
    if trainer is None:
        return "does not run: reports wait"
    if trainer.trouble:
        return f"runs (pid {trainer.pid}), and can't learn: {trainer.trouble}"
    if trainer.relearning is not None:
        return f"runs (pid {trainer.pid}), computes the weights again: {trainer.relearning:.0%}"
    return f"runs (pid {trainer.pid})"


def _show_figures(console: Terminal, statistics: FeedbackStatistics) -> None:
    table = Table("label", "source", "state", title="labels", title_justify="left")
    table.add_column("number", justify="right")
    for figure in statistics.said:
        table.add_row(
            figure.kind, LabelSource(figure.source).report, figure.state, str(figure.number)
        )
    if statistics.said:
        console.print(table)
    if statistics.persons:
        table = Table("person", "spam", "ham", title="by whom", title_justify="left")
        for person in statistics.persons:
            table.add_row(plain(person.person), str(person.spam), str(person.ham))
        console.print(table)
    agreed = statistics.agreement
    if not agreed.number:
        return
    title = (
        f"of the last {agreed.number} labelled messages, predicted before training on them, "
        f"{agreed.agreed} were right;"
        f" {agreed.missed} false negatives, {agreed.wronged} false positives"
    )
    table = Table("probability", title=title, title_justify="left")
    for name in ("messages", "predicted", "were spam"):
        table.add_column(name, justify="right")
    for bin_ in agreed.bins:
        table.add_row(
            f"{bin_.low:.1f} to {bin_.high:.1f}",
            str(bin_.number),
            f"{bin_.predicted:.3f}",
            f"{bin_.happened:.3f}",
        )
    console.print(table)


def _when(at: float) -> str:
    return shown_utc(at) if at else "never"
