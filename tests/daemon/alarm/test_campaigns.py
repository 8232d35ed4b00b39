"""Campaigns as workers see them, and which of them is news."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from oborona.daemon.alarm.campaigns import (
    MOST_SEEN,
    MOST_TOLD,
    TOLD_S,
    CampaignNews,
    CampaignSightings,
    campaign_alert,
    campaign_sighting,
)
from oborona.policy.scan import Scan
from oborona.session.session import Session
from oborona.telemetry.alert import AlertKind, CampaignSighting
from oborona.types import Client
from tests.session.test_session import Table, gathered

NOW = 1_795_170_000.0
ONE = CampaignSighting(
    name="a",
    time=NOW,
    subject="Pills",
    sender="x@a.example",
    client="192.0.2.9",
    hour=60,
    ips=12,
    complaints=1,
    traps=0,
    verdict="accept",
)
LETTER = (
    "Dear friend, our warehouse in the old harbour is closing this weekend and every single "
    "bottle has to go before the new owner arrives on"
    " Monday morning. Write back to reserve yours today, mention the lighthouse, and the courier "
    "brings it to your door without any question. {}"
)


async def sent(folder: Path, addresses: int, letters: int, login: str = "") -> list[Scan]:
    """Return the scans of so many nearly equal messages, from so many addresses."""
    table = Table(folder)
    scans: list[Scan] = []
    bench = msgspec.structs.replace(
        table.session._services, observe_campaign=lambda scan, _now: scans.append(scan)
    )
    session = Session(bench)
    for number in range(letters):
        await session.connect(Client(ip=f"192.0.2.{number % addresses}", login=login))
        await session.mail(f"x{number}@a.example", ())
        await session.rcpt("bob@b.example", ())
        await session.end_of_message(gathered(b"", LETTER.format(number).encode()))
        await asyncio.sleep(0)
    return scans


@pytest.mark.parametrize(
    ("addresses", "login", "news"), [(15, "", True), (3, "", False), (15, "ann", False)]
)
async def test_many_alike_from_many_addresses_are_a_campaign(
    tmp_path: Path, addresses: int, login: str, news: bool
) -> None:
    scans = await sent(tmp_path, addresses, 40, login)
    found = [campaign_sighting(scan, least=20, now=NOW) for scan in scans]
    assert not any(found[:20])
    assert (found[-1] is not None) is news
    if news:
        names = {one.name for one in found if one is not None}
        assert len(names) == 1, "one campaign has one name"
        last = found[-1]
        assert last is not None
        assert (last.hour, last.subject, last.verdict) == (39, "lunch again", "accept")
        assert last.ips >= 10


def test_a_worker_holds_a_few() -> None:
    seen = CampaignSightings()
    for number in range(MOST_SEEN + 5):
        seen.note(msgspec.structs.replace(ONE, name=str(number), time=NOW + number))
    seen.note(msgspec.structs.replace(ONE, name="7", time=NOW + 100, hour=99))
    now = seen.now(NOW + 101)
    assert len(now) == MOST_SEEN
    assert now[-1].hour == 99
    assert seen.now(NOW + 3600 + 50) == (now[-1],), "what is over is over"


def test_a_campaign_is_told_once_by_its_largest_sighting() -> None:
    campaigns = CampaignNews()
    larger = msgspec.structs.replace(ONE, hour=70)
    other = msgspec.structs.replace(ONE, name="b", hour=65)
    assert campaigns.news([ONE, larger, other], NOW) == [larger, other]
    assert campaigns.news([larger], NOW + 3600) == []
    assert campaigns.news([larger], NOW + 3600 + TOLD_S) == [], "it never stopped"
    assert campaigns.news([larger], NOW + 3600 + 3 * TOLD_S) == [larger]
    for number in range(MOST_TOLD + 10):
        campaigns.news([msgspec.structs.replace(ONE, name=str(number))], NOW)
    assert len(campaigns._told) <= MOST_TOLD


def test_an_alert_has_all_of_it() -> None:
    found = campaign_alert(ONE)
    assert found.kind is AlertKind.CAMPAIGN
    assert "60 messages alike" in found.title
    assert found.evidence["subject"] == "Pills"
    assert msgspec.json.decode(msgspec.json.encode(found.evidence))["ips"] == 12
