"""`oborona metrics`: what the workers say of themselves, for Prometheus."""

from __future__ import annotations

import time

import click
from prometheus_client.exposition import generate_latest

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.daemon.metric_collection import collect_metrics


@click.command()
@pass_cli_context
def metrics(context: CliContext) -> None:
    """Print the metrics of all running processes in Prometheus' text format, for node_exporter's
    textfile collector.
    """
    echo(generate_latest(collect_metrics(context.state, time.time())).rstrip(b"\n"))
