"""What a process keeps of limits: the plan of one policy, and pasts for a day."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from oborona.accounts.limits.memory import KEPT, LimitMemory
from oborona.accounts.limits.usual import AccountPast
from oborona.policy.fact_table import SCHEMA
from oborona.policy.limit_table import LimitSubject
from oborona.policy.load import load_policy
from oborona.types import CounterPrefix, Shingle

ROOT: Final = Path(__file__).parents[3]


def test_a_past_is_kept_for_its_day_and_the_oldest_goes_first() -> None:
    memory = LimitMemory()
    for number in range(KEPT):
        memory.keep(1, Shingle(68, number), 5, AccountPast(float(number), 3))
    assert memory.past(1, Shingle(68, 0), 5) == AccountPast(0.0, 3)  # used last
    memory.keep(1, Shingle(68, KEPT), 5, AccountPast(None, 0))
    assert memory.past(1, Shingle(68, 1), 5) is None
    assert memory.past(1, Shingle(68, 0), 5) is not None
    assert memory.past(1, Shingle(68, 0), 6) is None
    assert memory.past(2, Shingle(68, 0), 5) is None


def test_the_limits_that_ship_need_two_reads_beside_the_scans_own() -> None:
    policy = load_policy(ROOT / "etc/policy.d", SCHEMA)
    memory = LimitMemory()
    plan = memory.plan(policy)
    assert memory.plan(policy) is plan
    assert [prefix for prefix, _ in plan.whole.reads] == [
        CounterPrefix.RECIPIENTS,
        CounterPrefix.FIRST,
        CounterPrefix.OUT,
    ]
    assert plan.early.limits == ()  # all are in shadow mode
    assert plan.subjects == (LimitSubject.ACCOUNT,)
