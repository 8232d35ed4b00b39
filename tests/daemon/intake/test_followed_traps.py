"""What the door for reports follows: the traps of the policy folder, and the journal, which may be
begun later or be away.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.daemon.intake.followed_traps import LOOK_S, FollowedTraps
from oborona.errors import StoreError
from oborona.journal.entry_finder import LazyEntryFinder
from oborona.journal.journal import JournalWriter
from tests.daemon.intake.test_mail_events import SENT, SENT_ENTRY


class Clock:
    """Seconds that a test lets pass."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_traps_follow_their_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock, traps = Clock(), FollowedTraps(tmp_path)
    base = tmp_path / "10-base.toml"
    base.write_text("[verdict]\nspam_score = 100\n[traps]\naddresses = ['a@b.example']\n")
    assert traps.now(clock).has("a@b.example")
    own = tmp_path / "90-local.toml"
    own.write_text("[traps]\naddresses = ['c@b.example']\nfiles = ['t.list']\n")
    (tmp_path / "t.list").write_text("d@b.example\n")
    assert traps.now(clock).has("a@b.example"), "it looks every now and then"
    clock.now += LOOK_S
    assert not traps.now(clock).has("a@b.example")
    assert traps.now(clock).has("c@b.example")
    assert traps.now(clock).has("d@b.example")
    assert not caplog.messages
    own.write_text("[traps]\naddresses = ['nobody']\n")
    for _ in range(3):
        clock.now += LOOK_S
        assert traps.now(clock).has("c@b.example"), "what can't be used changes nothing"
    assert caplog.messages == ["the traps stay as they were"], "and is said once"
    own.unlink()
    clock.now += LOOK_S
    assert traps.now(clock).has("a@b.example")


def test_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert not len(FollowedTraps(tmp_path / "none").now(Clock()))


async def test_the_journal_is_opened_when_it_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    entries = LazyEntryFinder(path)
    with pytest.raises(StoreError):
        await entries.get(SENT)
    async with await JournalWriter.open(path, batch_s=0.01) as journal:
        journal.append(SENT_ENTRY)
    try:
        found = await entries.get(SENT)
        assert found is not None
        assert found.recipients == SENT_ENTRY.recipients
        assert await entries.find(message_id="sent@b.example") == [SENT]
        assert await entries.get(5) is None
    finally:
        await entries.close()
    await entries.close()
