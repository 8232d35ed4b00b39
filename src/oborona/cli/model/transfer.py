"""`oborona model export` and `import`: what one site has learned, for another to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.label_store import warn_without_trainer
from oborona.cli.output import echo
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.model_base import BaseWeightsOrder, import_weights
from oborona.desk.asks.model_weights import WeightsQuestion, export_weights
from oborona.errors import StoreError
from oborona.feedback import snapshots
from oborona.replication.link import read_link


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@pass_cli_context
def export(context: CliContext, file: Path) -> None:
    """Write the weights in force to a file: numbers, no text, no names, nothing of who said
    what.
    """
    weights = export_weights(context, terminal_caller(), WeightsQuestion())
    snapshots.write(file, weights.content)
    echo(f"{file}: version {weights.version}, {weights.spam} of spam and {weights.ham} of ham")


@click.command(name="import")
@click.argument(
    "file", type=click.Path(path_type=Path, dir_okay=False, exists=True), required=False
)
@click.option("--none", "nothing", is_flag=True, help="Go on without a base.")
@pass_cli_context
def import_(context: CliContext, file: Path | None, nothing: bool) -> None:
    """Take weights of another site as the base: what was and will be learned here is learned on top
    of them.

    The weights are made anew. The base is kept in the state folder; FILE is not needed any more.
    """
    if (file is None) is not nothing:
        raise click.UsageError("name a FILE, or say --none")
    content = None
    if file is not None:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise StoreError(f"{file}: {error.strerror or error}") from error
    order = BaseWeightsOrder(content=content, called=str(file))
    base = import_weights(context, terminal_caller(), order)
    if file is None:
        echo("the model goes on without a base")
    else:
        echo(
            f"the base is version {base.version}, of {base.spam} messages of spam and {base.ham} "
            "of ham"
        )
    if read_link(context.state) is not None:
        echo("on this machine of the site alone: import it on each of the others, too")
    warn_without_trainer(context)
