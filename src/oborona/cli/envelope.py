"""The options that say what a message file does not: who sent it, from where, to whom."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from oborona.desk.messages.envelope import read_ip, read_mailbox
from oborona.types import Client, Envelope

asks_dns = click.option(
    "--dns",
    is_flag=True,
    help="Ask the DNS as the daemon does; else what it would say is left out.",
)


def pass_envelope(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --ip, --name, --helo, --from, --rcpt and --login, and hand them to it as
    `envelope`.
    """

    @click.option(
        "--ip", default="", metavar="ADDRESS", callback=_ip, help="Address of the SMTP client."
    )
    @click.option("--name", default="", metavar="HOST", help="Its verified rDNS name.")
    @click.option("--helo", default="", metavar="NAME", help="What it called itself.")
    @click.option(
        "--from", "sender", default="", metavar="ADDRESS", callback=_mailbox, help="MAIL FROM."
    )
    @click.option(
        "--rcpt", "recipients", multiple=True, metavar="ADDRESS", callback=_mailboxes,
        help="RCPT TO; may be repeated.",
    )  # fmt: skip
    @click.option("--login", default="", metavar="NAME", help="SASL login.")
    @wraps(command)
    def with_envelope(
        *args: Any,
        ip: str,
        name: str,
        helo: str,
        sender: str,
        recipients: tuple[str, ...],
        login: str,
        **others: Any,
    ) -> None:
        client = Client(ip=ip, name=name)
        envelope = Envelope(
            client=client, helo=helo, sender=sender, recipients=recipients, login=login
        )
        command(*args, envelope=envelope, **others)

    return with_envelope


def _ip(_: click.Context, __: click.Parameter, text: str) -> str:
    """The address as mail servers write it; empty is none."""
    try:
        return read_ip(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _mailbox(_: click.Context, __: click.Parameter, text: str) -> str:
    """The address without <>; empty is the sender of a bounce."""
    try:
        return read_mailbox(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _mailboxes(
    context: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(_mailbox(context, option, text) for text in texts)
