"""`oborona outgoing`: the group; each command has a file of its own."""

from __future__ import annotations

import click

from oborona.cli.outgoing.hold_decision import drop, release
from oborona.cli.outgoing.hold_list import held
from oborona.cli.outgoing.reset import reset


@click.group()
def outgoing() -> None:
    """See to what our own people send (docs/people/outgoing.md)."""


for command in (held, release, drop, reset):
    outgoing.add_command(command)
