"""Appends journal entries for a test that kills it:
`python -m tests.journal.spooling_program FILE WORKER BATCH_S`.

It prints the id of each message when both its entry and where its copy went are appended, as who
answers a mail server would then do.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from oborona.ident import JournalIdGenerator
from oborona.journal.entry import CopyDelivery
from oborona.journal.journal import JournalWriter
from tests.journal.entries import make_entry


async def main(path: Path, worker: int, batch_s: float) -> None:
    """Append until killed."""
    numbers = JournalIdGenerator(worker)
    async with await JournalWriter.open(path, batch_s=batch_s) as journal:
        journal.append_policy("3f2a9c1b", {"MASS_TEXT": "x"})
        while True:
            now = time.time()
            ident = numbers.next(now)
            journal.append(make_entry(id=ident, time=now))
            journal.append_went(
                CopyDelivery(id=ident, recipient="joe@example.test", spam=False, time=now)
            )
            print(ident, flush=True)
            await asyncio.sleep(0.001)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
