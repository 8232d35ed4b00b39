"""Excesses that are judged together leave what they leave one by one."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.accounts.excess import Excess
from oborona.accounts.excess_runs import ExcessRuns
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.decision import InspectorRules
from oborona.accounts.inspector.inspector import Inspector
from oborona.policy.account_tests import AccountTests

NOW = 1_795_000_000.0
EXCESSES = st.builds(
    Excess,
    account=st.sampled_from(["joe", "JOE", "ann"]),
    limit=st.sampled_from(["A", "B"]),
    metric=st.just("recipients"),
    window=st.sampled_from(["recent", "hour"]),
    value=st.integers(1, 9).map(float),
    most=st.just(1.0),
    at=st.integers(-80, 80).map(lambda minutes: NOW + 60.0 * minutes),
    shadow=st.booleans(),
)


def left(excesses: list[Excess], *, together: bool) -> list[tuple[object, ...]]:
    with tempfile.TemporaryDirectory() as folder, IncidentStore(Path(folder) / "a.db") as store:
        inspector = Inspector(
            store, lambda: AccountTests([]), InspectorRules(), live=True, clock=lambda: NOW
        )
        with store.transaction():
            if together:
                for run in ExcessRuns(excesses):
                    inspector.take_run(run)
            else:
                for excess in excesses:
                    inspector.take(excess)
        return [
            (one.account, one.limit, one.opened, one.last, one.excesses, one.value, one.line)
            for one in store.incidents()
        ]


@settings(max_examples=25, deadline=None)
@given(st.lists(EXCESSES, max_size=12))
def test_together_is_as_one_by_one(excesses: list[Excess]) -> None:
    assert left(excesses, together=True) == left(excesses, together=False)


def test_a_crowd_is_few_runs() -> None:
    first = Excess(
        account="joe", limit="A", metric="recipients", window="recent", value=1, most=1, at=NOW
    )
    crowd = [
        Excess(
            account="Joe",
            limit="A",
            metric="recipients",
            window="recent",
            value=n,
            most=1,
            at=NOW + n,
        )
        for n in range(1_000)
    ]
    runs = list(ExcessRuns([first, *crowd]))
    assert [(run.times, run.value, run.last - NOW) for run in runs] == [
        (602, 600.0, 600.0),
        (399, 999.0, 999.0),
    ]
