"""`oborona eventlog model`: which model of persons a log has, and putting another in its place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from rich.table import Table

from oborona.atomic_file import write_atomically
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.eventlog.logs import policy_rules
from oborona.cli.model.final_status import quality_rows
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.daemon.event_logs import check_packages
from oborona.desk.event_logs.logs import log_named
from oborona.desk.models.final_models import moment
from oborona.desk.owner import as_owner_of
from oborona.errors import OboronaError, StoreError

if TYPE_CHECKING:
    from oborona.eventlog.persons.model import PersonModel


@click.group(name="model")
def person_model() -> None:
    """Show, install and remove the model of the persons of a log."""


@person_model.command()
@click.argument("log")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def status(context: CliContext, log: str, as_json: bool) -> None:
    """Show the model of a LOG: when it was trained, and how it judged days that came later."""
    from oborona.eventlog.known_logs import model_path  # noqa: PLC0415 - see `eventlog run`

    path = model_path(context.state, log)
    found = _read(context, log, path)
    mode = context.loaded.settings.eventlog.person_models
    if as_json:
        summary = None if found is None else msgspec.to_builtins(found.trained.summary)
        version = None if found is None else found.version
        echo_json({"log": log, "model": version, "mode": mode, "summary": summary})
        return
    if found is None:
        echo(f"{log} has no model of persons")
        return
    trained = found.trained
    echo(
        f"model {found.version}, {mode}, trained at {moment(trained.trained_at)} by "
        f"{plain(trained.summary.software)} under policy {plain(trained.policy)}"
    )
    table = Table("on days that came later", "number of events", "model of persons")
    for row in quality_rows(trained.summary, "fraud"):
        table.add_row(*row)
    Terminal().print(table)


@person_model.command()
@click.argument("log")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@pass_cli_context
def install(context: CliContext, log: str, file: Path) -> None:
    """Put a trained model in force for a LOG: from the next pass over a day on."""
    from oborona.eventlog.known_logs import model_path  # noqa: PLC0415 - see `eventlog run`

    found = _read(context, log, file)
    if found is None:
        raise StoreError(f"{file}: no such file")
    path = model_path(context.state, log)
    with as_owner_of(context.state):
        path.parent.mkdir(mode=0o750, exist_ok=True)
        write_atomically(path, file.read_bytes())
    echo(f"model {found.version} is installed, {context.loaded.settings.eventlog.person_models}")


@person_model.command()
@click.argument("log")
@pass_cli_context
def remove(context: CliContext, log: str) -> None:
    """Take the model of a LOG away: what it said last is heeded for a week."""
    from oborona.eventlog.known_logs import model_path  # noqa: PLC0415 - see `eventlog run`

    path = model_path(context.state, log_named(context, log).name)
    if not path.exists():
        raise StoreError(f"{log} has no model of persons")
    path.unlink()
    echo(f"{log} has no model of persons any more")


def _read(context: CliContext, log: str, path: Path) -> PersonModel | None:
    """Return the model of a file, if it can be put in force for a log.

    Raises:
        StoreError: it can't; the text says why.
    """
    check_packages()
    from oborona.eventlog.persons.model import known_names, read_model  # noqa: PLC0415 - see above

    schema = log_named(context, log)
    rules = policy_rules(context).of_day(log)
    counted = () if rules.log is None else rules.log.counted
    try:
        return read_model(path, known_names(schema, rules.log, counted))
    except OboronaError as error:
        raise StoreError(f"{path}: {error}") from error
