"""`oborona model`: the models that are learned, and what was learned from whom.

Each command in a file of its own.
"""

from __future__ import annotations

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.model.final import final
from oborona.cli.model.rebuild import anew, rollback, unlearn
from oborona.cli.model.status import history, status
from oborona.cli.model.train import train_
from oborona.cli.model.transfer import export, import_
from oborona.cli.output import echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.models import LabelsQuestion, list_labels
from oborona.desk.moment import shown_utc
from oborona.feedback.label import StoredLabel

# `oborona model words`: what people said, of which message, and what became of it.


@click.command()
@click.option(
    "--last",
    type=click.IntRange(1, 1_000_000),
    default=20,
    show_default=True,
    help="At most this many.",
)
@click.option("--person", metavar="ADDRESS", help="Of this person alone.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def words(context: CliContext, last: int, person: str | None, as_json: bool) -> None:
    """List the last labels (spam, ham), the newest first, with the IDs that `model unlearn`
    takes.
    """
    question = LabelsQuestion(person=person, most=last)
    newest = list_labels(context, terminal_caller(), question).labels
    if as_json:
        for label in newest:
            echo_json(label)
        return
    table = Table("id", "time", "label", "source", "by", "message", "predicted", "state")
    for label in newest:
        table.add_row(
            str(label.id),
            shown_utc(label.time),
            label.kind.value,
            label.source.report,
            plain(label.person),
            plain(label.message_id),
            "" if label.margin is None else f"{label.margin:+.2f}",
            _state(label),
        )
    Terminal().print(table, highlight=False)


def _state(label: StoredLabel) -> str:
    why = ": ".join(part for part in (label.changed_by, label.reason) if part)
    return plain(f"{label.state} ({why})" if why else label.state.value)


@click.group()
def model() -> None:
    """Show what the content model learned from labels (spam, ham), take labels back, export and
    import it.
    """


for command in (status, words, history, rollback, unlearn, anew, export, import_, train_, final):
    model.add_command(command)
