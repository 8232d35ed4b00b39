"""Who may run the hook's command is asked to, again where nobody does, and people are told once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.accounts.incidents.store import IncidentStore
from oborona.daemon.alarm.alarm import AlertDispatcher
from oborona.daemon.keeper.account_actions import AccountActions
from oborona.daemon.keeper.hook_notice import AGAIN_S, UNTAKEN_S, HookNotice
from oborona.telemetry.alert import Alert
from tests.daemon.alarm.test_alarm import alarmed
from tests.daemon.keeper.test_account_actions import BAN, JOE, NOW


class Site:
    """A keeper's actions, with a clock that a test moves, and the alerts of it."""

    def __init__(self, state: Path, alarm: AlertDispatcher) -> None:
        self.now = NOW
        self.told: list[Alert] = []
        self.state = state
        self.mark = state / state_files.HOOK_DUE
        self.alarm = alarm
        alarm.raise_ = self._note  # type: ignore[method-assign]
        self.actions = self.keeper()

    async def _note(self, alert: Alert) -> None:
        self.told.append(alert)

    def keeper(self) -> AccountActions:
        notice = HookNotice(self.state, self.alarm, lambda: self.now)
        return AccountActions(self.state, self.alarm, lambda: self.now, command=notice)

    async def later(self, seconds: float) -> None:
        self.now += seconds
        await self.actions.step()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[IncidentStore]:
    with IncidentStore(tmp_path / state_files.ACCOUNTS) as opened:
        opened.put([JOE], by="anna", now=NOW)
        yield opened


@pytest.fixture
async def site(tmp_path: Path, store: IncidentStore) -> AsyncIterator[Site]:
    async with alarmed() as alarm:
        made = Site(tmp_path, alarm)
        yield made
        made.actions.close()


async def test_a_ban_leaves_a_mark_and_what_was_run_leaves_none(
    site: Site, store: IncidentStore
) -> None:
    await site.later(0)
    assert not site.mark.exists()
    store.block(BAN, now=NOW)
    await site.later(2)
    assert site.mark.stat().st_mode & 0o777 == 0o600
    site.mark.unlink()
    (action,) = store.wanted()
    store.done(action.id, site.now)
    await site.later(2 * AGAIN_S)
    assert not site.mark.exists()
    assert site.told == []


async def test_what_was_killed_while_it_ran_is_asked_for_again(
    site: Site, store: IncidentStore
) -> None:
    store.block(BAN, now=NOW)
    await site.later(0)
    site.mark.unlink()
    await site.later(AGAIN_S - 1)
    assert not site.mark.exists(), "it may be running"
    await site.later(1)
    assert site.mark.exists()


async def test_what_failed_is_asked_for_when_its_time_has_come_and_told_after_the_third(
    site: Site, store: IncidentStore
) -> None:
    store.block(BAN, now=NOW)
    for number in range(1, 5):
        await site.later(0)
        (action,) = store.wanted()
        assert action.attempts == number - 1
        assert site.mark.exists()
        site.mark.unlink()
        store.failed(action.id, "nft: no such set", retry_at=site.now + action.pause_s)
        await site.later(action.pause_s - 1)
        assert not site.mark.exists()
        await site.later(1)
        assert [alert.kind for alert in site.told] == ["hook"] * (number >= 3)
    assert "nft: no such set" in site.told[0].text
    assert site.told[0].evidence == {"account": "joe", "action": action.id}


async def test_people_are_told_once_that_nobody_runs_it(site: Site, store: IncidentStore) -> None:
    store.block(BAN, now=NOW)
    await site.later(0)
    await site.later(UNTAKEN_S)
    assert site.told == []
    await site.later(AGAIN_S)
    await site.later(UNTAKEN_S)
    (alert,) = site.told
    assert alert.title == "nobody runs the hook's command"
    assert "systemctl enable --now oborona-hook.path" in alert.text
    site.mark.unlink()  # somebody does
    await site.later(AGAIN_S)
    await site.later(2 * UNTAKEN_S)
    assert len(site.told) == 2, "and then no more"


async def test_a_process_that_finds_a_mark_waits_before_it_tells(
    site: Site, store: IncidentStore
) -> None:
    store.block(BAN, now=NOW)
    await site.later(0)
    site.now += 2 * UNTAKEN_S
    another = site.keeper()
    await another.step()
    assert site.told == []
    site.now += UNTAKEN_S + 1
    await another.step()
    assert len(site.told) == 1
    another.close()


async def test_a_state_folder_that_takes_no_mark_is_said_and_ends_nothing(
    site: Site, store: IncidentStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.block(BAN, now=NOW)
    site.mark.symlink_to(site.state / "none" / "there")
    await site.later(0)
    assert "nobody is told of incidents" in caplog.messages
    site.mark.unlink()
    await site.later(2)
    assert site.mark.exists()
