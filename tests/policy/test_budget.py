"""A scan that computes too much: wherever it ends, what is known of the message decides, and never
that nothing is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from oborona.counters.memory import MemoryCounters
from oborona.message.shingles import Hasher
from oborona.policy.budget import HEAD_OCTETS, OverBudgetError, ScanProgress
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import PolicyFolders
from oborona.policy.load import Policy, load_policy
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.types import Action, Client, Envelope

ROOT: Final = Path(__file__).resolve().parents[2]
NOW = 1_795_170_000.0
GTUBE = b"XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"
HEAD = (
    b"From: Ann <ann@a.example>\r\nTo: bob@b.example\r\nSubject: Lunch\r\nX-Mras: Ok\r\nDate: "
    b"Fri, 20 Nov 2026 10:00:00 +0000\r\n"
    b"Message-ID: <1@a.example>\r\n\r\n"
)
LINE = b"Shall we meet at noon, as we did last week, or is that too early?\r\n"
LONG = LINE * (2 * HEAD_OCTETS // len(LINE))
RULES = """
[[rule]]
name = "HELO"
when = "helo == 'bad.example'"
score = 300
"""


class Steps:
    """A budget that is spent at its n-th step, once or each time it is given anew."""

    def __init__(self, most: int, *, always: bool = False) -> None:
        self._most = most
        self._always = always
        self.steps = 0
        self.times = 0

    def check(self) -> None:
        self.steps += 1
        if self.steps > self._most and (self._always or not self.times):
            raise OverBudgetError("a few steps")

    def again(self) -> None:
        self.times += 1
        self.steps = 0


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    folder = tmp_path_factory.mktemp("policy")
    (folder / "90-local.toml").write_text(RULES)
    return load_policy(PolicyFolders(own=folder, shipped=ROOT / "etc/policy.d"), SCHEMA)


async def judged(policy: Policy, raw: bytes, budget: Steps, helo: str = "mail.a.example") -> Scan:
    site = ScanSite(name="mx.test", hasher=Hasher(b"k" * 32), counters=MemoryCounters())
    envelope = Envelope(
        client=Client(ip="192.0.2.7"),
        helo=helo,
        sender="ann@a.example",
        recipients=("bob@b.example",),
    )
    return await scan(
        raw, envelope, site, policy, NoInquiry(), now=NOW, course=ScanProgress(budget)
    )


async def steps(policy: Policy, raw: bytes) -> int:
    """Return how many steps a scan of it has."""
    budget = Steps(1_000_000)
    await judged(policy, raw, budget)
    return budget.steps


def names(result: Scan) -> set[str]:
    return {one.name for one in result.verdict.findings}


async def test_wherever_it_ends_it_says_so_and_goes_on_with_what_it_knows(policy: Policy) -> None:
    most = await steps(policy, HEAD + LONG)
    assert most >= 8
    for at in range(most):
        result = await judged(policy, HEAD + LONG, Steps(at))
        assert result.verdict.action is Action.SPAM, at
        assert "SCAN_UNFINISHED" in [hit.name for hit in result.verdict.rules]
        assert names(result) >= {"scan-unfinished", "message-truncated", "forged-verdict"}
        told = [one.name for one in result.verdict.findings]
        assert len(told) == len(set(told))


async def test_rules_of_the_envelope_hit_all_the_same(policy: Policy) -> None:
    for at in range(await steps(policy, HEAD + LONG)):
        result = await judged(policy, HEAD + LONG, Steps(at), "bad.example")
        assert result.verdict.action is Action.REJECT, at
        assert result.verdict.decided_by == "HELO"


async def test_what_stands_in_the_head_is_found_wherever_it_ends(policy: Policy) -> None:
    raw = HEAD + GTUBE + b"\r\n" + LONG
    for at in range(await steps(policy, raw)):
        assert (await judged(policy, raw, Steps(at))).verdict.decided_by == "GTUBE", at


async def test_what_was_found_of_the_whole_before_it_ended_counts(policy: Policy) -> None:
    raw = HEAD + LONG + GTUBE + b"\r\n"
    last = await judged(policy, raw, Steps(await steps(policy, raw) - 1))
    assert (last.verdict.decided_by, last.verdict.action) == ("GTUBE", Action.REJECT)
    assert "scan-unfinished" in names(last)
    first = await judged(policy, raw, Steps(0))
    assert first.verdict.action is Action.SPAM, "nobody had read so far"


async def test_a_head_that_takes_as_much_again_is_the_callers_to_answer(policy: Policy) -> None:
    with pytest.raises(OverBudgetError):
        await judged(policy, HEAD + LONG, Steps(3, always=True))


async def test_enough_is_never_noticed(policy: Policy) -> None:
    result = await judged(policy, HEAD.replace(b"X-Mras: Ok\r\n", b"") + LONG, Steps(1_000_000))
    assert not names(result) & {"scan-unfinished", "message-truncated"}
    assert result.verdict.action is Action.ACCEPT
