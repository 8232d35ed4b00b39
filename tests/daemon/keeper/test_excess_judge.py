"""Excesses of the workers reach the inspector in the keeper: each once, whenever it is killed."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from oborona import state_files
from oborona.accounts.account import AccountRecord, AccountState
from oborona.accounts.excess import Excess
from oborona.accounts.excess_spool import NEW, ExcessSpool, TakenExcesses
from oborona.accounts.incidents.incident import ActionKind, ActionState, IncidentVerdict
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.inspector import Inspector
from oborona.config.inspector import InspectorSettings
from oborona.daemon.keeper import excess_judge
from oborona.daemon.keeper.excess_judge import ExcessJudge
from oborona.daemon.keeper.policy_in_force import PolicyInForce

NOW = 1_795_000_000.0
LOW = """
[[account_test]]
name = "ALL"
when = "incidents.spam_month >= 0"
penalty = 90
say = "everybody"
"""


class KeptState:
    """A state folder whose workers write excesses down, and a keeper of it."""

    def __init__(self, folder: Path) -> None:
        self.state = folder
        self.policy = folder / "policy.d"
        self.policy.mkdir()
        (self.policy / "10.toml").write_text(LOW)
        self.spool = ExcessSpool(folder / state_files.EXCESSES)

    def judge(self, *, live: bool = True) -> ExcessJudge:
        settings = InspectorSettings(mode="live" if live else "shadow")
        in_force = PolicyInForce(self.state, self.policy)
        return ExcessJudge(self.state, settings, in_force, lambda: NOW)

    def put(self, account: str = "joe", **fields: Any) -> None:
        told: dict[str, Any] = {"limit": "HOURLY", "metric": "recipients", "window": "hour"}
        told |= {"value": 900.0, "most": 200.0, "at": NOW}
        self.spool.take(Excess(account=account, **told | fields))

    def found(self) -> list[tuple[str, int]]:
        """Return incidents in their order: whose, and of how many excesses."""
        with IncidentStore(self.state / state_files.ACCOUNTS) as store:
            return [(one.account, one.excesses) for one in reversed(store.incidents())]

    @property
    def left(self) -> list[Path]:
        return list((self.state / state_files.EXCESSES).iterdir())


@pytest.fixture
def site(tmp_path: Path) -> KeptState:
    made = KeptState(tmp_path)
    with IncidentStore(tmp_path / state_files.ACCOUNTS) as store:
        store.put(
            [AccountRecord(id=name, logins=(name,), since=NOW - 86_400) for name in ("joe", "ann")],
            by="anna",
            now=NOW,
        )
    return made


async def test_excesses_of_one_account_limit_and_window_are_one_incident_and_it_is_banned(
    site: KeptState,
) -> None:
    for number in range(5):
        site.put(value=900.0 + number)
    site.put("ann", shadow=True)
    judge = site.judge()
    await judge.step()
    site.put(at=NOW + 60)
    site.put(limit="DAILY", window="day")
    await judge.step()
    assert site.found() == [("joe", 6), ("ann", 1), ("joe", 1)]
    assert site.left == []
    with IncidentStore(site.state / state_files.ACCOUNTS) as store:
        first, shadow, _ = reversed(store.incidents())
        assert (first.value, first.rating, first.line) == (904.0, 10, "ban")
        done = {one.kind: one.state for one in store.actions(first.id)}
        assert done[ActionKind.BAN] is ActionState.DONE
        done = {one.kind: one.state for one in store.actions(shadow.id)}
        assert done[ActionKind.BAN] is ActionState.SHADOW
        joe, ann = store.find("joe"), store.find("ann")
        assert joe is not None
        assert ann is not None
        assert (joe.state(NOW), ann.state(NOW)) == (AccountState.BANNED, AccountState.OPEN)


async def test_a_site_that_has_imported_nobody_has_incidents_and_bans_nobody(
    tmp_path: Path,
) -> None:
    site = KeptState(tmp_path)
    await site.judge().step()
    assert not (tmp_path / state_files.ACCOUNTS).exists()
    site.put()
    await site.judge().step()
    assert site.found() == [("joe", 1)]
    with IncidentStore(tmp_path / state_files.ACCOUNTS) as store:
        assert store.blocked(NOW) == {}


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, call: int) -> Iterator[None]:
    """Have this process killed when something is called for the so manieth time."""
    real: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def called(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, called)
        yield


def killed(site: KeptState, when: AbstractContextManager[None]) -> None:
    """Be a keeper that is killed."""
    child = os.fork()
    if child == 0:
        try:
            with when:
                asyncio.run(site.judge().step())
        finally:
            os._exit(1)  # it was to be killed
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [
        (Inspector, "take", 1),
        (Inspector, "take", 2),
        (Inspector, "take", 5),  # in the third transaction
        (IncidentStore, "note_judged", 1),
        (IncidentStore, "note_judged", 3),
        (TakenExcesses, "lines", 4),  # all is judged
        (TakenExcesses, "remove", 1),
    ],
)
async def test_a_kill_anywhere_loses_none_and_judges_none_twice(
    owner: type, name: str, call: int, site: KeptState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excess_judge, "AT_ONCE", 4)  # lines; every other one is empty
    for account in ("joe", "ann", "joe", "ann", "joe", "ann"):
        site.put(account)
    killed(site, killed_at(monkeypatch, owner, name, call))
    site.put("joe")
    judge = site.judge()
    await judge.step()
    await judge.step()
    assert site.found() == [("joe", 4), ("ann", 3)]
    assert site.left == []


async def test_an_incident_that_was_closed_is_not_opened_again_after_a_kill(
    site: KeptState, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.put()
    killed(site, killed_at(monkeypatch, TakenExcesses, "remove", 1))
    with IncidentStore(site.state / state_files.ACCOUNTS) as store:
        store.close_incident(1, IncidentVerdict.NOT_SPAM, by="anna", note="", now=NOW)
    await site.judge().step()
    assert site.found() == [("joe", 1)]


async def test_lines_that_are_no_excess_hold_up_no_other(
    site: KeptState, caplog: pytest.LogCaptureFixture
) -> None:
    site.put("bad\x1bname")
    with (site.state / state_files.EXCESSES / NEW).open("ab") as file:
        file.write(b'{"account":"to\n' + b"[" * 100_000 + b"\n\xff\xfe\n{}\n")
    site.put()
    await site.judge().step()
    assert site.found() == [("joe", 1)]
    said = [one for one in caplog.records if one.getMessage() == "an excess can't be judged"]
    assert len(said) == 6  # the line that is too long, in two pieces


async def test_a_fault_in_one_excess_is_undone_and_holds_up_no_other(
    site: KeptState, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = Inspector.take

    def faulty(inspector: Inspector, excess: Excess) -> None:
        real(inspector, excess)
        if excess.account == "eve":
            raise KeyError("a fault")

    monkeypatch.setattr(Inspector, "take", faulty)
    for account in ("joe", "eve", "ann"):
        site.put(account)
    await site.judge().step()
    assert site.found() == [("joe", 1), ("ann", 1)]
    assert "fault in judging an excess" in [one.getMessage() for one in caplog.records]


async def test_what_can_not_be_judged_waits_and_is_said_once(
    site: KeptState, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    path = site.state / state_files.ACCOUNTS
    whole = path.read_bytes()
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    site.put()
    judge = site.judge()
    await judge.step()
    await judge.step()
    assert [one.getMessage() for one in caplog.records] == ["excesses wait to be judged"]
    path.write_bytes(whole)
    await judge.step()
    assert caplog.records[-1].getMessage() == "excesses are judged again"
    assert site.found() == [("joe", 1)]


async def test_while_the_policy_is_wrong_accounts_are_rated_by_the_one_before(
    site: KeptState,
) -> None:
    judge = site.judge()
    site.put()
    await judge.step()
    (site.policy / "10.toml").write_text("[[account_test]]\nname = 1")
    site.put("ann")
    await judge.step()
    assert site.found() == [("joe", 1), ("ann", 1)]
    site.put("eve")
    new = site.judge()  # that knows none
    await new.step()
    assert len(site.found()) == 2
    (site.policy / "10.toml").write_text(LOW)
    await new.step()
    assert site.found()[2:] == [("eve", 1)]
