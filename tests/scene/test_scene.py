"""Three hosts of one site: a campaign that came by all is taken back on all, once its readers
complain to one; and faults under load lose nothing, and do nothing twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.peers.postfix import available
from tests.scene.faults import USERS, SceneFaults
from tests.scene.scene_site import SceneSite
from tests.whole.gate import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not available(), reason="needs Postfix and root"),
]

READERS = USERS[:24]
COMPLAIN, UNREAD = READERS[:10], READERS[10:]
FAULTS = 7  # each kind, and one more
TAKEN_BACK_S = 5.0
WITHIN_S = 60.0


@pytest.fixture(scope="module")
def site() -> Iterator[SceneSite]:
    with SceneSite(USERS) as running:
        yield running


def test_a_campaign_through_three_hosts_is_taken_back_within_five_seconds(site: SceneSite) -> None:
    assert all(reply.startswith("250 ") for reply in site.campaign(READERS))
    eventually(lambda: all(site.held(user) == (1, 0) for user in READERS), WITHIN_S)
    for user in COMPLAIN:
        site.drag(user, "INBOX", "Junk")
    at = time.monotonic()
    eventually(lambda: all(site.held(user) == (0, 1) for user in UNREAD), WITHIN_S)
    took_s = time.monotonic() - at
    print(f"taken back {took_s:.2f} s after the last complaint")
    eventually(lambda: all(host.events("moved") for host in site.hosts), WITHIN_S)
    moved = [one["recipient"] for host in site.hosts for one in host.events("moved")]
    assert sorted(moved) == sorted(f"{user}@example.test" for user in UNREAD)
    assert took_s < TAKEN_BACK_S


def test_faults_under_load_lose_nothing_and_do_nothing_twice(site: SceneSite) -> None:
    faults = SceneFaults(site, 5)
    faults.run(FAULTS)
    print(faults.told())
