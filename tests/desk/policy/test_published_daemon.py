"""A draft published to a daemon that runs: all workers judge by it when the call returns."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.desk.configured_site import SiteSource
from oborona.desk.site import Site
from tests.cli.journaled import LINKS, WORDS, policy
from tests.desk.policy.drafted import OVERLAY, call, new_draft
from tests.peers.oborona import Oborona

MILDER = '[[rule]]\nname = "LINKS"\nscore = 30\n'


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(dir="/tmp"))
    yield made
    shutil.rmtree(made)


def test_what_is_published_is_in_force_in_all_workers_and_back_again(folder: Path) -> None:
    own = policy(folder / "policy.d", LINKS, WORDS)
    settings = {
        "worker.processes": 2,
        "paths.policy": own,
        "paths.shipped_policy": "none",
        "reader.enabled": "false",
    }
    with Oborona(settings) as running:
        site = Site(
            SiteSource(
                folder / "oborona.toml",
                {
                    "paths.state": str(running.state),
                    "paths.policy": str(own),
                    "paths.shipped_policy": "none",
                },
            ),
            lambda _: None,
        )
        (folder / "oborona.toml").touch()
        first = running.run("policy", "reload").stdout.split()[1].rstrip(":")
        new_draft(site, MILDER)
        shadow = call(site, "policy.publish", draft="mine", reason="try")
        assert (shadow.workers, shadow.late, shadow.note) == (2, (), "")
        assert call(site, "policy.reload").outcome.version == shadow.meaning
        call(site, "policy.preview", draft="mine", within_s=30)
        live = call(site, "policy.publish", draft="mine", reason="good", live=True)
        assert call(site, "policy.reload").outcome.version == live.meaning
        assert (own / OVERLAY).read_text() == MILDER
        back = call(site, "policy.roll_back", version=1, reason="no")
        assert back.workers == 2
        assert call(site, "policy.reload").outcome.version == first
        assert not (own / OVERLAY).exists()
