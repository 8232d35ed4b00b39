"""`oborona learn`: tell the filter what mail is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import click

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.label_store import wait, warn_without_trainer
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo, echo_json
from oborona.cli.progress import progress
from oborona.cli.terminal_person import terminal_caller
from oborona.daemon.state import prepare_state
from oborona.desk.labels.label_store import open_labels
from oborona.desk.labels.lessons import AT_ONCE, Lesson, LessonReader, write_lessons
from oborona.desk.owner import as_owner_of
from oborona.feedback.label import LabelKind, LabelState

_RESULTS: Final = {
    "new": "",
    "replaced": "of these instead of the opposite",
    "duplicate": "known before",
    "refused": "refused",
}
"""Result of a message → its words where they are counted."""
_PATHS: Final = click.Path(path_type=Path, exists=True, allow_dash=True)


@click.command()
@click.argument("kind", type=click.Choice([kind.value for kind in LabelKind]))
@click.argument("paths", metavar="FILE|DIR|-...", nargs=-1, required=True, type=_PATHS)
@click.option("--person", default="", metavar="ADDRESS", help="Who says so. Default: the site.")
@click.option("--wait", "waits", is_flag=True, help="Wait until all workers use it.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One JSON object per line: of each message, then of all.",
)
@pass_cli_context
def learn(
    context: CliContext, kind: str, paths: Sequence[Path], person: str, waits: bool, as_json: bool
) -> None:
    """Train that messages are spam, or ham (good mail).

    Message files, mboxes, Maildirs, folders of message files, or one message from standard input. A
    message that the same person has labelled before counts once; the opposite label replaces it.
    With --person it acts on that person's mail at once (`oborona personal`). Exit status 1 when
    nothing could be learned from some message.
    """
    if person and ("@" not in person or not person.isprintable() or len(person) > 254):
        raise click.BadParameter(f"{person!r} is no mail address", param_hint="--person")
    if not (context.state / state_files.SECRET).exists():
        with as_owner_of(context.state):
            prepare_state(context.state)
    results = Counter[str]()
    with open_labels(context, make=True) as taught, progress("messages") as advance:
        last = 0
        read = _read_messages(context, paths, LabelKind(kind), person)
        while some := list(islice(read, AT_ONCE)):
            for one in write_lessons(context, taught, some, by=terminal_caller().name).results:
                line: dict[str, object] = {"result": one.result}
                if one.id is not None:
                    line |= {"id": one.id} | (
                        {"instead_of": one.instead_of} if one.instead_of else {}
                    )
                    last = last if one.result == "duplicate" else one.id
                else:
                    line |= {"reason": one.reason}
                    if not as_json:
                        click.echo(f"oborona: {one.message}: {one.reason}", err=True)
                results[one.result] += 1
                if as_json:
                    echo_json({"message": one.message} | line)
                advance()
        if last and warn_without_trainer(context) and waits:
            wait(context, lambda: taught.get(last).state is not LabelState.QUEUED)
    if as_json:
        echo_json({"total": sum(results.values())} | {name: results[name] for name in _RESULTS})
    else:
        echo(
            f"{results['new'] + results['replaced']} labelled as {kind}"
            + "".join(
                f", {results[name]} {words}"
                for name, words in _RESULTS.items()
                if results[name] and words
            )
        )
    if results["refused"]:
        click.get_current_context().exit(1)


def _read_messages(
    context: CliContext, paths: Iterable[Path], kind: LabelKind, person: str
) -> Iterator[Lesson]:
    """Yield what is to be written down of each message."""
    reader = LessonReader(context, kind, person)
    for mail in (mail for path in paths for mail in messages(path)):
        yield reader.read(mail.name, mail.raw)
