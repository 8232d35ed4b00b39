"""Refusals for tests."""

from __future__ import annotations

from itertools import count
from typing import Any

from oborona.ident import first_id_at
from oborona.journal.refusal import Refusal, Told
from oborona.types import Action, RuleHit, Stage
from tests.journal.entries import NOON

_numbers = count(1)  # in order of time whichever test came before, as a generator's are not


def make_refusal(**changes: Any) -> Refusal:
    """Return a usual refusal, with a new reference for its time unless one is given."""
    when = changes.get("time", NOON)
    usual: dict[str, Any] = {
        "id": first_id_at(when) + next(_numbers),
        "time": when,
        "stage": Stage.CONNECT,
        "told": Told.RECIPIENT,
        "verdict": Action.REJECT,
        "score": 120.0,
        "line": 100.0,
        "decided_by": "ZEN",
        "client_ip": "198.51.100.7",
        "helo": "mail.example.org",
        "sender": "ann@example.org",
        "recipients": ("joe@example.test",),
        "rules": (RuleHit(name="ZEN", score=120.0, say="127.0.0.2"),),
        "policy_version": "3f2a9c1b",
    }
    return Refusal(**usual | changes)
