"""Campaigns that workers see: a sudden flood of similar messages from many addresses, or with
complaints; and which of them are to be reported.

    worker    `CampaignSightings`: a scanned message with many near-duplicates is noted, each
              campaign once, in the worker's status
    keeper    `CampaignNews`: what all workers have noted, told once

A text is sudden when the last hour had nearly all of its copies of two weeks.  Copies from few
addresses that nobody has complained of are a newsletter, and no news.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import msgspec

from oborona.message.hashing import ShingleType
from oborona.policy.local_clients import is_own
from oborona.policy.scan import Scan
from oborona.telemetry.alert import Alert, AlertKind, CampaignSighting, encodable_text

SUDDEN: Final = 0.8  # share of a fortnight's copies that the last hour has
MANY_IPS: Final = 10  # addresses that send it: newsletters come from fewer
MOST_TEXT: Final = 200  # characters of a peer's text
MOST_SEEN: Final = 20  # campaigns of a worker's status
FORGET_S: Final = 3600.0  # without a further copy
TOLD_S: Final = 86_400.0  # a campaign that was told is no news for so long
MOST_TOLD: Final = 1000  # that are remembered


def campaign_sighting(scanned: Scan, *, least: int, now: float) -> CampaignSighting | None:
    """Return the campaign that a message belongs to; None where there is none, as for most mail.

    Args:
        scanned: the message.
        least: copies within an hour.
        now: Unix seconds.
    """
    facts, envelope = scanned.facts, scanned.envelope
    hour, fortnight = facts.mass_hour or 0, facts.mass_fortnight or 0
    if hour < least or hour < SUDDEN * fortnight or is_own(envelope):
        return None
    ips, complaints, traps = facts.mass_ips or 0, facts.mass_complaints or 0, facts.mass_traps or 0
    if ips < MANY_IPS and not complaints and not traps:
        return None
    name = next(
        (
            f"{shingle.hash:016x}"
            for shingle in scanned.pieces.shingles
            if shingle.type == ShingleType.TEMPLATE
        ),
        "",
    )
    if not name:
        return None
    return CampaignSighting(
        name=name,
        time=now,
        subject=encodable_text(scanned.message.subject[:MOST_TEXT]),
        sender=encodable_text(envelope.sender[:MOST_TEXT]),
        client=envelope.client.ip,
        hour=hour,
        ips=ips,
        complaints=complaints,
        traps=traps,
        verdict=scanned.verdict.action,
    )


class CampaignSightings:
    """The campaigns that a worker sees now."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, CampaignSighting] = OrderedDict()

    def note(self, sighting: CampaignSighting) -> None:
        """Take one; of more than `MOST_SEEN` the one that was silent longest is forgotten."""
        self._seen[sighting.name] = sighting
        self._seen.move_to_end(sighting.name)
        if len(self._seen) > MOST_SEEN:
            self._seen.popitem(last=False)

    def now(self, now: float) -> tuple[CampaignSighting, ...]:
        """Return them, the latest last."""
        return tuple(sighting for sighting in self._seen.values() if sighting.time > now - FORGET_S)


class CampaignNews:
    """The campaigns that were not reported lately."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, float] = OrderedDict()  # by name: when it was seen last

    def news(self, sightings: Iterable[CampaignSighting], now: float) -> list[CampaignSighting]:
        """Return what was not told within a day, each campaign once: its largest sighting.

        Args:
            sightings: by all workers.
            now: Unix seconds.
        """
        largest: dict[str, CampaignSighting] = {}
        for sighting in sightings:
            if sighting.name not in largest or sighting.hour > largest[sighting.name].hour:
                largest[sighting.name] = sighting
        fresh = [
            sighting
            for sighting in largest.values()
            if now - self._told.get(sighting.name, float("-inf")) > TOLD_S
        ]
        for sighting in largest.values():
            self._told[sighting.name] = now
            self._told.move_to_end(sighting.name)
        while len(self._told) > MOST_TOLD:
            self._told.popitem(last=False)
        return sorted(fresh, key=lambda campaign: -campaign.hour)


def campaign_alert(campaign: CampaignSighting) -> Alert:
    """Return the alert of a campaign that is news."""
    words = f"{campaign.complaints} complaints, {campaign.traps} traps"
    return Alert(
        kind=AlertKind.CAMPAIGN,
        title=f"A campaign: {campaign.hour} messages alike within an hour",
        text=(
            f"From {campaign.ips} addresses; {words}. The latest was judged "
            f"{campaign.verdict}: {campaign.subject}"
        ),
        time=campaign.time,
        evidence=msgspec.structs.asdict(campaign),
    )
