"""`oborona alarm`: does an alert arrive?"""

from __future__ import annotations

import asyncio
import time

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.daemon.alarm.alarm import open_alarm
from oborona.daemon.site_name import site_name
from oborona.telemetry.alert import Alert, AlertKind


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
    settings = context.loaded.settings
    alarm_channels = open_alarm(settings, site_name(context.loaded), time.time)
    alert = Alert(
        kind=AlertKind.TEST,
        title="A test of the alarm",
        text="Somebody wanted to see whether alerts arrive. There is nothing to be done.",
        time=time.time(),
        evidence={"by": "oborona alarm test"},
    )
    problems = asyncio.run(alarm_channels.now(alert))
    to = {"webhook": settings.alarm.webhook, "mail": settings.alarm.mail_to}
    for channel, trouble in problems.items():
        echo(f"{channel}: {to[channel]}: {trouble or 'taken'}")
    if not problems:
        echo("nobody is told of alerts: set alarm.webhook or alarm.mail_to")
    if not problems or any(problems.values()):
        click.get_current_context().exit(1)
