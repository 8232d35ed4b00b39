"""`oborona outgoing`: the group; each command has a file of its own."""

from __future__ import annotations

import click

from oborona.cli.outgoing.banned_mail import hold_banned
from oborona.cli.outgoing.hold_decision import drop, release
from oborona.cli.outgoing.hold_list import held
from oborona.cli.outgoing.reset import reset
from oborona.cli.outgoing.waiting_mail import hold_queue_of


@click.group()
def outgoing() -> None:
    """See to what our own people send (docs/people/outgoing.md)."""


for command in (held, release, drop, hold_queue_of, hold_banned, reset):
    outgoing.add_command(command)
