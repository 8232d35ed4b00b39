"""`oborona model final`: which final models are in force, and putting others in their place."""

from __future__ import annotations

import time
from pathlib import Path

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.model.final_status import MODES, show
from oborona.cli.model.final_training_status import show_training
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.models import (
    FinalModelRemoval,
    FinalModelUpload,
    ModelOrder,
    install_final_model,
    release_final_model,
    remove_final_model,
    roll_back_final_model,
)
from oborona.desk.asks.models import ModelQuestion, show_final_models
from oborona.desk.models.final_models import installed_models, moment, usable
from oborona.desk.models.training_overview import training_state
from oborona.errors import OboronaError
from oborona.stores.final_model import read
from oborona.stores.site_models.level import standing_here


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
    if as_json:
        echo_json(show_final_models(context, terminal_caller(), ModelQuestion()))
        return
    models, settings = installed_models(context.state), context.loaded.settings.final_training
    show(Terminal(), models, context.policy().final)
    with context.as_owner():
        standing = standing_here(context.state)
    if standing is not None:
        by = f"{plain(standing.machine)} at {moment(standing.at)}"
        echo(f"the same on all machines of the site, as {by} has said")
    show_training(training_state(context.state, settings, time.time()), models)


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
    usable(octets, file)  # what is wrong is said of the file
    order = FinalModelUpload(octets=octets)
    outcome = install_final_model(context, terminal_caller(), order)
    if outcome.adds:
        echo(f"model {outcome.version} adds to the rules")
    elif outcome.done:
        echo(f"model {outcome.version} is installed, {MODES[context.policy().final.mode]}")
    else:
        echo(f"model {outcome.version} is in force already")


@final.command()
@pass_cli_context
def rollback(context: CliContext) -> None:
    """Put the model before this one in force again, and keep it there until `auto`; twice is as
    before. One that had decided decides again.
    """
    outcome = roll_back_final_model(context, terminal_caller(), ModelOrder())
    echo(f"model {outcome.version} is in force again")


@final.command()
@click.option("--shipped", is_flag=True, help="The one that stands in place of the one that came.")
@pass_cli_context
def remove(context: CliContext, *, shipped: bool) -> None:
    """Take the site's own model away: the rules and what comes with Oborona decide, until `auto`.
    It is kept for `rollback`.
    """
    remove_final_model(context, terminal_caller(), FinalModelRemoval(shipped=shipped))
    echo(
        "the model that comes with Oborona adds to the rules"
        if shipped
        else "no final model of the site's own: rules and the model that comes with Oborona decide"
    )


@final.command()
@pass_cli_context
def auto(context: CliContext) -> None:
    """Let the model that trains itself take the place of what a person installed, once it is found
    better.
    """
    if not release_final_model(context, terminal_caller(), ModelOrder()).done:
        echo("the model that trains itself may take its place already")
        return
    echo("from the next training on, a model that was found better takes its place")
