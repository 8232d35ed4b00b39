"""`oborona model status` and `history`: what the content model was taught, how it does, and the
states it can go back to.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import click
from rich.table import Table

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.label_store import store
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.daemon.trainer.process import WAITING
from oborona.daemon.trainer.trainer import CHANGED, LEARNED, WORDS
from oborona.desk.moment import shown_utc
from oborona.errors import StoreError
from oborona.feedback import snapshots
from oborona.feedback.label import LabelKind, LabelSource
from oborona.feedback.processing.event_processor import DECIDED
from oborona.feedback.statistics import FeedbackStatistics, feedback_statistics
from oborona.feedback.training_store import TrainingStore
from oborona.feedback.weights_file import WeightsFile, WeightsHeader
from oborona.telemetry import status as process_status


@click.command()
@click.option("--json", "as_json", is_flag=True)
@pass_cli_context
def status(context: CliContext, as_json: bool) -> None:
    """Show who trained the content model with how much, whether it is in use, and how well it
    predicted labels before it was trained on them.
    """
    header, trouble = weights(context.state)
    with store(context) as opened:
        statistics = feedback_statistics(opened, header.calibration)
    trainer = process_status.read_process(context.state, process_status.TrainerStatus, time.time())
    missing = {
        kind.value: max(0, context.loaded.settings.learning.min_learned - number)
        for kind, number in _learned(header).items()
    }
    if as_json:
        echo_json(
            {
                "version": header.version,
                "speaks": not trouble and not any(missing.values()),
                "missing": missing,
                "trouble": trouble,
                "weights": header,
                "trainer": None if trainer is None else _as_json(trainer),
                "figures": statistics,
            }
        )
        return
    table = Table(show_header=False, show_edge=False)
    for name, value in (
        ("model", trouble or _speech(missing)),
        ("version", f"{header.version}, {_when(header.time)}"),
        (
            "learned",
            " and ".join(f"{number} of {kind}" for kind, number in _learned(header).items()),
        ),
        (
            "base",
            f"{header.base}: {header.base_spam} of spam and {header.base_ham} of ham"
            if header.base
            else "",
        ),
        ("trainer", _trainer(trainer)),
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
    with store(context), TrainingStore(context.state / state_files.FEEDBACK, make=False) as lessons:
        rows = lessons.snapshots()
    if as_json:
        for row in rows:
            echo_json(row._asdict() | {"octets": _size(snapshots.path_of(context.state, row.id))})
        return
    table = Table("snapshot", "time", "version", "spam", "ham", "why", "MB")
    for row in rows:
        size = _size(snapshots.path_of(context.state, row.id))
        table.add_row(
            str(row.id), _when(row.time), f"{row.epoch}.{row.position}", str(row.spam), str(row.ham), row.why,
            "gone" if size is None else f"{size / 1e6:.1f}",
        )  # fmt: skip
    if rows:
        Terminal().print(table)
    else:
        echo("there are none yet")


def weights(state: Path) -> tuple[WeightsHeader, str]:
    """Return what is known of the weights in force, and why they can't be used.

    Of weights that are not there, nothing.
    """
    path = state / state_files.WEIGHTS
    if not path.exists():
        return WeightsHeader(), "there are no weights yet: no trainer has run"
    try:
        return WeightsFile(path).header, ""
    except StoreError as error:
        return WeightsHeader(), str(error)


def _learned(header: WeightsHeader) -> dict[LabelKind, int]:
    return {
        LabelKind.SPAM: header.spam + header.base_spam,
        LabelKind.HAM: header.ham + header.base_ham,
    }


def _speech(missing: dict[str, int]) -> str:
    lacks = [f"{number} of {kind}" for kind, number in missing.items() if number]
    return f"not in use until it has learned {' and '.join(lacks)} more" if lacks else "in use"


def _as_json(trainer: process_status.TrainerStatus) -> dict[str, object]:
    fields = trainer.metrics
    return {
        "pid": trainer.pid,
        "time": trainer.time,
        "version": trainer.version,
        "changed": CHANGED.of(fields),
        "learned": _joined(LEARNED.samples(fields)),
        "words": _joined(WORDS.samples(fields)),
        "relearning": trainer.relearning,
        "trouble": trainer.trouble,
        "events": _joined(DECIDED.samples(fields)),
        "events_waiting": WAITING.of(fields),
        "events_trouble": trainer.events_trouble,
    }


def _joined(
    samples: Mapping[tuple[str], float]
    | Mapping[tuple[str, str], float]
    | Mapping[tuple[str, str, str], float],
) -> dict[str, float]:
    return {" ".join(labels): value for labels, value in samples.items()}


def _trainer(trainer: process_status.TrainerStatus | None) -> str:
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


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
