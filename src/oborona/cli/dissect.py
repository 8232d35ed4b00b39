"""`oborona dissect`: a message as the system sees it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import click
import msgspec

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.envelope import asks_dns, pass_envelope
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo
from oborona.daemon.reader.picture_client import LocalPictureReader, PictureClient
from oborona.daemon.reader.picture_queue import (
    PICTURES,
    PictureQueue,
    missing_requirement,
    pool_plans,
)
from oborona.daemon.reader.wire import PictureOutcome, ReaderTask
from oborona.desk.messages.message_dissection import DissectingTools, dissect_message
from oborona.policy.ports import Pictures
from oborona.types import Envelope

# until all pictures of a message are looked at, and again until they are read: nobody waits in SMTP
PICTURES_S: Final = 120.0


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One JSON object a message; docs/policy/message.md says what is in it.",
)
@asks_dns
@pass_envelope
@pass_cli_context
def dissect(context: CliContext, file: Path, as_json: bool, dns: bool, envelope: Envelope) -> None:
    """Show what is parsed from a message: parts, text and what was removed from it, entities, every
    shingle (hash) with its source, findings.

    FILE may be an mbox, a Maildir or a folder too; - is standard input. Nothing is judged, counted
    or journaled. The hashes are those of the site's counters where its secret can be read, else
    those of no site. Pictures are looked at and read here, whether the daemon runs or not.
    """
    asyncio.run(_dissect(context, file, context.seen(envelope), as_json=as_json, dns=dns))


async def _dissect(
    context: CliContext, file: Path, envelope: Envelope, *, as_json: bool, dns: bool
) -> None:
    async with context.inquiries(dns=dns) as inquire, _looking(context) as pictures:
        tools = DissectingTools.of(context, envelope, pictures)
        for source in messages(file):
            dissection = await dissect_message(source.name, source.raw, tools, inquire())
            if as_json:
                echo(msgspec.json.encode(dissection))
            else:
                # the command line with --json needs no tables
                from oborona.cli.dissection_output import show  # noqa: PLC0415
                from oborona.cli.terminal import PIPED, Terminal  # noqa: PLC0415

                show(
                    Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED),
                    dissection,
                )


@asynccontextmanager
async def _looking(context: CliContext) -> AsyncIterator[Pictures]:
    """Who looks at pictures and reads them: processes of this command's own, under the limits of
    the settings.
    """
    settings = context.loaded.settings.reader
    desk = PictureQueue(pool_plans(settings), cache_entries=settings.cache_entries)
    try:
        yield PictureClient(LocalPictureReader(desk), look_s=PICTURES_S, read_s=PICTURES_S)
    finally:
        await desk.close()
    for task in (ReaderTask.LOOK, ReaderTask.READ):
        lacks = missing_requirement(settings, task)
        if lacks and PICTURES.value(task, PictureOutcome.UNABLE):
            click.echo(f"oborona: pictures: no {task.value} without {lacks}", err=True)
