"""`oborona metrics`: what the workers say of themselves, for Prometheus."""

from __future__ import annotations

import time

import click

from oborona.cli.asked import Asked, pass_asked
from oborona.cli.output import echo
from oborona.milter.metrics import exposition
from oborona.milter.status import read


@click.command()
@pass_asked
def metrics(asked: Asked) -> None:
    """Print the metrics of the running workers in Prometheus' text format, as node_exporter's textfile collector takes it."""
    echo(exposition(read(asked.state, time.time())).rstrip(b"\n"))
