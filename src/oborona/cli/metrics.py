"""`oborona metrics`: what the workers say of themselves, for Prometheus."""

from __future__ import annotations

import time

import click

from oborona import begun
from oborona.cli.asked import Asked, pass_asked
from oborona.cli.output import echo
from oborona.telemetry.metrics import exposition
from oborona.telemetry.status import (
    IntakeStatus,
    PolicyStatus,
    ReaderStatus,
    SecondStatus,
    TrainerStatus,
    read,
    read_one,
    read_services,
)


@click.command()
@pass_asked
def metrics(asked: Asked) -> None:
    """Print the metrics of all running processes in Prometheus' text format, for node_exporter's
    textfile collector.
    """
    state, now = asked.state, time.time()
    said = exposition(
        read(state, now),
        read_one(state, ReaderStatus, now),
        read_one(state, PolicyStatus, now),
        read_one(state, TrainerStatus, now),
        read_one(state, IntakeStatus, now),
        read_one(state, SecondStatus, now),
        begun.all_of(state),
        read_services(state, now),
    )
    echo(said.rstrip(b"\n"))
