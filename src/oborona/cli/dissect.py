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
from oborona.authentication.proof import prove_sender
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.envelope import asks_dns, pass_envelope
from oborona.cli.mailboxes import MailSource, messages
from oborona.cli.output import echo
from oborona.daemon.reader.picture_client import LocalPictureReader, PictureClient
from oborona.daemon.reader.picture_queue import (
    PICTURES,
    PictureQueue,
    missing_requirement,
    pool_plans,
)
from oborona.daemon.reader.wire import PictureOutcome, ReaderTask
from oborona.daemon.site_name import site_name
from oborona.message.dissection import DissectedSignature, Dissection
from oborona.message.dissector import build_dissection
from oborona.message.findings import NAMES
from oborona.message.parse import parse
from oborona.message.pictures.enrichment import enrich_message
from oborona.message.recording_hasher import RecordingHasher
from oborona.message.shingles import shingles
from oborona.policy.checks import CHECKS, FINDINGS
from oborona.policy.checks.context import CheckContext
from oborona.policy.evidence import Inquiry
from oborona.policy.load import Policy
from oborona.policy.pictures import FINDINGS as OF_PICTURES
from oborona.policy.ports import GeoIpLookup, Pictures
from oborona.policy.signatures import Signature, SignatureFinder
from oborona.types import Envelope, Finding

MEANINGS: Final = {**NAMES, **FINDINGS, **OF_PICTURES}
# until all pictures of a message are looked at, and again until they are read: nobody waits in SMTP
PICTURES_S: Final = 120.0


class _Tools(msgspec.Struct, frozen=True, kw_only=True):
    """What each message is taken apart with."""

    envelope: Envelope
    policy: Policy
    keys: secret.SiteKeys
    places: GeoIpLookup
    pictures: Pictures
    signatures: SignatureFinder
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
        tools = _Tools(
            envelope=envelope,
            policy=context.policy(),
            keys=context.keys(),
            places=context.places(),
            pictures=pictures,
            signatures=context.signatures(),
            regions=tuple(context.loaded.settings.site.regions.split()),
            site=site_name(context.loaded),
        )
        for source in messages(file):
            dissection = await _dissect_message(source, tools, inquire())
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


async def _dissect_message(source: MailSource, tools: _Tools, inquiry: Inquiry) -> Dissection:
    """Take a message apart as a scan does, and what is read late with it.

    What would have to ask the counters is left out.
    """
    message = parse(source.raw, regions=tools.regions)
    findings: list[Finding] = []
    for work in (tools.pictures.look, tools.pictures.read):
        if message.pictures:
            view = await work(message.pictures)
            findings += view.findings
            message = enrich_message(message, view.pictures, tools.regions)
    evidence = await inquiry.whole(message, tools.envelope, tools.policy, truncated=False)
    recorder = RecordingHasher(tools.keys.shingles)
    pieces = shingles(
        message,
        tools.envelope,
        recorder,
        evidence.identity.dkim_domains,
        tools.places.find(tools.envelope.client.ip),
        prove_sender(
            evidence.identity,
            tools.envelope,
            message.from_.address if message.from_ else "",
            message.from_domains,
        ),
    )
    now = time.time()
    context = CheckContext(
        message=message,
        envelope=tools.envelope,
        site=tools.site,
        now=now,
        brands=tools.policy.brands,
        people=tools.policy.people,
    )
    findings += [finding for check in CHECKS if (finding := check(context)) is not None]
    return build_dissection(
        message,
        pieces,
        recorder.sources,
        [*message.findings, *findings],
        MEANINGS,
        signatures=map(_marked, tools.signatures.find(message, now).signatures),
        file=source.name,
        keyed=tools.keys is not secret.UNKEYED,
    )


def _marked(signature: Signature) -> DissectedSignature:
    return DissectedSignature(
        id=signature.id,
        flag=signature.flag,
        kind=signature.kind,
        where=signature.where,
        value=signature.value,
        owner=signature.owner,
        reason=signature.reason,
        mode=signature.mode,
        score=signature.score,
    )
