"""A scan asks for time-lines where a rule names them, once for all, and knows none where the store
does not tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from oborona.counters.memory import MemoryCounters
from oborona.counters.window import Timeline
from oborona.errors import StoreError
from oborona.message.hashing import Hasher
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.ports import PictureView
from oborona.policy.scan import Scan, ScanSite, rescan, scan
from oborona.types import Amounts, Client, CountedPieces, CounterPrefix, Envelope, Shingle, Stage

NOW = 1.7e9
LETTER = b"From: Anna <anna@example.org>\nSubject: lunch on friday\n\nShall we?\n"
RULES = """
[[rule]]
name = "CLOCKWORK"
when = "robotic(count[From]) > 0.9"
score = 5
say = "{robotic(count[From]):.2f}"

[[rule]]
name = "UNKNOWN"
when = "robotic(count[From]) == none"
score = 1

[[rule]]
name = "LATER"
when = "count[From].day.seen != none"
stage = "recheck"
score = 2
"""


class Watched(MemoryCounters):
    """Says what it was asked for."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__()
        self.asked: list[list[int]] = []
        self._fails = fails

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[Timeline]:
        self.asked.append([shingle.type for shingle in shingles])
        if self._fails:
            raise StoreError("away")
        return await super().timelines(shingles, now, prefix)


async def scanned(folder: Path, counters: Watched, rules: str = RULES) -> tuple[Scan, ScanSite]:
    (folder / "10.toml").write_text(rules)
    site = ScanSite(name="mx.example.org", hasher=Hasher(b"k" * 32), counters=counters)
    policy = load_policy(folder, SCHEMA)
    envelope = Envelope(
        client=Client(ip="192.0.2.1"), sender="anna@example.org", recipients=("b@example.com",)
    )
    return await scan(LETTER, envelope, site, policy, NoInquiry(), now=NOW), site


async def clockwork(folder: Path, counters: Watched) -> None:
    first, _ = await scanned(folder, counters)
    for hours in range(1, 23):
        counters.add(
            CountedPieces(shingles=first.pieces.shingles, pairs=()),
            Amounts(seen=1),
            NOW - 3600 * hours,
        )
    counters.asked.clear()


def names(result: Scan) -> list[str]:
    return [hit.name for hit in result.verdict.rules]


async def test_a_sender_like_a_clock_is_found(tmp_path: Path) -> None:
    counters = Watched()
    await clockwork(tmp_path, counters)
    result, _ = await scanned(tmp_path, counters)
    assert names(result) == ["CLOCKWORK"]
    assert result.verdict.rules[0].say == "1.00"
    assert counters.asked == [[14]]


async def test_nobody_asks_for_what_no_rule_names_or_too_few_messages_have(tmp_path: Path) -> None:
    counters = Watched()
    result, _ = await scanned(tmp_path, counters)
    assert names(result) == ["UNKNOWN"]
    await clockwork(tmp_path, counters)
    await scanned(tmp_path, counters, '[[rule]]\nname = "X"\nwhen = "links > 1"\nscore = 1\n')
    assert counters.asked == []


async def test_a_store_that_does_not_tell_leaves_it_unknown(tmp_path: Path) -> None:
    counters = Watched(fails=True)
    await clockwork(tmp_path, counters)
    result, _ = await scanned(tmp_path, counters)
    assert names(result) == ["UNKNOWN"]
    assert result.faults == ("counters: away",)
    assert result.facts.count(14, 2, 0) == 22


@pytest.mark.parametrize(("stage", "late"), [(Stage.CONTENT, False), (Stage.RECHECK, True)])
async def test_rules_of_the_recheck_run_at_the_recheck(
    tmp_path: Path, stage: Stage, late: bool
) -> None:
    result, site = await scanned(tmp_path, Watched())
    assert "LATER" not in names(result)
    looked = await rescan(
        result, PictureView(pictures=()), site, NoInquiry(), now=NOW + 60, stage=stage
    )
    assert ("LATER" in names(looked)) is late
