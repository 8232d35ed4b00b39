"""`oborona model final`: which final model is in force, and putting another in its place."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
import msgspec
from rich.table import Table

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.owner import as_owner_of
from oborona.cli.terminal import Terminal, plain
from oborona.errors import OboronaError, StoreError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.models.final.file import TrainedModel, decode, version
from oborona.policy.models.final.model import Forest
from oborona.policy.models.final.summary import CatchRate, TrainingSummary
from oborona.stores.final_model import read

SHOWN: Final = 15  # features


class MissingModelError(OboronaError):
    """There is no model where one is wanted."""


@click.group(name="final")
def final() -> None:
    """Show, install and remove the final model, which scores a message from all facts and rules."""


@final.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def status(context: CliContext, *, as_json: bool) -> None:
    """Show the model in force, how it was found to judge, and what the policy lets it do."""
    table = context.policy().final
    octets = read(context.state / state_files.FINAL_MODEL)
    if octets is None:
        echo_json({"model": None}) if as_json else echo(
            "no final model: the score of the rules decides"
        )
        return
    model = _usable(octets, context.state / state_files.FINAL_MODEL)
    if as_json:
        summary = msgspec.to_builtins(model.summary)
        report = {
            "model": version(octets),
            "trained_at": model.trained_at,
            "policy": model.policy,
            "summary": summary,
        }
        echo_json({**report, "mode": table.mode, "spam": table.spam, "reject": table.reject})
        return
    moment = datetime.fromtimestamp(model.trained_at, UTC).isoformat(sep=" ", timespec="minutes")
    summary = model.summary
    echo(
        f"model {version(octets)}, trained at {moment} UTC by {plain(summary.software)} "
        f"under policy {plain(model.policy)}"
    )
    refuses = f"p={table.reject:g} refuses" if table.reject else "it never refuses"
    echo(f"{table.mode}: p={table.spam:g} is spam, {refuses}")
    console = Terminal()
    shown = Table("on mail that came later", "rules alone", "final model")
    for row in quality_rows(summary):
        shown.add_row(*row)
    console.print(shown)
    weights = Table("feature", "importance")
    for name, share in summary.importance[:SHOWN]:
        weights.add_row(plain(name), f"{share:.1%}")
    console.print(weights)


@final.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@pass_cli_context
def install(context: CliContext, file: Path) -> None:
    """Put a trained model in force; running workers follow within two seconds. The one before it is
    kept.
    """
    octets = read(file)
    if octets is None:
        raise MissingModelError(f"{file}: no such file")
    _usable(octets, file)
    with as_owner_of(context.state):
        before = read(context.state / state_files.FINAL_MODEL)
        if before == octets:
            echo(f"model {version(octets)} is in force already")
            return
        if before is not None and _is_model(before):
            write_atomically(context.state / state_files.FINAL_MODEL_BEFORE, before)
        write_atomically(context.state / state_files.FINAL_MODEL, octets)
    echo(f"model {version(octets)} is in force, {context.policy().final.mode}")


@final.command()
@pass_cli_context
def rollback(context: CliContext) -> None:
    """Put the model before this one in force again; twice is as before."""
    with as_owner_of(context.state):
        before, now = (
            read(context.state / state_files.FINAL_MODEL_BEFORE),
            read(context.state / state_files.FINAL_MODEL),
        )
        if before is None:
            raise MissingModelError("no model was in force before this one")
        _usable(before, context.state / state_files.FINAL_MODEL_BEFORE)
        if now is not None:
            write_atomically(context.state / state_files.FINAL_MODEL_BEFORE, now)
        write_atomically(context.state / state_files.FINAL_MODEL, before)
    echo(f"model {version(before)} is in force again")


@final.command()
@pass_cli_context
def remove(context: CliContext) -> None:
    """Take the model away: the score of the rules decides. It is kept for `rollback`."""
    with as_owner_of(context.state):
        now = read(context.state / state_files.FINAL_MODEL)
        if now is None:
            raise MissingModelError("no final model is in force")
        write_atomically(context.state / state_files.FINAL_MODEL_BEFORE, now)
        (context.state / state_files.FINAL_MODEL).unlink()
    echo("no final model: the score of the rules decides")


def quality_rows(summary: TrainingSummary) -> list[tuple[str, str, str]]:
    """Return how score and model were found to judge, as rows of a table."""
    if summary.score is None or summary.final is None:
        return []
    rows = [
        ("(1-ROCA)%, smaller is better", f"{summary.score.loss:.3f}", f"{summary.final.loss:.3f}")
    ]
    for first, second in zip(summary.score.catches, summary.final.catches, strict=False):
        rows.append(
            (f"spam caught, {first.lost:.1%} false positives", _shown(first), _shown(second))
        )
    return rows


def _shown(catch: CatchRate) -> str:
    return f"{catch.caught:.1%} ({catch.low:.1%} to {catch.high:.1%})"


def _is_model(octets: bytes) -> bool:
    """Tell whether a file holds a model: what does not is not worth going back to."""
    try:
        decode(octets)
    except OboronaError:
        return False
    return True


def _usable(octets: bytes, path: Path) -> TrainedModel:
    """Return the model of a file, if it can be put in force here.

    Raises:
        StoreError: it can't; the text names the file and says why.
    """
    try:
        return Forest(decode(octets), SCHEMA).trained
    except OboronaError as error:
        raise StoreError(f"{path}: {error}") from error
