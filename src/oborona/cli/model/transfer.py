"""`oborona model export` and `import`: what one site has learned, for another to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.label_store import warn_without_trainer
from oborona.cli.output import echo
from oborona.desk.labels.label_store import open_labels
from oborona.desk.owner import as_asker
from oborona.errors import StoreError
from oborona.feedback import snapshots
from oborona.feedback.training_store import TrainingStore
from oborona.feedback.weights_file import WeightsFile


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@pass_cli_context
def export(context: CliContext, file: Path) -> None:
    """Write the weights in force to a file: numbers, no text, no names, nothing of who said
    what.
    """
    source = WeightsFile(context.state / state_files.WEIGHTS)
    snapshots.write(file, source.image(), b"")
    header = source.header
    echo(
        f"{file}: version {header.version}, {header.spam + header.base_spam} of spam and "
        f"{header.ham + header.base_ham} of ham"
    )


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
    with open_labels(context, make=True) as opened:
        path = context.state / state_files.WEIGHTS_BASE
        if file is None:
            snapshots.remove(path)
            words = "the model goes on without a base"
        else:
            try:
                with as_asker():
                    base = snapshots.read(file)  # whole, and of this layout
                    octets = file.read_bytes()
            except OSError as error:
                raise StoreError(f"{file}: {error.strerror or error}") from error
            write_atomically(path, octets)
            words = (
                f"the base is version {base.header.version}, of {base.header.spam} messages "
                f"of spam and {base.header.ham} of ham"
            )
        with TrainingStore(opened.path) as lessons:
            lessons.request_rebuild()
        echo(words)
        warn_without_trainer(context)
