"""`oborona model`: the models that are learned, and what was learned from whom.

Each command in a file of its own.
"""

from __future__ import annotations

import click

from oborona.cli.model.final import final
from oborona.cli.model.labels import words
from oborona.cli.model.rebuild import anew, rollback, unlearn
from oborona.cli.model.status import history, status
from oborona.cli.model.train import train_
from oborona.cli.model.transfer import export, import_


@click.group()
def model() -> None:
    """Show what the content model learned from labels (spam, ham), take labels back, export and
    import it.
    """


for command in (status, words, history, rollback, unlearn, anew, export, import_, train_, final):
    model.add_command(command)
