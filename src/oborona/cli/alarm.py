"""`oborona alarm`: does an alert arrive?"""

from __future__ import annotations

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.alarm import AlarmTest, send_test_alarm


@click.group()
def alarm() -> None:
    """Test the alerts that go to an admin by webhook and mail (docs/operate/alarm.md)."""


@alarm.command()
@pass_cli_context
def test(context: CliContext) -> None:
    """Send an alert by webhook and mail as they are set, one attempt each, and say whether it was
    taken.

    Exit status 1 when it was not, or nobody is set to be told.
    """
    channels = send_test_alarm(context, terminal_caller(), AlarmTest()).channels
    for one in channels:
        echo(f"{one.channel}: {one.to}: {one.trouble or 'taken'}")
    if not channels:
        echo("nobody is told of alerts: set alarm.webhook or alarm.mail_to")
    if not channels or any(one.trouble for one in channels):
        click.get_current_context().exit(1)
