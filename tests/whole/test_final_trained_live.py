"""A daemon that trains its own final model: from the journal and what people said to two workers
that file mail by it, and an admin's word over it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest

from oborona import state_files
from oborona.policy.models.final.features import NAME
from oborona.stores.final_training_record import installed_version, read_record, readable_choice
from tests.daemon.final_trainer.made_site import letter, made_site, rules
from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix
from tests.whole.gate import eventually
from tests.whole.test_final_live import SLACK_S

SPAM, HAM = 220, 800
TRAINED_S = 240.0  # on a busy machine; half a minute else


@pytest.fixture(scope="module")
def oborona(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oborona]:
    root = tmp_path_factory.mktemp("site")
    root.chmod(0o755)
    policy = rules(root / "policy.d")
    settings = {
        "site.name": "mx.example.test",
        "worker.processes": 2,
        "log.format": "json",
        "paths.policy": str(root / "policy.d"),
        "final_training.busy_load": 10_000,
        "final_training.hours": 0.001,
    }
    daemon = Oborona(settings)
    made_site(daemon.state, policy, spam=SPAM, ham=HAM, now=time.time() - 3 * 86_400)
    with daemon:
        yield daemon


def decided(oborona: Oborona, *, spam: bool) -> str:
    """Send a message that nobody has seen before; return who decided about it."""
    number = random.randrange(10**6, 10**9)
    with Postfix(oborona.milter) as postfix:
        text = letter(number, random.Random(number), spam=spam)
        reply = postfix.send(text, sender="ann@a.example")[-1]
    assert reply.startswith("250"), reply
    lines = [line for line in oborona.log().splitlines() if '"decided_by"' in line]
    return lines[-1]


def test_it_trains_itself_takes_over_and_an_admin_stands_above_it(oborona: Oborona) -> None:
    eventually(lambda: readable_choice(oborona.state).own != "", TRAINED_S)
    own = readable_choice(oborona.state).own
    assert own == installed_version(oborona.state)
    eventually(
        lambda: (
            oborona.log().count(f'"final model loaded","version":"{own}","better":true') >= 2
            or sum(
                f'"{own}"' in line and '"better":true' in line
                for line in oborona.log().splitlines()
            )
            >= 2
        ),
        SLACK_S,
    )
    assert NAME in decided(oborona, spam=True)
    assert "below-threshold" in decided(oborona, spam=False)
    assert "another final model decides" in oborona.log()
    told = oborona.run("model", "final", "status")
    assert "live: found better" in told.stdout
    assert "next training: waits" in told.stdout
    removed = oborona.run("model", "final", "remove")
    assert removed.returncode == 0, removed.stderr
    assert read_record(oborona.state).held_by == "remove"
    assert readable_choice(oborona.state).own == ""
    eventually(
        lambda: "no final model of the site's own" in oborona.log().rpartition(own)[2],
        SLACK_S,
    )
    assert not (oborona.state / state_files.FINAL_MODEL).exists()
