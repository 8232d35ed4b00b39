"""A final model put in force, replaced by a broken file, rolled back and removed while two workers
judge mail behind a real Postfix.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona import state_files
from oborona.policy.models.final.features import NAME
from oborona.policy.models.final.file import encode
from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix
from tests.stores.test_final_model import HTML_IS_GOOD, HTML_IS_SPAM
from tests.whole.gate import eventually

SENT = 6  # messages, each by a connection of its own: both workers get some
SLACK_S = 20.0  # a busy machine
LETTER = (
    b"From: Ann <ann@a.example>\r\nSubject: news\r\nMIME-Version: 1.0\r\nContent-Type: "
    b"text/html\r\n\r\n"
    b"<p>the harbour at dawn, as it was last week</p>\r\n"
)


class Site:
    """The daemon and the mail server before it."""

    def __init__(self, oborona: Oborona, postfix: Postfix) -> None:
        self.oborona = oborona
        self._postfix = postfix

    def send(self) -> list[tuple[str, str]]:
        """Send messages; return verdict and decider of each."""
        before = len(self._events("verdict"))
        for _ in range(SENT):
            reply = self._postfix.send(LETTER, sender="ann@a.example")[-1]
            assert reply.startswith("250"), reply
        eventually(lambda: len(self._events("verdict")) >= before + SENT)
        return [(one["verdict"], one["decided_by"]) for one in self._events("verdict")[before:]]

    def command(self, *words: str, says: str) -> None:
        """Run a command on the final model, and wait until both workers have said so."""
        before = self.said(says)
        done = self.oborona.run("model", "final", *words)
        assert done.returncode == 0, done.stderr
        eventually(lambda: self.said(says) >= before + 2, SLACK_S)

    def said(self, what: str) -> int:
        """How often workers said something."""
        return len(self.oborona.of_workers(self._events(what)))

    def _events(self, what: str) -> list[dict[str, Any]]:
        lines = self.oborona.log().splitlines(keepends=True)
        found = [
            msgspec.json.decode(line)
            for line in lines
            if line.startswith("{") and line.endswith("\n")
        ]
        return [
            one for one in found if one["msg"] == what and one.get("stage", "content") == "content"
        ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    policy = tmp_path_factory.mktemp("policy")
    (policy / "one.toml").write_text("[final]\nmode = 'live'\nspam = 0.9\n")
    policy.parent.chmod(0o755)
    settings = {
        "site.name": "mx.example.test", "worker.processes": 2, "log.format": "json", "paths.policy": str(policy),
    }  # fmt: skip
    with Oborona(settings) as oborona, Postfix(oborona.milter) as postfix:
        yield Site(oborona, postfix)


def test_both_workers_follow_the_model_and_no_broken_one(site: Site, tmp_path: Path) -> None:
    good, spam = ("accept", "below-threshold"), ("spam", NAME)
    assert site.send() == [good] * SENT
    for name, model in (("spam", HTML_IS_SPAM), ("good", HTML_IS_GOOD)):
        (tmp_path / name).write_bytes(encode(model))
    site.command("install", str(tmp_path / "spam"), says="final model loaded")
    assert site.send() == [spam] * SENT
    refused = site.said("final model refused, the old one stays")
    fresh = site.oborona.state / "fresh"
    fresh.write_bytes(encode(HTML_IS_GOOD)[:-5])
    fresh.replace(site.oborona.state / state_files.FINAL_MODEL)
    eventually(lambda: site.said("final model refused, the old one stays") >= refused + 2, SLACK_S)
    assert site.send() == [spam] * SENT
    site.command("install", str(tmp_path / "good"), says="final model loaded")
    assert site.send() == [good] * SENT
    words = "no final model of the site's own: the shipped one adds to the rules"
    site.command("remove", says=words)
    assert site.send() == [good] * SENT
