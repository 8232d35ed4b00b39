"""Three hundred times kill -9 under load: nothing that was acknowledged is missing, nothing is
there twice (`tests/whole/kills.py`).
"""

from __future__ import annotations

import pytest

from tests.peers.postfix import available
from tests.whole.kills import run

KILLS = 300
EVERY_S = 0.3

pytestmark = pytest.mark.skipif(not available(), reason="needs Postfix and root")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_is_acknowledged_is_there_once_whoever_is_killed() -> None:
    found, killed = run(KILLS, seed=1, every_s=EVERY_S)
    assert found.sound, found.told()
    assert found.acknowledged >= found.letters > KILLS
    assert found.said > 0
    names = {
        "worker 0",
        "worker 1",
        "writer",
        "keeper",
        "reader",
        "intake",
        "trainer",
        "exporter",
        "policy",
        "supervisor",
    }
    assert names <= killed.keys()
