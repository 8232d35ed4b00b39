"""Damaged mail through a running daemon.

The same in large: `python -m tests.whole.mutated 200000`.
"""

from __future__ import annotations

from tests.whole.mutated import trial

MESSAGES = 600


def test_damaged_mail_is_answered_and_leaves_nothing_behind() -> None:
    found = trial(MESSAGES, clients=3, seed=7)
    assert found.problems == []
    assert sum(found.answers.values()) == MESSAGES
