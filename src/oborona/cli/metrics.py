"""`oborona metrics`: what the workers say of themselves, for Prometheus."""

from __future__ import annotations

import time

import click

from oborona import store_birth
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.telemetry.metrics import exposition
from oborona.telemetry.status import (
    EventLogStatus,
    FlowStatus,
    IntakeStatus,
    PolicyStatus,
    ReaderStatus,
    RecheckStatus,
    TrainerStatus,
    read_process,
    read_services,
    read_workers,
)


@click.command()
@pass_cli_context
def metrics(context: CliContext) -> None:
    """Print the metrics of all running processes in Prometheus' text format, for node_exporter's
    textfile collector.
    """
    state, now = context.state, time.time()
    text = exposition(
        read_workers(state, now),
        read_process(state, ReaderStatus, now),
        read_process(state, PolicyStatus, now),
        read_process(state, TrainerStatus, now),
        read_process(state, IntakeStatus, now),
        read_process(state, RecheckStatus, now),
        store_birth.read_records(state),
        read_services(state, now),
        read_process(state, FlowStatus, now),
        read_process(state, EventLogStatus, now),
    )
    echo(text.rstrip(b"\n"))
