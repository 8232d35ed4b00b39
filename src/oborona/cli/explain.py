"""`oborona explain`: everything that led to a verdict, of the journal or of a file."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
from rich.table import Table

from oborona.cli.asked import Asked, pass_asked
from oborona.cli.check import show
from oborona.cli.envelope import asks_dns, pass_envelope
from oborona.cli.mailboxes import messages
from oborona.cli.shingle import name_of
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.errors import StorePartial
from oborona.milter.worker import JOURNAL
from oborona.policy.fact_table import TABLE
from oborona.policy.ports import Totals
from oborona.policy.scan import Site, scan
from oborona.recheck.entry import Entry, Late
from oborona.recheck.ident import from_text, to_text
from oborona.recheck.reading import Reader
from oborona.types import Envelope, Finding, Metric, RuleHit, Shingle, Window


@click.command()
@click.argument("what", metavar="ID|FILE")
@asks_dns
@pass_envelope
@pass_asked
def explain(asked: Asked, what: str, dns: bool, envelope: Envelope) -> None:
    """Explain a verdict: rules, findings, facts, and what the counters say of each piece now.

    ID is what X-Mras-Id, a refusal or the log names, signed or bare, or a queue id; then the evidence is that of the moment of the verdict.
    FILE (- is standard input) is scored now, as if it came with the envelope that the options say.
    """
    console = Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED)
    ident = from_text(what.partition(".")[0])
    if ident is None and (what == "-" or os.path.lexists(what)):
        asyncio.run(_file(asked, Path(what), asked.seen(envelope), console, dns=dns))
        return
    if envelope != Envelope():
        raise click.UsageError(f"no file {what}; an entry of the journal has its own envelope")
    entry, late = asyncio.run(_entry(asked, ident, what))
    if entry is None:
        click.echo(f"oborona: no file {what}, and nothing in the journal under that id", err=True)
        click.get_current_context().exit(os.EX_NOINPUT)
    asyncio.run(_journaled(asked, entry, late, console))


async def _entry(asked: Asked, ident: int | None, queue_id: str) -> tuple[Entry | None, Late | None]:
    async with await Reader.open(asked.state / JOURNAL) as journal:
        entry = None if ident is None else await journal.get(ident)
        if entry is None and (found := await journal.find(queue_id=queue_id)):  # some queue ids read as an id
            entry = await journal.get(found[0])  # the newest: mail servers use queue ids again
        return entry, None if entry is None else await journal.late(entry.id)


async def _file(asked: Asked, path: Path, envelope: Envelope, console: Terminal, *, dns: bool) -> None:
    policy = asked.policy()
    async with asked.inquiries(dns=dns) as inquire, asked.pictures() as pictures:
        with asked.site(pictures) as site:
            for source in messages(path):
                now = time.time()
                result = await scan(source.raw, envelope, site, policy, inquire(), now=now)
                show(console, source.name, result)
                _facts(console, msgspec.structs.asdict(result.facts))
                await _counts(console, site, result.pieces.shingles, now)


async def _journaled(asked: Asked, entry: Entry, late: Late | None, console: Terminal) -> None:
    when = datetime.fromtimestamp(entry.time, UTC).isoformat(sep=" ", timespec="seconds")
    about = Table.grid(padding=(0, 2))
    for name, value in (
        ("id", to_text(entry.id)),
        ("time", when),
        ("queue id", entry.queue_id),
        ("client", f"{entry.client_ip} helo {entry.helo}"),
        ("from", f"<{entry.sender}>"),
        ("to", " ".join(entry.recipients)),
        ("login", entry.login),
        ("subject", entry.subject),
        ("Message-ID", entry.message_id),
        ("bytes", str(entry.size)),
        ("policy", entry.policy_version),
        ("verdict", f"{entry.verdict} {entry.score:.1f} / {entry.line:g}, decided by {entry.decided_by}"),
    ):
        if value:
            about.add_row(name, plain(value))
    console.print(about, markup=False, highlight=False)
    _rules(console, entry.rules, entry.findings)
    _facts(console, entry.facts)
    if late is not None:
        _late(console, late)
    with asked.site() as site:
        shingles = (*entry.shingles, *(late.shingles if late is not None else ()))
        await _counts(console, site, shingles, time.time())


def _late(console: Terminal, late: Late) -> None:
    """What was found in pictures after the answer, and the verdict that would have been."""
    when = datetime.fromtimestamp(late.time, UTC).isoformat(sep=" ", timespec="seconds")
    console.print(
        f"found late, {when}: {late.verdict} {late.score:.1f} / {late.line:g}, decided by {late.decided_by};"
        f" {late.before} {late.score_before:.1f} before",
        markup=False,
        highlight=False,
    )
    _rules(console, late.rules, late.findings)
    _facts(console, late.facts)


def _rules(console: Terminal, rules: Sequence[RuleHit], findings: Sequence[Finding]) -> None:
    for hit in rules:
        console.print(f"  {hit.score:>8.1f}  {hit.name}  {plain(hit.say)}  {hit.mode if hit.mode == 'shadow' else ''}".rstrip(),
                      markup=False, highlight=False)  # fmt: skip
    for finding in findings:
        console.print(
            f"     found  {finding.name}  {plain(finding.evidence)}".rstrip(), markup=False, highlight=False
        )


def _facts(console: Terminal, facts: dict[str, object]) -> None:
    table = Table("fact", "value", title="facts that are not empty", title_justify="left")
    for fact in TABLE:
        value = facts.get(fact.attribute)
        if value and fact.name != "text":
            if isinstance(value, Iterable) and not isinstance(value, str):
                shown = " ".join(sorted(str(one) for one in value))
            else:
                shown = f"{value:g}" if isinstance(value, float) else str(value)
            table.add_row(fact.name, plain(shown)[:200])
    console.print(table, markup=False, highlight=False)


async def _counts(console: Terminal, site: Site, shingles: Sequence[Shingle], now: float) -> None:
    totals: Totals
    try:
        totals = await site.counters.read(shingles, now)
    except StorePartial as error:
        click.echo(f"oborona: {error}; these counts may be too low", err=True)
        totals = error.totals
    table = Table(title="counted now", title_justify="left")
    table.add_column("piece", no_wrap=True)
    for name in ("hour", "day", "two weeks", "of these spam", "complaints"):
        table.add_column(name, justify="right")
    for shingle, row in zip(shingles, totals, strict=True):
        seen = [row[window][Metric.SEEN] for window in (Window.HOUR, Window.DAY, Window.FORTNIGHT)]
        last = row[Window.FORTNIGHT]
        table.add_row(name_of(shingle), *map(str, (*seen, last[Metric.SPAM], last[Metric.COMPLAINTS])))
    console.print(table, markup=False, highlight=False)
