"""`oborona auth`: SPF, DKIM, ARC, DMARC and iprev of one message, every step of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.envelope import pass_envelope
from oborona.cli.mailboxes import messages
from oborona.cli.terminal import Terminal
from oborona.desk.messages.authentication_report import AuthMethod, AuthReport, authenticate
from oborona.dns import DnsOutcome
from oborona.policy.headers import RESULTS_NAME
from oborona.policy.text import quoted
from oborona.types import Envelope

SHOWN: Final = 400  # characters of a result's words


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@pass_envelope
@pass_cli_context
def auth(context: CliContext, file: Path, envelope: Envelope) -> None:
    """Check SPF, DKIM, DMARC and ARC of a message file as the daemon would, and show every DNS
    query and result; - is standard input.

    What the mail server knew comes by the options: without --ip there is no SPF and no iprev.
    """
    console = Terminal(soft_wrap=True)
    for source in messages(file):
        console.print(source.name, style="bold", highlight=False)
        _show(console, asyncio.run(authenticate(context, source.raw, envelope)))


def _show(console: Terminal, report: AuthReport) -> None:
    if not report.client:
        _line(console, "SPF, iprev: not asked, for the client's address is not known (--ip)")
    for method in report.methods:
        _show_method(console, method)
    _line(console, "")
    _line(console, f"{RESULTS_NAME}: {report.results}")


def _show_method(console: Terminal, method: AuthMethod) -> None:
    console.print(f"{method.method}: {method.question}", style="bold", highlight=False)
    for step in method.steps:
        _line(console, f"  ? {step.kind:<4} {step.name}  ({step.took_s * 1000:.1f} ms)")
        for record in step.records:
            _line(console, f"      {record}")
        if step.outcome != DnsOutcome.FOUND:
            _line(console, f"      {step.outcome} {step.why}".rstrip())
    for outcome in method.outcomes:
        words = quoted(outcome.words, SHOWN)
        _line(console, f"  {outcome.result}: {words}" if outcome.words else f"  {outcome.result}")
    for note in method.notes:
        _line(console, f"  {note}")


def _line(console: Terminal, text: str) -> None:
    console.print(text, highlight=False)
