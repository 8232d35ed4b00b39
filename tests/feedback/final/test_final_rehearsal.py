"""Sorted mail through the real scan: what is known of a message is what was known before it
came.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.counters.memory import MemoryCounters
from oborona.feedback.final.backtest import Backtest, BacktestResult, SortedMessage
from oborona.message.shingles import Hasher
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.scan import ScanSite

POLICY = """
[[rule]]
name = "CASINO"
when = "'casino.example' in links.domains"
score = 120
"""


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    (tmp_path / "one.toml").write_text(POLICY)
    return load_policy(tmp_path, SCHEMA)


LEAST = 20
SITE = ScanSite(name="mx.example", hasher=Hasher(b"k" * 32), counters=MemoryCounters())


def letter(number: int, *, spam: bool, sender: str = "") -> SortedMessage:
    words = "win the casino jackpot now" if spam else "minutes of the meeting attached below"
    who = sender or ("seller@spam.example" if spam else "ann@a.example")
    text = (
        f"From: {who}\r\nSubject: {words} {number}\r\n\r\n{words} {number}, dear reader of "
        f"this letter of ours.\r\n"
    )
    return SortedMessage(f"mail/{number}", text.encode(), spam, 0.0)


async def run(
    policy: Policy, mail: list[SortedMessage], *, delay: int = 0, share: float = 1.0
) -> list[BacktestResult]:
    rehearsal = Backtest(SITE, policy, delay=delay, share=share, least=LEAST)
    return [await rehearsal.take(one) for one in mail]


def places(rehearsed: list[BacktestResult], name: str, policy: Policy) -> list[float]:
    place = Backtest(SITE, policy, delay=0, share=0.0, least=LEAST).observer.names.index(name)
    return [float(seen.example.numbers[place]) for seen in rehearsed]


async def test_a_message_counts_for_those_after_it_and_not_for_itself(policy: Policy) -> None:
    seen = await run(policy, [letter(number, spam=False) for number in range(4)])
    assert places(seen, "count[From].day.seen", policy) == [0, 1, 2, 3]


async def test_the_content_model_speaks_of_what_it_was_taught_before(policy: Policy) -> None:
    mail = [letter(number, spam=number % 2 == 0) for number in range(2 * LEAST + 6)]
    seen = await run(policy, mail)
    for number, one in enumerate(seen):
        assert (one.opinion.spam_learned, one.opinion.ham_learned) == (
            (number + 1) // 2,
            number // 2,
        )
        assert (one.opinion.probability is None) == (number < 2 * LEAST)
        assert one.scan.facts.model_content == one.opinion.probability


async def test_peoples_word_comes_after_its_delay_and_only_of_the_share_that_says_one(
    policy: Policy,
) -> None:
    mail = [letter(number, spam=number % 2 == 0) for number in range(40)]
    late = await run(policy, mail, delay=10)
    assert [seen.opinion.spam_learned + seen.opinion.ham_learned for seen in late] == [
        max(0, n - 10) for n in range(40)
    ]
    few = await run(policy, mail, share=0.2)
    assert 0 < few[-1].opinion.spam_learned + few[-1].opinion.ham_learned < 20
    none = await run(policy, mail, share=0.0)
    assert none[-1].opinion.spam_learned == 0


async def test_a_wrong_verdict_is_complained_of_and_a_right_one_is_not(policy: Policy) -> None:
    missed = [letter(number, spam=True) for number in range(3)]
    assert places(await run(policy, missed), "count[From].fortnight.complaints", policy) == [
        0,
        1,
        2,
    ]
    good = [letter(number, spam=False) for number in range(3)]
    assert places(await run(policy, good), "count[From].fortnight.complaints", policy) == [0, 0, 0]


async def test_time_never_runs_back(policy: Policy) -> None:
    mail = [
        letter(number, spam=False)._replace(time=when)
        for number, when in enumerate((1e9, 9e8, 0.0, 1e9 + 5))
    ]
    seen = await run(policy, mail)
    assert places(seen, "count[From].day.seen", policy) == [0, 1, 2, 3]  # all within one day


async def test_twice_the_same_mail_is_seen_as_the_same(policy: Policy) -> None:
    mail = [letter(number, spam=number % 3 == 0) for number in range(60)]
    first, second = [await run(policy, mail, delay=3, share=0.5) for _ in range(2)]
    for one, other in zip(first, second, strict=True):
        assert one.example.numbers.tobytes() == other.example.numbers.tobytes()
        assert one.example.marks == other.example.marks


@pytest.mark.parametrize(
    "raw",
    [b"", b"\0" * 1000, b"From: \xff\xfe\r\n" * 500, b"Subject: x\r\n\r\n" + b"<a href=" * 5000],
)
async def test_broken_mail_is_an_example_like_any_other(policy: Policy, raw: bytes) -> None:
    (seen,) = await run(policy, [SortedMessage("broken", raw, True, 0.0)])
    assert seen.example.spam
