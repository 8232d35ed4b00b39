"""A feed of a daemon that runs: its worker judges by it when the command returns."""

from __future__ import annotations

from pathlib import Path

from oborona.desk.feed.roll_back import roll_back_feed
from tests.desk.feed.fed import MILDER, NEW, FedSite
from tests.desk.policy.drafted import call, person
from tests.peers.oborona import Oborona


def test_a_version_is_in_force_when_the_update_returns_and_back_again(tmp_path: Path) -> None:
    fed = FedSite(tmp_path)
    settings = {
        "worker.processes": 1,
        "paths.policy": tmp_path / "policy.d",
        "paths.shipped_policy": tmp_path / "shipped",
        "reader.enabled": "false",
    }
    with Oborona(settings) as running:
        fed.state = running.state
        fed.site = fed.sited()
        first = running.run("policy", "reload").stdout.split()[1].rstrip(":")
        fed.offer({"10.toml": MILDER, "20.toml": NEW})
        done = fed.update().published
        assert done is not None
        assert (done.workers, done.late, done.note) == (1, (), "")
        outcome = call(fed.site, "policy.reload").outcome
        assert (outcome.version, outcome.rules) == (done.meaning, 3)
        roll_back_feed(fed.site, person(), done.undo, "no", sure=False, dry=False)
        assert call(fed.site, "policy.reload").outcome.version == first
