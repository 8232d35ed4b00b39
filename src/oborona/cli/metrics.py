"""`oborona metrics`: what the workers say of themselves, for Prometheus."""

from __future__ import annotations

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.metrics import MetricsQuestion, show_metrics


@click.command()
@pass_cli_context
def metrics(context: CliContext) -> None:
    """Print the metrics of all running processes in Prometheus' text format, for node_exporter's
    textfile collector.
    """
    echo(show_metrics(context, terminal_caller(), MetricsQuestion()).text.rstrip("\n").encode())
