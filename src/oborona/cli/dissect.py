"""`oborona dissect`: a message as the system sees it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import click
import msgspec

from oborona import secret
from oborona.authentication.proved import proved
from oborona.cli.asked import Asked, pass_asked
from oborona.cli.envelope import asks_dns, pass_envelope
from oborona.cli.mailboxes import Source, messages
from oborona.cli.output import echo
from oborona.daemon.reader.desk import PICTURES, Desk, missing, plans
from oborona.daemon.reader.eyes import Eyes, Nearby
from oborona.daemon.reader.frames import Outcome, Task
from oborona.daemon.site_name import site_name
from oborona.message.dissecting import dissection
from oborona.message.dissection import Dissection, Marked
from oborona.message.findings import NAMES
from oborona.message.parse import parse
from oborona.message.pictures.seen import seen
from oborona.message.recording import Recorder
from oborona.message.shingles import shingles
from oborona.policy.checks import CHECKS, FINDINGS
from oborona.policy.checks.context import Context
from oborona.policy.evidence import Inquiry
from oborona.policy.load import Policy
from oborona.policy.pictures import FINDINGS as OF_PICTURES
from oborona.policy.ports import Pictures, Places
from oborona.policy.signatures import Finder, Signature
from oborona.types import Envelope, Finding

MEANINGS: Final = {**NAMES, **FINDINGS, **OF_PICTURES}
# until all pictures of a message are looked at, and again until they are read: nobody waits in SMTP
PICTURES_S: Final = 120.0


class _Tools(msgspec.Struct, frozen=True, kw_only=True):
    """What each message is taken apart with."""

    envelope: Envelope
    policy: Policy
    keys: secret.Keys
    places: Places
    pictures: Pictures
    signatures: Finder
    regions: tuple[str, ...]
    site: str


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
@pass_asked
def dissect(asked: Asked, file: Path, as_json: bool, dns: bool, envelope: Envelope) -> None:
    """Show what is parsed from a message: parts, text and what was removed from it, entities, every
    shingle (hash) with its source, findings.

    FILE may be an mbox, a Maildir or a folder too; - is standard input. Nothing is judged, counted
    or journaled. The hashes are those of the site's counters where its secret can be read, else
    those of no site. Pictures are looked at and read here, whether the daemon runs or not.
    """
    asyncio.run(_dissect(asked, file, asked.seen(envelope), as_json=as_json, dns=dns))


async def _dissect(
    asked: Asked, file: Path, envelope: Envelope, *, as_json: bool, dns: bool
) -> None:
    async with asked.inquiries(dns=dns) as inquire, _looking(asked) as pictures:
        tools = _Tools(
            envelope=envelope,
            policy=asked.policy(),
            keys=asked.keys(),
            places=asked.places(),
            pictures=pictures,
            signatures=asked.signatures(),
            regions=tuple(asked.loaded.settings.site.regions.split()),
            site=site_name(asked.loaded),
        )
        for source in messages(file):
            found = await _one(source, tools, inquire())
            if as_json:
                echo(msgspec.json.encode(found))
            else:
                # the command line with --json needs no tables
                from oborona.cli.dissected import show  # noqa: PLC0415
                from oborona.cli.terminal import PIPED, Terminal  # noqa: PLC0415

                show(Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED), found)


@asynccontextmanager
async def _looking(asked: Asked) -> AsyncIterator[Pictures]:
    """Who looks at pictures and reads them: processes of this command's own, under the limits of
    the settings.
    """
    settings = asked.loaded.settings.reader
    desk = Desk(plans(settings), cache_entries=settings.cache_entries)
    try:
        yield Eyes(Nearby(desk), look_s=PICTURES_S, read_s=PICTURES_S)
    finally:
        await desk.close()
    for task in (Task.LOOK, Task.READ):
        lacks = missing(settings, task)
        if lacks and PICTURES.value(task, Outcome.UNABLE):
            click.echo(f"oborona: pictures: no {task.value} without {lacks}", err=True)


async def _one(source: Source, tools: _Tools, inquiry: Inquiry) -> Dissection:
    """Take a message apart as a scan does, and what is read late with it.

    What would have to ask the counters is left out.
    """
    message = parse(source.raw, regions=tools.regions)
    findings: list[Finding] = []
    for work in (tools.pictures.look, tools.pictures.read):
        if message.pictures:
            view = await work(message.pictures)
            findings += view.findings
            message = seen(message, view.pictures, tools.regions)
    evidence = await inquiry.whole(message, tools.envelope, tools.policy, truncated=False)
    recorder = Recorder(tools.keys.shingles)
    pieces = shingles(
        message,
        tools.envelope,
        recorder,
        evidence.identity.dkim_domains,
        tools.places.find(tools.envelope.client.ip),
        proved(
            evidence.identity,
            tools.envelope,
            message.from_.address if message.from_ else "",
            message.from_domains,
        ),
    )
    now = time.time()
    context = Context(
        message=message,
        envelope=tools.envelope,
        site=tools.site,
        now=now,
        brands=tools.policy.brands,
    )
    findings += [finding for check in CHECKS if (finding := check(context)) is not None]
    return dissection(
        message,
        pieces,
        recorder.sources,
        [*message.findings, *findings],
        MEANINGS,
        signatures=map(_marked, tools.signatures.find(message, now).signatures),
        file=source.name,
        keyed=tools.keys is not secret.UNKEYED,
    )


def _marked(one: Signature) -> Marked:
    return Marked(
        id=one.id,
        flag=one.flag,
        kind=one.kind,
        where=one.where,
        value=one.value,
        owner=one.owner,
        reason=one.reason,
        mode=one.mode,
        score=one.score,
    )
