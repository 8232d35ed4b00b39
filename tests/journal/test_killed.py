"""Killed anywhere (SIGKILL), the index loses nothing of the journal, and a move is made once: not
twice, not never.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from oborona.journal import schema
from oborona.journal.index.index import JournalIndex
from oborona.recheck.moves import MoveState, MoveStore
from tests.journal.entries import NOON
from tests.journal.index.test_index import HOT, all_of, follow_all, ids_of, messages, write
from tests.recheck import killed_moves
from tests.recheck.killed_moves import COPIES

ROOT = Path(__file__).parents[2]


def test_a_killed_follower_leaves_an_index_that_the_next_one_makes_whole(tmp_path: Path) -> None:
    schema.prepare(tmp_path / "journal.db")
    sent = []
    for round_ in range(3):
        more = messages(400, start=NOON + 7 * round_, every_s=0.01, own=1000 * round_)
        sent += more
        write(tmp_path / "journal.db", more)
        command = [sys.executable, "-m", "tests.journal.index.killed_index", str(tmp_path)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                # all was flushed and merged on its way
                assert process.stdout.readline() == "followed\n"
                if round_ % 2:
                    more = messages(
                        400, start=NOON + 7 * round_ + 5, every_s=0.01, own=1000 * round_ + 500
                    )
                    sent += more
                    # and is now followed, in twenty steps or so
                    write(tmp_path / "journal.db", more)
            finally:
                process.send_signal(signal.SIGKILL)
            assert process.wait(timeout=30) == -signal.SIGKILL
    with JournalIndex(tmp_path / "index", tmp_path / "journal.db") as index:
        follow_all(index, NOON)
        assert all_of(index, HOT, most=500) == ids_of(sent)
        assert index.rows == 2 * len(sent)


@pytest.mark.parametrize(
    ("point", "moved", "issued"),
    [("decided", 0, 0), ("issued", 0, 3), ("asked", 2, 3), ("moved", 3, 3), ("settled", 3, 2)],
)
def test_a_killed_mover_is_followed_by_one_who_makes_each_move_once(
    tmp_path: Path, point: str, moved: int, issued: int
) -> None:
    file, mailbox = tmp_path / "recheck.db", tmp_path / "mailbox"
    mailbox.mkdir()
    command = [sys.executable, "-m", "tests.recheck.killed_moves", str(file), str(mailbox), point]
    assert subprocess.run(command, cwd=ROOT, timeout=60, check=False).returncode == -signal.SIGKILL
    with MoveStore(file) as moves:  # what it has left: it died where it should
        assert (len(list(mailbox.iterdir())), len(moves.issued())) == (moved, issued)
    killed_moves.main(file, mailbox, "never")
    assert [one.read_bytes() for one in mailbox.iterdir()] == [b"."] * COPIES
    with MoveStore(file) as moves:
        assert moves.counted() == {MoveState.DONE: COPIES}
        assert [one.tries for one in moves.last(100)] == [1] * COPIES
