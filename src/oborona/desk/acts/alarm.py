"""The act that tries whether alerts arrive."""

from __future__ import annotations

import asyncio
import time

import msgspec

from oborona.daemon.alarm.alarm import open_alarm
from oborona.daemon.site_name import site_name
from oborona.desk.call import ActOrder, act
from oborona.desk.site import Site
from oborona.people.caller import Caller, CallWay
from oborona.people.rights import Right
from oborona.telemetry.alert import Alert, AlertKind


class AlarmTest(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """An alert is to be sent, one attempt each way."""


class AlarmChannelOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an alert on one way."""

    channel: str  # webhook, mail
    to: str
    trouble: str  # empty = it was taken, or would be tried


class AlarmTestOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an alert; none = nobody is set to be told."""

    channels: tuple[AlarmChannelOutcome, ...]


@act("alarm.test", Right.SYSTEM)
def send_test_alarm(site: Site, caller: Caller, asked: AlarmTest) -> AlarmTestOutcome:
    """Send an alert by webhook and mail as they are set, and say whether it was taken."""
    settings = site.loaded.settings
    to = {"webhook": settings.alarm.webhook, "mail": settings.alarm.mail_to}
    if asked.dry:
        set_ones = {channel: "" for channel, address in to.items() if address}
        return _outcome(set_ones, to)
    alert = Alert(
        kind=AlertKind.TEST,
        title="A test of the alarm",
        text="Somebody wanted to see whether alerts arrive. There is nothing to be done.",
        time=time.time(),
        evidence={"by": "oborona alarm test" if caller.way is CallWay.TERMINAL else caller.name},
    )
    channels = open_alarm(settings, site_name(site.loaded), time.time)
    return _outcome(asyncio.run(channels.now(alert)), to)


def _outcome(problems: dict[str, str], to: dict[str, str]) -> AlarmTestOutcome:
    return AlarmTestOutcome(
        channels=tuple(
            AlarmChannelOutcome(channel=channel, to=to[channel], trouble=trouble)
            for channel, trouble in problems.items()
        )
    )
