"""The policy that ships against whole campaigns, and beside legitimate bulk mail: a site that is
days old keeps few copies, and files none of what shops, schools and lists send.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.types import Action
from tests.bulk import bulk
from tests.campaign_kinds import START, CampaignKind, Senders, campaign_of, people_of
from tests.posted import judged, mass_hits

POLICY = load_policy(Path(__file__).parents[2] / "etc/policy.d", SCHEMA)
KEY = b"k" * 32
COPIES = 80
MOST = 20  # copies in the inbox
DAY = 86_400.0
# one kind of each sort, and each sort of senders: all of them are in benchmarks/mass.py
CAMPAIGNS = [
    (CampaignKind.MIDDLE, Senders.UNPROVED),
    (CampaignKind.CYRILLIC, Senders.PROVED),
    (CampaignKind.LONG, Senders.FREEMAIL),
    (CampaignKind.LONG, Senders.TENANTS),
    (CampaignKind.LINK, Senders.UNPROVED),
    (CampaignKind.LINK, Senders.PROVED),
    (CampaignKind.CONTACTS, Senders.TENANTS),
    (CampaignKind.PHONE, Senders.FREEMAIL),
    (CampaignKind.WALLET, Senders.UNPROVED),
]


@pytest.mark.parametrize(("kind", "senders"), CAMPAIGNS, ids=lambda part: part.name.lower())
async def test_few_copies_reach_the_inbox(kind: CampaignKind, senders: Senders) -> None:
    before = people_of(senders, seed=1)
    posted = [*before, *campaign_of(kind, senders, seed=1, copies=COPIES)]
    scans = (await judged(posted, POLICY, key=KEY))[len(before) :]
    inbox = [scan.verdict.action is Action.ACCEPT for scan in scans]
    assert 0 < sum(inbox) < MOST  # the first copy of anything is nobody's copy


async def test_the_pace_does_not_matter() -> None:
    """A copy every two hours, as at a small site: no hour has five."""
    slow = campaign_of(CampaignKind.MIDDLE, Senders.UNPROVED, seed=1, copies=COPIES, gap_s=7200)
    scans = await judged(slow, POLICY, key=KEY)
    assert max(scan.facts.mass_hour or 0 for scan in scans) <= 1
    assert sum(scan.verdict.action is Action.ACCEPT for scan in scans) < MOST


@pytest.mark.parametrize("span_s", [3600.0, DAY])
async def test_legitimate_bulk_mail_is_no_campaign(span_s: float) -> None:
    past = bulk(60, seed=1, start=START - 2 * DAY, span_s=DAY)
    today = bulk(300, seed=2, start=START, span_s=span_s)
    scans = await judged([*past, *today], POLICY, key=KEY)
    hits = [
        (post.kind, hit.name)
        for post, scan in zip([*past, *today], scans, strict=True)
        for hit in mass_hits(scan)
    ]
    assert not hits
