"""`oborona opensmtpd-filter`: what smtpd of OpenSMTPD starts, and asks about its mail."""

from __future__ import annotations

import asyncio
import logging
import os
import socket

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.config.address import Address, parse_address
from oborona.milter.opensmtpd.filter import AWAY, PROCEED, OpenSmtpdFilter
from oborona.milter.opensmtpd.milter_client import MilterClient

MAX_LINE = 1 << 20  # bytes; OpenSMTPD takes lines of 16 KiB from its clients


@click.command(name="opensmtpd-filter")
@click.option(
    "--milter",
    metavar="ADDRESS",
    help="The daemon's milter listener. Default: that of the settings.",
)
@click.option(
    "--on-failure",
    type=click.Choice(["accept", "tempfail"]),
    default="tempfail",
    help="Where the daemon does not answer; default: tempfail.",
)
@click.option(
    "--patience", default=60.0, metavar="SECONDS", help="For one answer of the daemon; default: 60."
)
@pass_cli_context
def opensmtpd_filter(
    context: CliContext, milter: str | None, on_failure: str, patience: float
) -> None:
    """Run as a filter of OpenSMTPD: smtpd starts it by `filter NAME proc-exec`, and speaks its
    protocol on standard input and output.

    With the listener given it reads no settings, and can be any user that may use the daemon's
    socket.
    """
    address = parse_address(milter or context.loaded.settings.doors.milter.listen)
    away = PROCEED if on_failure == "accept" else AWAY
    try:
        smtpd = socket.socket(fileno=os.dup(0))
    except OSError:
        raise click.UsageError(
            "standard input is no socket: OpenSMTPD starts this, see docs/mail-servers/opensmtpd.md"
        ) from None
    logging.basicConfig(level=logging.WARNING, format="%(message)s")  # smtpd puts it into its log
    asyncio.run(_serve(smtpd, address, away, patience))


async def _serve(smtpd: socket.socket, address: Address, away: str, patience_s: float) -> None:
    reader, writer = await asyncio.open_connection(sock=smtpd, limit=MAX_LINE)
    await OpenSmtpdFilter(lambda: MilterClient.to(address), writer.write, away, patience_s).run(
        reader
    )
    writer.close()
