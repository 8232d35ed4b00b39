"""Journal entries for tests, and a process that writes them:
`python -m tests.journal.entries FILE WORKER NUMBER`.

The writer prints the number of entries that are committed, after each flush.
"""

from __future__ import annotations

import asyncio
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

from oborona.ident import JournalIdGenerator
from oborona.journal.entry import JournalEntry
from oborona.journal.journal import JournalWriter
from oborona.types import Action, Finding, RuleHit, Shingle

NOON = 1_750_000_000.0


@cache
def _numbers(_day: int) -> JournalIdGenerator:
    """Return what numbers the entries of a day: one for all would go on behind the latest."""
    return JournalIdGenerator(255)


def make_entry(**changes: Any) -> JournalEntry:
    """Return a usual entry, with a new id for its time unless one is given."""
    when = changes.get("time", NOON)
    usual: dict[str, Any] = {
        "id": _numbers(int(when // 86_400)).next(when),
        "time": when,
        "verdict": Action.SPAM,
        "score": 130.5,
        "line": 100.0,
        "decided_by": "MASS_TEXT",
        "queue_id": "4Xk2mT0gZ9z",
        "message_id": "<1234@mail.example.org>",
        "client_ip": "198.51.100.7",
        "helo": "mail.example.org",
        "sender": "ann@example.org",
        "recipients": ("joe@example.test", "eve@example.test"),
        "login": "",
        "size": 4321,
        "subject": "Встреча в пятницу",
        "rules": (RuleHit(name="MASS_TEXT", score=30.0, say="seen 412 in 1h"),),
        "findings": (Finding("hidden-text", "12% of 300"),),
        "facts": {
            "text.words": 120,
            "text.share": 0.25,
            "from.free": True,
            "subject.text": "x",
            "found": ["a"],
        },
        "shingles": (Shingle(1, 2**64 - 1), Shingle(75, 0)),
        "policy_version": "3f2a9c1b",
        "partial": True,
    }
    return JournalEntry(**usual | changes)


async def _write(path: Path, worker: int, number: int) -> None:
    numbers = JournalIdGenerator(worker)
    async with await JournalWriter.open(path, batch_s=0.01) as journal:
        for done in range(number):
            now = time.time()
            journal.append(make_entry(id=numbers.next(now), time=now, queue_id=f"W{worker}N{done}"))
            if done % 20 == 19:
                await journal.flush()
                print(done + 1, flush=True)


if __name__ == "__main__":
    asyncio.run(_write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
