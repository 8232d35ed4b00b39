"""Some damaged states, each with a daemon started on it.

`python -m tests.whole.damage N` makes any number of others.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.whole.damage import damaged, left_by_a_kill, targets

STATES = 20
# which these are is chance, and the same each time as long as the files of a state are
FIRST = 1000


@pytest.fixture(scope="module")
def whole() -> Iterator[Path]:
    with left_by_a_kill() as state:
        yield state


def test_the_state_has_what_a_killed_daemon_leaves(whole: Path) -> None:
    found = set(targets(whole))
    assert {"journal.db", "journal.db-wal", "personal.db", "counters/data.mdb", "secret"} <= found
    assert any(one.startswith("counters/spool/") for one in found)


@pytest.mark.parametrize("number", range(FIRST, FIRST + STATES))
def test_a_damaged_state_serves_or_refuses_in_a_line(whole: Path, number: int) -> None:
    came = damaged(whole, number)
    assert not came.fault, came
