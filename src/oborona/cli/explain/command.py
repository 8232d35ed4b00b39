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

from oborona import state_files
from oborona.cli import find
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.envelope import asks_dns, pass_envelope
from oborona.cli.explain import journal_entry
from oborona.cli.explain.contributions import content_parts, final_parts, shipped_parts
from oborona.cli.explain.elements import (
    by_name,
    lines_of,
    opinion_of,
    piece_counts,
    rows_now,
    rows_then,
)
from oborona.cli.explain.feedback import feedback_on
from oborona.cli.explain.model import VerdictExplanation, side_of
from oborona.cli.explain.moves import moves_of
from oborona.cli.explain.output import show
from oborona.cli.explain.refusal import RefusalExplanation, explain_refusal, show_refusal
from oborona.cli.find import query_from_options
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo_json
from oborona.cli.terminal import PIPED, Terminal
from oborona.ident import from_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.journal.search import JournalSearch
from oborona.policy.counts import shingles_to_read
from oborona.policy.engines import RememberedEngines
from oborona.policy.local_clients import direction
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.recheck.facts_at_delivery import facts_then
from oborona.recheck.rejudgement import envelope_of
from oborona.types import Client, Envelope

# Why a message file would get its verdict now.


async def explain_message(
    name: str, result: Scan, site: ScanSite, now: float
) -> VerdictExplanation:
    """Return why a scan ended as it did.

    Args:
        name: of the file.
        result: the scan.
        site: that it was made with.
        now: Unix seconds.
    """
    envelope, message = result.envelope, result.message
    pieces = shingles_to_read(result.pieces)
    return VerdictExplanation(
        file=name,
        queue_id=envelope.queue_id,
        client=envelope.client.ip,
        helo=envelope.helo,
        sender=envelope.sender,
        recipients=envelope.recipients,
        login=envelope.login,
        subject=message.subject,
        message_id=message.message_id,
        size=message.size,
        now=side_of(
            result.verdict,
            policy=result.policy.version,
            lines=lines_of(result.policy),
            facts=by_name(result.facts),
            model=opinion_of(result.opinion),
        ),
        counts=piece_counts(
            pieces,
            rows_then((), pieces),
            await rows_now(site, pieces, now, direction(envelope)),
        ),
        content_model=content_parts(site.content, message, envelope, result.opinion),
        final_model=final_parts(site.final, result.facts, result.verdict.rules, result.policy),
        shipped_model=shipped_parts(site.final, result.facts, result.verdict.rules, result.policy),
    )


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
@click.option("--json", "as_json", is_flag=True, help="Everything, one JSON object per line.")
@asks_dns
@pass_envelope
@pass_cli_context
def explain(
    context: CliContext,
    what: str,
    message: Path | None,
    verbose: bool,
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
        _search(context, what, message, tell=tell, as_json=as_json, dns=dns)


def _search(
    context: CliContext, terms: str, message: Path | None, *, tell: Tell, as_json: bool, dns: bool
) -> None:
    """Explain the one message that answers a question, or show which do."""
    query = query_from_options([terms], "", "", time.time())
    with JournalSearch(context.state / state_files.JOURNAL) as journal:
        hits = list(journal.find(query, SHOWN))
    if not hits:
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
        return
    find.show(iter(hits), as_json=as_json)
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
    async with await JournalReader.open(context.state / state_files.JOURNAL) as journal:
        entry = None if ident is None else await journal.get(ident)
        if (
            entry is None and queue_id and (idents := await journal.find(queue_id=queue_id))
        ):  # some queue ids read as an id
            entry = await journal.get(idents[0])  # the newest: mail servers use queue ids again
        if entry is None:
            refusal = None if ident is None else await journal.refusal(ident)
            if refusal is None:
                return False
            if file is not None:
                raise click.UsageError(
                    "refused before its content: give the file alone, with the options of its "
                    "envelope"
                )
            tell(explain_refusal(refusal))
            return True
        late, versions = await journal.late(entry.id), await journal.policies()
    with context.site() as site:
        rules = versions.get(entry.policy_version)
        explanation = await journal_entry.explain_entry(entry, late, rules, context.policy(), site)
    explanation = msgspec.structs.replace(
        explanation,
        feedback=feedback_on(context.state, entry.id),
        moves=moves_of(context.state, entry.id),
    )
    tell(explanation)
    if file is not None:
        await _file(context, file, _envelope(entry), tell=tell, dns=dns, expected=entry)
    return True


def _envelope(entry: JournalEntry) -> Envelope:
    facts = facts_then(entry)
    if facts is not None:
        return envelope_of(entry, facts)
    return Envelope(
        client=Client(ip=entry.client_ip),
        helo=entry.helo,
        sender=entry.sender,
        recipients=entry.recipients,
        login=entry.login,
    )


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
                tell(await explain_message(source.name, result, site, now))


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
