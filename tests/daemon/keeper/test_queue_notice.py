"""When the keeper asks for the queue to be looked to: at a ban, its end, now and then meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona import state_files
from oborona.accounts.account import AccountBlock, AccountState
from oborona.accounts.import_lines import account_record
from oborona.accounts.queue_holds import QueueHold
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.queue_holds import QueueHoldStore
from oborona.daemon.keeper.queue_notice import NOW_AND_THEN_S, SOON_S, QueueNotice

JOE = "joe@example.com"


class Site:
    """A state folder with one account, and its keeper's notice."""

    def __init__(self, state: Path) -> None:
        self.mark = state / state_files.QUEUE_DUE
        self.now = 1_800_000_000.0
        self.path = state / state_files.ACCOUNTS
        with AccountStore(self.path) as store:
            store.put([account_record(JOE)], by="test", now=self.now)
        self.notice = QueueNotice(state, lambda: self.now)

    def block(self, state: AccountState, until: float = 0.0) -> None:
        with AccountStore(self.path) as store:
            block = AccountBlock(account=JOE, state=state, until=until, why="stolen")
            store.block(block, now=self.now)

    def unban(self) -> None:
        with AccountStore(self.path) as store:
            store.unblock(JOE, by="test", why="changed", now=self.now)

    async def marked(self, after_s: float = 0.0) -> bool:
        """Whether a step after so long leaves a mark, which is taken."""
        self.now += after_s
        await self.notice.step()
        found = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return found


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


async def test_a_ban_and_its_end_are_marked_and_soon_once_more(site: Site) -> None:
    assert not await site.marked()
    site.block(AccountState.BANNED)
    assert await site.marked()
    assert not await site.marked(1)
    assert await site.marked(SOON_S)
    assert not await site.marked(SOON_S)
    site.unban()
    assert await site.marked()
    assert await site.marked(SOON_S)
    assert not await site.marked(10 * NOW_AND_THEN_S)


async def test_a_ban_that_ends_by_itself_is_marked_at_its_end(site: Site) -> None:
    site.block(AccountState.BANNED, until=site.now + 100)
    assert await site.marked()
    assert await site.marked(SOON_S)
    assert not await site.marked(80)
    assert await site.marked(10)


async def test_while_somebody_is_banned_it_is_marked_now_and_then(site: Site) -> None:
    site.block(AccountState.BANNED)
    assert await site.marked()
    assert await site.marked(SOON_S)
    assert await site.marked(NOW_AND_THEN_S)
    assert await site.marked(NOW_AND_THEN_S)


async def test_who_is_put_off_has_nothing_held(site: Site) -> None:
    await site.marked()
    site.block(AccountState.LIMITED)
    assert not await site.marked()


async def test_a_keeper_that_starts_marks_what_the_one_before_it_may_have_missed(
    site: Site,
) -> None:
    with QueueHoldStore(site.path.with_name(state_files.QUEUE_HOLDS)) as store:
        hold = QueueHold(queue_id="4hG5kz1nYwzB9x", since=site.now, account=JOE)
        store.put([hold])
    assert await site.marked(), "it was banned, and is open"


async def test_a_damaged_file_is_said_once_and_looked_at_again(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    whole = site.path.read_bytes()
    site.path.write_bytes(b"no database" * 1000)
    for _ in range(3):
        assert not await site.marked(1)
    said = [one for one in caplog.records if "stays in the queue" in one.getMessage()]
    assert len(said) == 1
    site.path.write_bytes(whole)
    site.block(AccountState.BANNED)
    assert await site.marked(1)
