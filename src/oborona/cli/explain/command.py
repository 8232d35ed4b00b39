"""`oborona explain`: everything that led to a verdict, of the journal or of a file."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import click
import msgspec

from oborona.cli import find
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.envelope import asks_dns, pass_envelope
from oborona.cli.explain.output import show
from oborona.cli.explain.refusal import show_refusal
from oborona.cli.find import query_from_options
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo_json
from oborona.cli.terminal import PIPED, Terminal
from oborona.desk.messages.explanation import VerdictExplanation
from oborona.desk.messages.lookup import envelope_then, explain_journaled, look_up
from oborona.desk.messages.refusal import RefusalExplanation, explain_refusal
from oborona.desk.messages.scan_verdict import explain_scan
from oborona.desk.messages.search import open_search
from oborona.ident import from_text
from oborona.journal.entry import JournalEntry
from oborona.journal.refusal import RecordedRefusal
from oborona.people.caller import Scope
from oborona.policy.engines import RememberedEngines
from oborona.policy.scan import scan
from oborona.types import Envelope

Tell = Callable[[VerdictExplanation | RefusalExplanation], None]

SHOWN: Final = 20  # messages, where words are given that several answer


@click.command()
@click.argument("what", metavar="ID|FILE|QUERY")
@click.option(
    "--message",
    type=click.Path(path_type=Path, exists=True),
    help="With an ID: its message file, to be scanned now as it came then.",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Also show findings, models, every fact, and the counters of every hash.",
)
@click.option(
    "--within",
    type=DurationParam(),
    default="2s",
    show_default=True,
    help="With a QUERY: then go on with what was found; 0s: search to the end.",
)
@click.option("--json", "as_json", is_flag=True, help="Everything, one JSON object per line.")
@asks_dns
@pass_envelope
@pass_cli_context
def explain(
    context: CliContext,
    what: str,
    message: Path | None,
    verbose: bool,
    within: float,
    as_json: bool,
    dns: bool,
    envelope: Envelope,
) -> None:
    """Explain the verdict on a message: deciding rule, score and thresholds, rules by weight,
    authentication, lists, and what changed since.

    ID is what X-Mras-Id, a refusal or the log names, signed or bare, or a queue id; the evidence of
    that moment stands beside what the present policy makes of it with the present counts; the
    message's text is not kept, --message gives it. FILE (- is standard input) is scored now, as if
    it came with the envelope that the options say. Of who was refused before the content it tells
    why, when, and how many with him, for `journal.refused_hours`. QUERY is what `oborona find`
    takes: the one message that answers it is explained, of several each is shown, with status 1.
    """
    tell = partial(_tell, as_json=as_json, verbose=verbose)
    ident = from_text(what.partition(".")[0])
    if ident is None and (what == "-" or os.path.lexists(what)):
        if message is not None:
            raise click.UsageError("--message goes with an id")
        asyncio.run(_file(context, Path(what), context.seen(envelope), tell=tell, dns=dns))
        return
    if envelope != Envelope():
        raise click.UsageError(f"no file {what}; an entry of the journal has its own envelope")
    if not asyncio.run(_entry(context, ident, what, message, tell=tell, dns=dns)):
        _search(context, what, message, tell=tell, within=within, as_json=as_json, dns=dns)


def _search(
    context: CliContext,
    terms: str,
    message: Path | None,
    *,
    tell: Tell,
    within: float,
    as_json: bool,
    dns: bool,
) -> None:
    """Explain the one message that answers a question, or show which do."""
    query = query_from_options([terms], "", "", time.time())
    with open_search(context, Scope()) as journal:
        hits = list(journal.find(query, SHOWN, within_s=within or None))
        reached = journal.reached
    if not hits and reached is None:
        click.echo(
            (
                f"oborona: no file {terms}, and no message or refusal in the journal with that id "
                f"or these search terms"
            ),
            err=True,
        )
        click.get_current_context().exit(os.EX_NOINPUT)
    if len(hits) == 1:
        asyncio.run(_entry(context, from_text(hits[0].id), "", message, tell=tell, dns=dns))
    else:
        find.show(iter(hits), as_json=as_json)
    if reached is not None:
        find.print_reached(reached, within, "oborona find goes on with")
    if len(hits) == 1:
        return
    if hits:
        number = f"the newest {SHOWN}" if len(hits) == SHOWN else str(len(hits))
        click.echo(
            f"{number} messages; oborona explain ID explains one, oborona find searches further",
            err=True,
        )
    click.get_current_context().exit(1)


async def _entry(
    context: CliContext,
    ident: int | None,
    queue_id: str,
    file: Path | None,
    *,
    tell: Tell,
    dns: bool,
) -> bool:
    """Explain an entry; return whether there is one."""
    found = await look_up(context, ident, queue_id)
    if found is None:
        return False
    if isinstance(found, RecordedRefusal):
        if file is not None:
            raise click.UsageError(
                "refused before its content: give the file alone, with the options of its envelope"
            )
        tell(explain_refusal(found))
        return True
    tell(await explain_journaled(context, found))
    if file is not None:
        envelope = envelope_then(found.entry)
        await _file(context, file, envelope, tell=tell, dns=dns, expected=found.entry)
    return True


async def _file(
    context: CliContext,
    path: Path,
    envelope: Envelope,
    *,
    tell: Tell,
    dns: bool,
    expected: JournalEntry | None = None,
) -> None:
    policy = context.policy()
    async with context.inquiries(dns=dns) as inquire, context.pictures() as pictures:
        with context.site(pictures) as alone:
            words = () if expected is None or expected.kept is None else expected.kept.engines
            site = msgspec.structs.replace(
                alone, engines=RememberedEngines(words)
            )  # nobody is asked
            for source in messages(path):
                now = time.time()
                result = await scan(source.raw, envelope, site, policy, inquire(), now=now)
                if expected is not None and result.message.message_id != expected.message_id:
                    click.echo(
                        f"oborona: {source.name}: has another Message-ID than the entry", err=True
                    )
                tell(await explain_scan(source.name, result, site, now, context.notice))


def _tell(
    explanation: VerdictExplanation | RefusalExplanation, *, as_json: bool, verbose: bool
) -> None:
    terminal = Terminal(width=None if sys.stdout.isatty() else PIPED)
    if as_json:
        echo_json(explanation)
    elif isinstance(explanation, RefusalExplanation):
        show_refusal(terminal, explanation)
    else:
        show(terminal, explanation, verbose=verbose)
