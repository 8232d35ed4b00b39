"""`oborona check`: score messages without counting them."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import click
import msgspec
from rich.text import Text

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.envelope import asks_dns, pass_envelope
from oborona.cli.mailboxes import UnreadableMail, messages
from oborona.cli.output import echo
from oborona.cli.terminal import Terminal
from oborona.desk.messages.scan_verdict import scanned_message
from oborona.policy.headers import reason
from oborona.policy.scan import Scan, scan
from oborona.types import Envelope


@click.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(path_type=Path, allow_dash=True),
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@asks_dns
@pass_envelope
@pass_cli_context
def check(
    context: CliContext, files: tuple[Path, ...], as_json: bool, dns: bool, envelope: Envelope
) -> None:
    """Score message files, mboxes, Maildirs or folders of messages; - is standard input. Nothing is
    counted or journaled.

    Exit status 66 when a file can't be read; the others are scored all the same.
    """
    if asyncio.run(_check(context, files, envelope, as_json=as_json, dns=dns)):
        click.get_current_context().exit(os.EX_NOINPUT)


async def _check(
    context: CliContext, files: tuple[Path, ...], envelope: Envelope, *, as_json: bool, dns: bool
) -> bool:
    """Score and print; return whether a file could not be read."""
    policy, console, unread = context.policy(), Terminal(soft_wrap=True), False
    envelope = context.seen(envelope)
    async with context.inquiries(dns=dns) as inquire, context.pictures() as pictures:
        with context.site(pictures) as site:
            for path in files:
                try:
                    for source in messages(path):
                        result = await scan(
                            source.raw, envelope, site, policy, inquire(), now=time.time()
                        )
                        if as_json:
                            echo(msgspec.json.encode(scanned_message(source.name, result)))
                        else:
                            show(console, source.name, result)
                except UnreadableMail as error:
                    click.echo(f"oborona: {error}", err=True)
                    unread = True
    return unread


def show(console: Terminal, name: str, result: Scan) -> None:
    """Print a scan for people: the verdict, and why."""
    verdict = result.verdict
    colour = {"accept": "green", "spam": "yellow"}.get(verdict.action, "red")
    console.print(name, style="bold", highlight=False)
    console.print(
        Text.assemble("  ", (verdict.action, colour), f" {verdict.score:.1f} / {verdict.line:g}")
    )
    console.print(f"  {reason(verdict)}", highlight=False)
    for finding in verdict.findings:
        console.print(f"  found {finding.name} {finding.evidence}".rstrip(), highlight=False)
