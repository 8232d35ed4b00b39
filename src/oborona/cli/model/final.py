"""`oborona model final`: which final models are in force, and putting others in their place."""

from __future__ import annotations

import time
from pathlib import Path

import click
import msgspec

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.model.final_status import MODES, as_data, installed_models, show, usable
from oborona.cli.model.final_training_status import (
    show_training,
    training_data,
    training_state,
)
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal
from oborona.desk.owner import as_owner_of
from oborona.errors import OboronaError
from oborona.policy.models.final.file import version
from oborona.stores.final_model import read
from oborona.stores.final_training_record import (
    hold_model,
    install_model,
    installed_version,
    replacing,
    write_record,
)


class MissingModelError(OboronaError):
    """There is no model where one is wanted."""


@click.group(name="final")
def final() -> None:
    """Show, install and remove the final model, which scores a message from all facts and rules."""


@final.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def status(context: CliContext, *, as_json: bool) -> None:
    """Show the models in force, which decides and why, and when the site's own is trained next."""
    models = installed_models(context.state)
    table = context.policy().final
    training = training_state(context.state, context.loaded.settings.final_training, time.time())
    if as_json:
        echo_json({**as_data(models, table), "training": training_data(training)})
    else:
        show(Terminal(), models, table)
        show_training(training, models)


@final.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@pass_cli_context
def install(context: CliContext, file: Path) -> None:
    """Put a trained model in force; running workers follow within two seconds. The site's own
    before it is kept, and nothing that trains itself takes its place until `auto`. One that adds to
    the rules takes the place of the one that came.
    """
    octets = read(file)
    if octets is None:
        raise MissingModelError(f"{file}: no such file")
    if usable(octets, file).points:
        with as_owner_of(context.state), replacing(context.state):
            write_atomically(context.state / state_files.FINAL_SHIPPED, octets)
        echo(f"model {version(octets)} adds to the rules")
        return
    with as_owner_of(context.state), replacing(context.state) as record:
        new = install_model(context.state, octets)
        hold_model(context.state, record, "install", time.time())
    if new:
        echo(f"model {version(octets)} is installed, {MODES[context.policy().final.mode]}")
    else:
        echo(f"model {version(octets)} is in force already")


@final.command()
@pass_cli_context
def rollback(context: CliContext) -> None:
    """Put the model before this one in force again, and keep it there until `auto`; twice is as
    before. One that had decided decides again.
    """
    with as_owner_of(context.state), replacing(context.state) as record:
        before, now = (
            read(context.state / state_files.FINAL_MODEL_BEFORE),
            read(context.state / state_files.FINAL_MODEL),
        )
        if before is None:
            raise MissingModelError("no model was in force before this one")
        usable(before, context.state / state_files.FINAL_MODEL_BEFORE)
        if now is not None:
            write_atomically(context.state / state_files.FINAL_MODEL_BEFORE, now)
        write_atomically(context.state / state_files.FINAL_MODEL, before)
        hold_model(context.state, record, "rollback", time.time())
    echo(f"model {version(before)} is in force again")


@final.command()
@click.option("--shipped", is_flag=True, help="The one that stands in place of the one that came.")
@pass_cli_context
def remove(context: CliContext, *, shipped: bool) -> None:
    """Take the site's own model away: the rules and what comes with Oborona decide, until `auto`.
    It is kept for `rollback`.
    """
    with as_owner_of(context.state), replacing(context.state) as record:
        if shipped:
            _remove_shipped(context.state / state_files.FINAL_SHIPPED)
            return
        now = read(context.state / state_files.FINAL_MODEL)
        if now is None:
            raise MissingModelError("no final model of the site's own is installed")
        write_atomically(context.state / state_files.FINAL_MODEL_BEFORE, now)
        (context.state / state_files.FINAL_MODEL).unlink()
        hold_model(context.state, record, "remove", time.time())
    echo("no final model of the site's own: rules and the model that comes with Oborona decide")


@final.command()
@pass_cli_context
def auto(context: CliContext) -> None:
    """Let the model that trains itself take the place of what a person installed, once it is found
    better.
    """
    with as_owner_of(context.state), replacing(context.state) as record:
        installed = installed_version(context.state)
        if not record.holds(installed):
            echo("the model that trains itself may take its place already")
            return
        automatic = (*record.automatic, installed) if installed else record.automatic
        write_record(
            context.state,
            msgspec.structs.replace(record, held_by="", held_at=0.0, automatic=automatic),
        )
    echo("from the next training on, a model that was found better takes its place")


def _remove_shipped(path: Path) -> None:
    if read(path) is None:
        raise MissingModelError("no other model than the one that comes with Oborona is installed")
    path.unlink()
    echo("the model that comes with Oborona adds to the rules")
