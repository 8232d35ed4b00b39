"""A follower of a journal that is to be killed:
`python -m tests.journal.index.killed_index FOLDER`.

Flushes and merges as fast as it can, and says `followed` each time that it has followed everything
there is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from oborona.journal.index.index import FLUSH_S, JournalIndex
from tests.journal.entries import NOON

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with JournalIndex(folder / "index", folder / "journal.db") as index:
        now = NOON
        while True:
            now += FLUSH_S  # each step flushes what the one before has followed
            if not index.follow(now, most=20) and not index.busy:
                print("followed", flush=True)
