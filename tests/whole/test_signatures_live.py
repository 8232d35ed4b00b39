"""Signatures added, found, counted and removed while two workers judge mail behind a real
Postfix.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from oborona import state_files
from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix
from tests.whole.gate import eventually

SLACK_S = 20.0  # a busy machine; docs/policy/signatures.md has what it takes
SENT = 8  # messages, each by a connection of its own: both workers get some


class Site:
    """The daemon and the mail server before it."""

    def __init__(self, oborona: Oborona, postfix: Postfix) -> None:
        self.oborona = oborona
        self._postfix = postfix

    def send(self, words: str, number: int = SENT) -> list[dict[str, Any]]:
        """Send messages; return what the log says of each."""
        before = len(self.verdicts())
        for _ in range(number):
            text = (
                f"From: Ann <ann@a.example>\r\nTo: joe@example.test\r\nSubject: "
                f"news\r\n\r\n{words}\r\n"
            )
            reply = self._postfix.send(text.encode(), sender="ann@a.example")[-1]
            assert reply.startswith("250"), reply
        eventually(lambda: len(self.verdicts()) >= before + number)
        return self.verdicts()[before:]

    def verdicts(self) -> list[dict[str, Any]]:
        """What the log says of messages."""
        return [one for one in self._events("verdict") if one["stage"] == "content"]

    def changes(self) -> int:
        """How often a worker took a change."""
        return len(self._events("signatures changed"))

    def command(self, *words: str) -> str:
        """Run a command on signatures, and wait until both workers have taken what it changed."""
        before = self.changes()
        done = self.oborona.run("signature", *words)
        assert done.returncode == 0, done.stderr
        eventually(lambda: self.changes() >= before + 2, SLACK_S)
        return done.stdout

    def listed(self, *words: str) -> dict[str, dict[str, Any]]:
        """What `signature list` says, by id."""
        lines = self.oborona.run("signature", "list", "--json", *words).stdout.splitlines()
        return {one["id"]: one for one in map(json.loads, lines)}

    def _events(self, what: str) -> list[dict[str, Any]]:
        lines = self.oborona.log().splitlines(keepends=True)
        found = [
            msgspec.json.decode(line)
            for line in lines
            if line.startswith("{") and line.endswith("\n")
        ]
        return [one for one in found if one["msg"] == what]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    settings = {"site.name": "mx.example.test", "worker.processes": 2, "log.format": "json"}
    with Oborona(settings) as oborona, Postfix(oborona.milter) as postfix:
        yield Site(oborona, postfix)


def test_what_is_added_is_found_by_both_workers_and_counted_and_what_is_removed_is_not(
    site: Site,
) -> None:
    words = "We sell ch3ap. p!lls by post, only today"
    assert {one["verdict"] for one in site.send(words)} == {"accept"}
    began = time.monotonic()
    added = site.command(
        "add", "cheap pills by post", "--owner", "anna", "--reason", "pharma\tcampaign", "--json"
    )
    took = time.monotonic() - began
    name = json.loads(added)["id"]
    assert took < SLACK_S
    for one in site.send(words):
        assert (one["verdict"], one["decided_by"]) == ("spam", "SIGNATURE_SPAM")
        assert one["reason"] == (
            f'SIGNATURE_SPAM=100.0({name} "cheap pills by post" by anna: pharma campaign)'
        )
    eventually(lambda: site.listed()[name]["hits"]["total"] == SENT, SLACK_S, every_s=1.0)
    assert site.listed()[name]["hits"]["today"] <= SENT
    site.command("remove", name)
    assert {one["verdict"] for one in site.send(words)} == {"accept"}
    assert name not in site.listed()
    assert site.listed("--all")[name]["state"] == "removed"


def test_one_of_good_mail_lowers_and_one_in_shadow_only_tells(site: Site) -> None:
    site.command("add", "minutes of our board", "--good", "--reason", "ours", "--owner", "bob")
    site.command("add", "board meets on friday", "--shadow", "--reason", "tried", "--owner", "bob")
    (one,) = site.send("The minutes of our board: the board meets on Friday.", 1)
    assert one["score"] == -50
    assert "SIGNATURE_HAM=-50.0(" in one["reason"]
    assert re.search(
        r'SIGNATURE_S\d=0\.0\("board meets on friday" by bob: tried\)\[shadow\]', one["reason"]
    )


def test_a_store_that_is_damaged_stops_no_mail_and_what_was_known_stays(site: Site) -> None:
    site.command("add", "golden watches for you", "--reason", "replicas")
    path = site.oborona.state / state_files.SIGNATURES
    whole = path.read_bytes()
    for name in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        name.unlink(missing_ok=True)
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    eventually(lambda: "signatures of the store stay as they were" in site.oborona.log(), SLACK_S)
    (one,) = site.send("golden watches for you", 1)
    assert one["decided_by"] == "SIGNATURE_SPAM"
    refused = site.oborona.run("signature", "list")
    assert (refused.returncode, "damaged" in refused.stderr) == (74, True)
    path.unlink()
    path.write_bytes(
        whole
    )  # what was in the log beside it is lost: the store is as it was before the last additions
    eventually(lambda: "signatures of the store are read again" in site.oborona.log(), SLACK_S)
