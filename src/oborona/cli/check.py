"""`oborona check`: score messages without counting them."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console

from oborona.cli.asked import Asked, pass_asked
from oborona.cli.mailboxes import messages
from oborona.message.shingles import Type
from oborona.policy.headers import reason
from oborona.policy.scan import Scan, scan
from oborona.types import Client, Envelope


@click.command()
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path, allow_dash=True)
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--ip", default="", metavar="ADDRESS", help="Address of the SMTP client.")
@click.option("--name", default="", metavar="HOST", help="Its verified rDNS name.")
@click.option("--helo", default="", metavar="NAME", help="What it called itself.")
@click.option("--from", "sender", default="", metavar="ADDRESS", help="MAIL FROM.")
@click.option("--rcpt", "recipients", multiple=True, metavar="ADDRESS", help="RCPT TO; may be repeated.")
@click.option("--login", default="", metavar="NAME", help="SASL login.")
@pass_asked
def check(
    asked: Asked,
    files: tuple[Path, ...],
    as_json: bool,
    ip: str,
    name: str,
    helo: str,
    sender: str,
    recipients: tuple[str, ...],
    login: str,
) -> None:
    """Score message files, mboxes, Maildirs or folders of messages; - is standard input. Nothing is counted or journaled.

    Exit status 66 when a file can't be read; the others are scored all the same.
    """
    envelope = Envelope(
        client=Client(ip=ip, name=name),
        helo=helo,
        sender=sender.strip("<>"),
        recipients=recipients,
        login=login,
    )
    policy, console, unread = asked.policy(), Console(soft_wrap=True), False
    with asked.site() as site, asyncio.Runner() as runner:
        for path in files:
            try:
                for source in messages(path):
                    result = runner.run(scan(source.raw, envelope, site, policy, now=time.time()))
                    if as_json:
                        click.echo(msgspec.json.encode(as_object(source.name, result)))
                    else:
                        show(console, source.name, result)
            except OSError as error:
                click.echo(f"oborona: {path}: {error.strerror}", err=True)
                unread = True
    if unread:
        click.get_current_context().exit(os.EX_NOINPUT)


def as_object(name: str, result: Scan) -> dict[str, Any]:
    """Return a scan as `--json` shows it."""
    verdict = result.verdict
    return {
        "file": name,
        "verdict": verdict.action,
        "score": verdict.score,
        "line": verdict.line,
        "decided_by": verdict.decided_by,
        "findings": verdict.findings,
        "rules": verdict.rules,
        "shingles": [
            {"type": shingle.type, "name": Type(shingle.type).name.lower(), "hash": f"{shingle.hash:016x}"}
            for shingle in result.pieces.shingles
        ],
    }


def show(console: Console, name: str, result: Scan) -> None:
    """Print a scan for people: the verdict, and why."""
    verdict = result.verdict
    colour = {"accept": "green", "spam": "yellow"}.get(verdict.action, "red")
    console.print(name, style="bold", markup=False, highlight=False)
    console.print(f"  [{colour}]{verdict.action}[/] {verdict.score:.1f} / {verdict.line:g}", highlight=False)
    console.print(f"  {reason(verdict)}", markup=False, highlight=False)
    for finding in verdict.findings:
        console.print(f"  found {finding.name} {finding.evidence}".rstrip(), markup=False, highlight=False)
