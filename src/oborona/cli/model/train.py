"""`oborona model train`: the final model, from mail that people have sorted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.model.final_status import quality_rows
from oborona.cli.model.train_persons import train_persons
from oborona.cli.output import echo
from oborona.cli.sorted_mail import SortedMail, folder_mail, index_mail
from oborona.cli.terminal import Terminal
from oborona.daemon.reader.meaning import LocalTextEncoder, encode_message
from oborona.daemon.reader.picture_queue import PictureQueue, missing_requirement, pool_plans
from oborona.daemon.reader.wire import ReaderTask
from oborona.desk.site import PATIENCE_S
from oborona.feedback.final.backtest import Backtest
from oborona.feedback.final.meaning import Encode
from oborona.feedback.final.train import NotTrainable, TrainingResult, missing_packages, train
from oborona.policy.models.final.examples import FinalExample
from oborona.policy.models.final.file import encode, version

LOG_DAYS: Final = 30
DAY_S: Final = 86_400.0
FEEDBACK: Final = 0.2  # share of messages that people say a word about
DELAY: Final = 100  # further messages, before they do

KEPT: Final = 100  # results: the same message is asked about twice in a row

_Step = Callable[[str, int, int], None]


class ReplayOptions(NamedTuple):
    """How mail is played through."""

    shuffled: bool
    feedback: float
    delay: int
    meaning: bool


@click.command(name="train")
@click.option(
    "--from", "folder", type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with ham and spam in it: folders of messages, Maildirs or mboxes.",
)  # fmt: skip
@click.option(
    "--index", type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help=("File with a line `ham PATH` or `spam PATH` for each message, in the order in which "
        "they came."),
)  # fmt: skip
@click.option(
    "--from-log",
    "log",
    metavar="LOG",
    help="Train a model of the persons of an event log, from its checked days.",
)
@click.option(
    "--since",
    type=DurationParam(),
    default=LOG_DAYS * DAY_S,
    help="With --from-log: days of the last 30d, 12w; by default 30d.",
)
@click.option(
    "--shuffled",
    is_flag=True,
    help="In a random order, always the same: for mail of which the times say nothing.",
)
@click.option(
    "--feedback", type=click.FloatRange(0, 1), default=FEEDBACK, show_default=True,
    help=("Share of messages that people report, for what the content model and spam reports "
        "say meanwhile."),
)  # fmt: skip
@click.option(
    "--delay",
    type=click.IntRange(0),
    default=DELAY,
    show_default=True,
    help="Further messages that come before they do.",
)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False),
    help=("The model; `oborona model final install` puts it in force. By default final.model, or "
        "LOG.model."),
)  # fmt: skip
@click.option(
    "--report", "page", type=click.Path(path_type=Path, dir_okay=False), default=Path("final.html"), show_default=True,
    help="A page with curves, reliability, importance and the worst errors.",
)  # fmt: skip
@click.option(
    "--meaning", is_flag=True,
    help=("Also use the meaning of texts (embeddings), for grey mail: some ten milliseconds a "
        "message more; [reader] meaning has to be on."),
)  # fmt: skip
@pass_cli_context
def train_(
    context: CliContext,
    /,
    folder: Path | None,
    index: Path | None,
    log: str | None,
    since: float,
    out: Path | None,
    page: Path,
    **how: Any,
) -> None:
    """Train the final model from sorted mail, and measure it on mail that it was not trained on.

    With --from-log it is a model of persons instead, which scores those of an event log.

    Each message is scanned under the policy in force, in the order in which it came, with counters
    and a content model that know of it what they would have known then. Nothing of the site is read
    but its policy and signatures, and nothing is changed.
    """
    if [folder, index, log].count(None) != 2:
        raise click.UsageError(
            "name a folder by --from, an index by --index, or a log by --from-log"
        )
    if lacks := missing_packages():
        raise NotTrainable(lacks)
    if log is not None:
        with _progress() as step:
            train_persons(context, log, since, out or Path(f"{log}.model"), step)
        return
    out = out or Path(state_files.FINAL_MODEL)
    asked_for = ReplayOptions(**how)
    sources = (
        folder_mail(folder)
        if folder is not None
        else index_mail(index)
        if index is not None
        else iter(())
    )
    with SortedMail(sources, shuffled=asked_for.shuffled) as mail, _progress() as step:
        if mail.no_mail:
            more = f" (and {len(mail.no_mail) - 1} more)" if len(mail.no_mail) > 1 else ""
            click.echo(
                f"oborona: {mail.no_mail[0]}: there is no message in it, passed over{more}",
                err=True,
            )
        if folder is not None and not asked_for.shuffled:
            mail.by_arrival()
        examples, rehearsal = asyncio.run(_rehearsed(context, mail, step, asked_for))
        training = train(
            examples,
            rehearsal.observer.names,
            policy=context.policy().version,
            now=time.time(),
            meaning=rehearsal.meaning(),
            progress=step,
        )
    from oborona.feedback.final.report import report  # noqa: PLC0415 - the extra `ml`, and seconds to import

    octets = encode(training.model)
    write_atomically(page, report(training, examples).encode())
    write_atomically(out, octets)
    _show(training, version(octets))
    echo(f"{out}: model {version(octets)}; {page}: report")


async def _rehearsed(
    context: CliContext, mail: SortedMail, step: _Step, how: ReplayOptions
) -> tuple[list[FinalExample], Backtest]:
    examples = []
    async with _encoder(context, how) as encode_text:
        with context.site() as site:
            rehearsal = Backtest(
                site,
                context.policy(),
                delay=how.delay,
                share=how.feedback,
                least=context.loaded.settings.learning.min_learned,
                encode=encode_text,
            )
            for number, message in enumerate(mail):
                step("messages", number, len(mail))
                examples.append((await rehearsal.take(message)).example)
    return examples, rehearsal


@asynccontextmanager
async def _encoder(context: CliContext, how: ReplayOptions) -> AsyncIterator[Encode | None]:
    """Give what says what a text means, in a process of this command's own.

    None where that is not wanted.
    """
    if not how.meaning:
        yield None
        return
    settings = msgspec.structs.replace(context.loaded.settings.reader, meaning=True)
    if lacks := missing_requirement(settings, ReaderTask.MEAN):
        raise NotTrainable(f"meaning needs what is not installed: {lacks}")
    desk = PictureQueue(
        {ReaderTask.MEAN: pool_plans(settings)[ReaderTask.MEAN]}, cache_entries=KEPT
    )
    try:
        nearby = LocalTextEncoder(desk)
        yield lambda message: encode_message(nearby, message, urgent=False, within_s=PATIENCE_S)
    finally:
        await desk.close()


def _show(training: TrainingResult, name: str) -> None:
    summary = training.model.summary
    table = Table(
        "on mail that came later", "rules alone", "final model",
        title=f"model {name}: {summary.spam} spam, {summary.ham} good, {summary.judged} judged", title_justify="left",
    )  # fmt: skip
    for row in quality_rows(summary):
        table.add_row(*row)
    Terminal().print(table)


@contextmanager
def _progress() -> Iterator[_Step]:
    """Give a bar on standard error; nothing is shown where that is no terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda description, done, of: bar.update(
            task, description=description, completed=done, total=of
        )
