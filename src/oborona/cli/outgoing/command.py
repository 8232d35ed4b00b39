"""`oborona outgoing`: the group; each command has a file of its own."""

from __future__ import annotations

import click

from oborona.cli.outgoing.reset import reset


@click.group()
def outgoing() -> None:
    """See to what our own people send (docs/policy/limits.md)."""


for command in (reset,):
    outgoing.add_command(command)
