"""`oborona metrics`: what the workers say of themselves, for Prometheus."""

from __future__ import annotations

import time

import click

from oborona.cli.asked import Asked, pass_asked
from oborona.cli.output import echo
from oborona.milter.metrics import exposition
from oborona.milter.status import (
    read,
    read_intake,
    read_policy,
    read_reader,
    read_second,
    read_trainer,
)


@click.command()
@pass_asked
def metrics(asked: Asked) -> None:
    """Print the metrics of the running workers in Prometheus' text format, as node_exporter's textfile collector takes it."""
    state, now = asked.state, time.time()
    said = exposition(
        read(state, now),
        read_reader(state, now),
        read_policy(state, now),
        read_trainer(state, now),
        read_intake(state, now),
        read_second(state, now),
    )
    echo(said.rstrip(b"\n"))
