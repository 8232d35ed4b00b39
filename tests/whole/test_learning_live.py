"""`oborona learn` beside a running daemon: within a second other messages are judged otherwise, and
what is taken back is gone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona.feedback.label import LabelKind
from tests.feedback.words import letter
from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix
from tests.whole.gate import eventually

SLACK_S = 20.0  # a busy machine; docs/measured/feedback.md has what it takes
RULE = """
[[rule]]
name = "TAUGHT"
when = "model.content > 0.5"
score = 100
say = "p={model.content:.2f}"
"""


class Site:
    """The daemon and the mail server before it."""

    def __init__(self, oborona: Oborona, postfix: Postfix) -> None:
        self.oborona = oborona
        self._postfix = postfix

    def judged(self, raw: bytes) -> dict[str, Any]:
        """Send a message; return what the log says of it."""
        before = len(self._verdicts())
        reply = self._postfix.send(raw, sender="ann@a.example")[-1]
        assert reply.startswith("250"), reply
        eventually(lambda: len(self._verdicts()) > before)
        return self._verdicts()[before]

    def told(self, *words: str) -> Any:
        """Run a command; return the last JSON line it said."""
        done = self.oborona.run(*words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def _verdicts(self) -> list[dict[str, Any]]:
        lines = self.oborona.log().splitlines(keepends=True)
        found = [
            msgspec.json.decode(line)
            for line in lines
            if line.startswith("{") and line.endswith("\n")
        ]
        return [one for one in found if one["msg"] == "verdict" and one["stage"] == "content"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    policy = tmp_path_factory.mktemp("policy")
    (policy / "10-taught.toml").write_text(RULE)
    settings = {
        "site.name": "mx.example.test",
        "worker.processes": 2,
        "log.format": "json",
        "paths.policy": policy,
    }
    with Oborona(settings) as oborona, Postfix(oborona.milter) as postfix:
        yield Site(oborona, postfix)


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mail")
    for kind in LabelKind:
        (folder / kind).mkdir()
        for number in range(40):
            (folder / kind / f"{number}.eml").write_bytes(letter(number, kind))
    return folder


@pytest.fixture(scope="module")
def taught(site: Site, mail: Path) -> Site:
    """The site, taught: its tests may run in a process of their own."""
    for kind in LabelKind:
        site.told("learn", kind, str(mail / kind), "--json", "--wait")
    eventually(lambda: site.judged(letter(919, LabelKind.SPAM))["verdict"] == "spam", SLACK_S)
    return site


def test_what_is_taught_is_known_to_all_workers_within_a_second(site: Site, mail: Path) -> None:
    unseen = letter(900, LabelKind.SPAM)
    assert site.judged(unseen)["verdict"] == "accept"
    assert site.told("learn", "ham", str(mail / "ham"), "--json", "--wait") == {
        "total": 40, "new": 40, "replaced": 0, "duplicate": 0, "refused": 0,
    }  # fmt: skip
    assert site.judged(unseen)["verdict"] == "accept"
    site.told("learn", "spam", str(mail / "spam"), "--json")
    began = time.monotonic()
    eventually(lambda: site.judged(letter(901, LabelKind.SPAM))["verdict"] == "spam", SLACK_S)
    assert time.monotonic() - began < SLACK_S
    for number in range(902, 910):  # both workers get some
        assert site.judged(letter(number, LabelKind.SPAM))["decided_by"] == "TAUGHT"
        assert site.judged(letter(number, LabelKind.HAM))["verdict"] == "accept"
    found = site.told("model", "status", "--json")
    assert (found["speaks"], found["weights"]["spam"], found["weights"]["ham"]) == (True, 40, 40)
    assert found["figures"]["waiting"] == 0
    explained = site.oborona.run("check", str(mail / "spam" / "1.eml"))
    assert "TAUGHT" in explained.stdout


def test_what_is_learned_counts_in_the_counters(taught: Site, mail: Path) -> None:
    def complaints() -> str:
        """What the counters say of near-duplicates of a message that was complained of."""
        shown = taught.oborona.run("explain", "-v", str(mail / "spam" / "1.eml")).stdout
        row = next((line for line in shown.splitlines() if "mass.complaints" in line), "")
        return row.split("│")[2].strip() if row else ""

    eventually(lambda: complaints().isdigit() and int(complaints()) >= 1, SLACK_S, every_s=1.0)


def test_what_is_taken_back_is_gone(taught: Site, mail: Path) -> None:
    assert taught.judged(letter(920, LabelKind.SPAM))["verdict"] == "spam"
    done = taught.oborona.run("model", "unlearn", "--since", "1d", "--wait")
    assert (done.returncode, done.stdout) == (0, "80 labels are taken back\n")
    assert taught.judged(letter(921, LabelKind.SPAM))["verdict"] == "accept"
    found = taught.told("model", "status", "--json")
    assert (found["speaks"], found["missing"]) == (False, {"spam": 5, "ham": 5})
    assert taught.told("learn", "spam", str(mail / "spam"), "--json", "--wait")["new"] == 40
