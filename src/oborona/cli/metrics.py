"""`oborona metrics`: what the workers say of themselves, for Prometheus."""

from __future__ import annotations

import time

import click

from oborona.cli.asked import Asked, pass_asked
from oborona.cli.output import echo
from oborona.milter.metrics import exposition
from oborona.milter.status import read, read_reader


@click.command()
@pass_asked
def metrics(asked: Asked) -> None:
    """Print the metrics of the running workers in Prometheus' text format, as node_exporter's textfile collector takes it."""
    now = time.time()
    echo(exposition(read(asked.state, now), read_reader(asked.state, now)).rstrip(b"\n"))
