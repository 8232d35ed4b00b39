"""What a new user sees on the first day: policy as it ships, nothing counted, nothing learned, the
DNS answers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from oborona.cli import main
from oborona.policy import load
from tests.peers.dns import Zones
from tests.policy.shipped import shipped
from tests.whole.first_day import Sent, mails, publish

# at least, of ten each, of twelve from abroad, of thirty; docs/measured/catch.md has what it was
# when they were written
CAUGHT: Final = {
    "spam": 10,
    "later": 10,
    "last": 10,
    "abroad": 8,
    "unseen": 9,
    "thirty": 28,
    "thirty_later": 22,
    "thirty_last": 25,
}
GOOD: Final = (
    "good",
    "abroad_good",
    "unseen_good",
    "thirty_good",
    "thirty_later_good",
    "thirty_last_good",
)
FILED: Final = ("spam", "reject")


@pytest.fixture(autouse=True)
def policy_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all mails judged by one policy: to read it takes longer than to judge a mail by it."""
    monkeypatch.setattr(load, "load_policy", lambda _folders, _schema: shipped())


def judged(sent: Sent, folder: Path, *, proofs: bool = True) -> dict[str, Any]:
    """Return what `oborona check` says of one mail."""
    path = folder / f"{sent.name}.eml"
    path.write_bytes(sent.raw(signed=proofs))
    with Zones() as zones:  # of its own: gmail.com sends many of these from different addresses
        publish(zones, sent, proofs=proofs)
        words = ["--state", str(folder), "--set", "site.name=mx.firm.example"]
        words += [
            "--set",
            f"dns.servers={zones.setting}",
            "check",
            "--json",
            "--dns",
            *sent.options,
            str(path),
        ]
        found: dict[str, Any] = json.loads(
            CliRunner().invoke(main, words, catch_exceptions=False).stdout
        )
    return found


def told(found: dict[str, Any]) -> str:
    """Return a verdict with its reasons, in one line."""
    rules = ", ".join(f"{rule['name']}={rule['score']:g}" for rule in found["rules"])
    return f"{found['verdict']} {found['score']:g}: {rules}"


@pytest.mark.parametrize("kind", CAUGHT)
def test_most_spam_is_filed(kind: str, tmp_path: Path) -> None:
    said = {sent.name: judged(sent, tmp_path) for sent in mails(kind)}
    filed = [name for name, found in said.items() if found["verdict"] in FILED]
    assert len(filed) >= CAUGHT[kind], "\n".join(
        f"{name} {told(found)}" for name, found in said.items()
    )


@pytest.mark.parametrize(
    "sent",
    [sent for kind in GOOD for sent in mails(kind)],
    ids=lambda sent: sent.name,
)
def test_no_ordinary_letter_is_filed(sent: Sent, tmp_path: Path) -> None:
    found = judged(sent, tmp_path)
    assert found["verdict"] == "accept", told(found)
