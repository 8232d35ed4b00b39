"""Accounts are one for all machines of a site: what is said on one is in force on all, an incident
is opened once, told once, and while the log is away each machine stops whom it must.
"""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.accounts.account import AccountRecord, AccountState
from oborona.accounts.followed_accounts import FollowedAccounts
from oborona.accounts.incidents.incident import ActionKind, ActionState
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.queue_holds import QueueHold
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.answers import GivenAnswer, RepeatKey, answer_once
from oborona.accounts.store.queue_holds import QueueHoldStore, queue_holds
from oborona.accounts.store.rows import DeedKind
from oborona.daemon.keeper import lone_judge
from oborona.daemon.keeper.account_actions import AccountActions
from oborona.daemon.keeper.run import ACCOUNT_TURN
from oborona.daemon.site.departure import leave_site
from oborona.daemon.site.membership import begin_site, join_site
from oborona.daemon.site.turn import SiteTurn
from oborona.replication.link import FIRST, link_path, read_link
from oborona.replication.log import LogUnreachableError
from tests.daemon.alarm.test_alarm import Hook, alarmed, hooked
from tests.peers.postgresql import Postgresql
from tests.replication.account_machine import NOW, AccountMachine
from tests.replication.cut_line import CutLine
from tests.replication.machines import dump, following, new_state, two_machines
from tests.replication.test_faults import through

BANNED, LIMITED = AccountState.BANNED, AccountState.LIMITED


@pytest.fixture
def machines(tmp_path: Path, postgresql: Postgresql) -> tuple[AccountMachine, AccountMachine]:
    first, second = map(AccountMachine, two_machines(tmp_path, postgresql.address))
    known = [AccountRecord(id=name, logins=(name,), since=NOW - 86_400) for name in ("joe", "ann")]
    first.ask(lambda store: store.put(known, by="anna", now=NOW))
    second.follow()
    return first, second


@pytest.fixture
def cut(
    machines: tuple[AccountMachine, AccountMachine], postgresql: Postgresql
) -> Iterator[CutLine]:
    """The line of the first machine to the log."""
    with CutLine(postgresql.port) as line:
        through(machines[0].state, line)
        yield line


def wait_for(ready: Callable[[], bool], within_s: float = 20.0) -> None:
    deadline = time.monotonic() + within_s
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def equal(first: AccountMachine, second: AccountMachine) -> bool:
    return dump(first.state, state_files.ACCOUNTS) == dump(second.state, state_files.ACCOUNTS)


def test_a_ban_said_on_one_is_in_force_on_the_other_and_a_pardon_said_there_opens_both(
    machines: tuple[AccountMachine, AccountMachine],
) -> None:
    first, second = machines
    with (
        following(first.state),
        following(second.state),
        closing(FollowedAccounts(second.path)) as worker,
    ):

        def blocked() -> bool:
            worker.look()
            return worker.of("JOE", NOW) is not None

        worker.look()
        assert worker.directory.sender("ann", "") is not None
        first.order(DeedKind.BAN)
        wait_for(blocked)
        assert second.asks_for_queue(), "each machine looks to its own queue"
        second.order(DeedKind.UNBAN)
        wait_for(lambda: first.refuses() is None)
        wait_for(lambda: not blocked())
        assert second.asks_for_queue()
        second.order(DeedKind.TRUST, until=NOW + 60)
        wait_for(lambda: first.trusts("joe"))
        second.order(DeedKind.LIMIT, "eve@b.example")  # born on that machine
        wait_for(lambda: first.refuses("eve@b.example") is LIMITED)
        assert [one.what for one in first.ask(lambda store: store.deeds("joe"))] == [
            DeedKind.IMPORT,
            DeedKind.BAN,
            DeedKind.UNBAN,
            DeedKind.TRUST,
        ]
        wait_for(lambda: equal(first, second))


def test_an_incident_is_opened_once_whichever_machines_see_it(
    machines: tuple[AccountMachine, AccountMachine], postgresql: Postgresql
) -> None:
    first, second = machines
    for machine in machines:
        for number in range(150):
            machine.exceed(value=900.0 + number, at=NOW + number / 10)
        machine.exceed("ann", shadow=True)
    before = postgresql.rows("SELECT count(*) FROM oborona.change")[0][0]
    with ThreadPoolExecutor(2) as threads:  # at the same moment
        for _ in threads.map(AccountMachine.judge_all, machines):
            pass
    changes = postgresql.rows("SELECT count(*) FROM oborona.change")[0][0] - before
    assert changes == 4, "a hundred excesses at a time"
    first.follow()
    second.follow()
    assert equal(first, second)
    assert [(one.account, one.excesses, one.value) for one in first.incidents()] == [
        ("joe", 300, 1049.0),
        ("ann", 2, 900.0),
    ]
    bans = first.ask(lambda store: [(one.kind, one.state) for one in store.actions(1)])
    assert bans.count((ActionKind.BAN, ActionState.DONE)) == 1
    assert first.refuses() is second.refuses() is BANNED
    assert first.refuses("ann") is None


def test_each_machine_knows_how_far_its_own_excesses_are_judged(
    machines: tuple[AccountMachine, AccountMachine],
) -> None:
    first, second = machines
    first.ask(lambda store: store.note_judged("1.taken", 100))
    second.ask(lambda store: store.note_judged("2.taken", 200))
    second.ask(lambda store: store.note_judged("3.taken", 300))
    first.follow()
    found = [first.ask(partial(IncidentStore.judged, file=f"{name}.taken")) for name in (1, 2, 3)]
    assert found == [100, 0, 300]


async def test_people_and_the_other_system_are_told_once_and_by_another_when_one_dies(
    machines: tuple[AccountMachine, AccountMachine],
) -> None:
    async with hooked(Hook()) as hook, alarmed() as alarm:
        with following(machines[0].state), following(machines[1].state), ExitStack() as stack:
            turns = [
                stack.enter_context(SiteTurn(one.state, state_files.ACCOUNTS, ACCOUNT_TURN))
                for one in machines
            ]
            actions = [
                AccountActions(one.state, alarm, lambda: NOW, hook=hook.url, is_mine=turn.is_mine)
                for one, turn in zip(machines, turns, strict=True)
            ]
            for one in actions:
                stack.callback(one.close)

            async def told(account: str, states: list[str]) -> None:
                deadline = time.monotonic() + 20
                while hook_states(hook, account) != states:
                    assert time.monotonic() < deadline
                    for one in actions:
                        await one.step()
                    await asyncio.sleep(0.02)

            await asyncio.to_thread(machines[0].order, DeedKind.BAN)
            await told("joe", ["banned"])
            assert sum(turn.is_mine() for turn in turns) == 1
            mine = next(number for number, turn in enumerate(turns) if turn.is_mine())
            await asyncio.to_thread(turns[mine].__exit__, None, None, None)
            await asyncio.to_thread(machines[mine].order, DeedKind.BAN, "ann")
            await told("ann", ["banned"])
            assert not turns[mine].is_mine()
            await asyncio.to_thread(machines[mine].order, DeedKind.UNBAN)
            await told("joe", ["banned", "open"])
            for one in actions:
                await one.step()
            assert len(hook.bodies) == 3


def hook_states(hook: Hook, account: str) -> list[str]:
    return [body["state"] for body in hook.bodies if body["account"] == account]


def test_what_a_ban_holds_is_each_machine_s_own_and_can_be_let_go_without_the_log(
    machines: tuple[AccountMachine, AccountMachine], cut: CutLine
) -> None:
    first, second = machines
    hold = QueueHold(queue_id="4hG5kz1nYwzB9x", since=NOW, account="joe")
    cut.closed = True
    for machine in machines:
        assert queue_holds(machine.state) == []
        assert not (machine.state / state_files.QUEUE_HOLDS).exists(), "nothing is made by a look"
    with QueueHoldStore(first.state / state_files.QUEUE_HOLDS) as holds:
        holds.put([hold])
        assert queue_holds(first.state) == [hold]
        assert queue_holds(second.state) == []
        holds.drop([hold.queue_id])
        assert holds.holds() == []


def test_what_an_older_oborona_has_held_is_taken_over_once(tmp_path: Path) -> None:
    state = new_state(tmp_path / "mx1")
    hold = QueueHold(queue_id="4hG5kz1nYwzB9x", since=NOW, account="joe", seen=True)
    with AccountStore(state / state_files.ACCOUNTS) as store, store.transaction() as db:
        db.execute("INSERT INTO queue_hold VALUES (?, ?, ?, ?)", msgspec.structs.astuple(hold))
    assert queue_holds(state) == [hold]
    path = state / state_files.QUEUE_HOLDS
    with QueueHoldStore(path) as holds:
        assert holds.holds() == [hold]
        holds.drop([hold.queue_id])
    assert queue_holds(state) == []
    with QueueHoldStore(path) as holds:
        assert holds.holds() == []


def test_the_same_request_told_to_two_machines_is_done_once(
    machines: tuple[AccountMachine, AccountMachine],
) -> None:
    key = RepeatKey("shop", "c17", "k", b"digest")

    def answered(machine: AccountMachine, body: bytes) -> GivenAnswer:
        with AccountStore(machine.path) as store:
            return answer_once(store, key, NOW, lambda: GivenAnswer(body, "joe"))

    given = [answered(machines[0], b"first"), answered(machines[1], b"second")]
    assert [(one.body, one.again) for one in given] == [(b"first", False), (b"first", True)]


def test_while_the_log_is_away_people_s_words_are_refused_and_nothing_is_done(
    machines: tuple[AccountMachine, AccountMachine], cut: CutLine
) -> None:
    first, _ = machines
    before = dump(first.state, state_files.ACCOUNTS)
    cut.closed = True
    with pytest.raises(LogUnreachableError, match="the site's log can't be reached"):
        first.order(DeedKind.BAN)
    assert dump(first.state, state_files.ACCOUNTS) == before
    assert first.refuses() is None


def test_while_the_log_is_away_the_inspector_stops_an_account_here_and_everywhere_afterwards(
    machines: tuple[AccountMachine, AccountMachine],
    cut: CutLine,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second = machines
    assert not first.asks_for_queue()
    before = dump(first.state, state_files.ACCOUNTS)
    cut.closed = True
    first.exceed()
    first.exceed("ann", shadow=True)
    first.judge_all()
    assert first.refuses() is BANNED
    assert first.refuses("ann") is None, "its limit is on trial"
    assert first.asks_for_queue(), "what it has in the queue is held, too"
    assert dump(first.state, state_files.ACCOUNTS) == before
    assert second.refuses() is None
    until = first.ask(lambda store: store.blocked(NOW))["joe"].until
    first.now += 60
    first.exceed("ann", limit="DAILY")
    first.judge_all()
    assert first.refuses("ann") is BANNED, "what came since"
    assert first.ask(lambda store: store.blocked(NOW))["joe"].until == until, "it is not put off"
    stopped = "an account is stopped on this machine alone until the site's log is there"
    assert [one.getMessage() for one in caplog.records].count(stopped) == 2
    assert [one.getMessage() for one in caplog.records].count("excesses wait to be judged") == 1

    first.judge = first.new_judge()  # the keeper was started again meanwhile
    first.judge_all()
    assert first.refuses() is first.refuses("ann") is BANNED

    cut.closed = False
    first.judge_all()
    assert not (first.state / state_files.ACCOUNTS_WAITING).exists()
    second.follow()
    assert equal(first, second)
    for machine in machines:
        assert machine.refuses() is machine.refuses("ann") is BANNED
        assert [(one.account, one.limit) for one in machine.incidents()] == [
            ("joe", "HOURLY"),
            ("ann", "HOURLY"),
            ("ann", "DAILY"),
        ]
    assert list((first.state / state_files.EXCESSES).iterdir()) == []


def test_what_was_said_elsewhere_meanwhile_counts_in_the_end(
    machines: tuple[AccountMachine, AccountMachine], cut: CutLine
) -> None:
    first, second = machines
    cut.closed = True
    first.exceed()
    first.judge_all()
    assert first.refuses() is BANNED
    second.order(DeedKind.TRUST)
    cut.closed = False
    first.judge_all()
    assert first.refuses() is None
    assert [one.line for one in first.incidents()] == ["trusted"]


def test_an_inspector_in_shadow_mode_stops_nobody_without_the_log(
    machines: tuple[AccountMachine, AccountMachine], cut: CutLine
) -> None:
    first, _ = machines
    cut.closed = True
    first.exceed()
    first.judge_all()
    assert first.refuses() is BANNED
    AccountMachine(first.state, live=False).judge_all()  # a person has set it, and started anew
    assert first.refuses() is None


def test_a_harder_word_that_is_written_down_stays(
    machines: tuple[AccountMachine, AccountMachine], cut: CutLine
) -> None:
    first, _ = machines
    first.order(DeedKind.LIMIT, until=NOW + 7200)
    first.order(DeedKind.BAN, "ann")
    cut.closed = True
    first.exceed()
    first.exceed("ann")
    first.judge_all()
    assert first.refuses() is first.refuses("ann") is BANNED
    assert first.ask(lambda store: store.blocked(NOW))["ann"].by == "anna"


def test_a_fault_or_nonsense_in_what_waits_stops_no_other(
    machines: tuple[AccountMachine, AccountMachine],
    cut: CutLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, _ = machines
    cut.closed = True
    spool = first.state / state_files.EXCESSES
    first.exceed("\x1b")
    with (spool / "new").open("ab") as file:
        file.write(b"[" * 100_000 + b"\n{}\n\xff\n")
    first.exceed()
    with (spool / "new").open("ab") as file:
        file.write(b'{"account": "an')  # a line that is being written
    first.judge_all()
    assert first.refuses() is BANNED
    monkeypatch.setattr(lone_judge, "MOST_RUNS", 1)
    first.judge = first.new_judge()
    first.exceed("ann")
    first.judge_all()
    assert first.refuses("ann") is None, "there is an end to what is judged so"
    (first.state / state_files.ACCOUNTS_WAITING).write_bytes(b"nonsense")
    assert first.refuses() is None, "what can't be read stops nobody"


def test_a_site_that_was_begun_before_has_accounts_on_each_machine(
    machines: tuple[AccountMachine, AccountMachine], cut: CutLine
) -> None:
    first, second = machines
    for machine in machines:
        link = read_link(machine.state)
        assert link is not None
        leave_site(machine.state)
        older = msgspec.structs.replace(link, stores=FIRST)  # as if its site had no accounts
        link_path(machine.state).write_bytes(msgspec.json.encode(older))
    cut.closed = True  # nobody asks it
    first.order(DeedKind.BAN)
    assert (first.refuses(), second.refuses()) == (BANNED, None)
    first.exceed("ann")
    first.judge_all()
    assert first.refuses("ann") is BANNED
    assert not (first.state / state_files.ACCOUNTS_WAITING).exists()
    with SiteTurn(second.state, state_files.ACCOUNTS, ACCOUNT_TURN) as turn:
        assert turn.is_mine()
        assert not turn.is_shared


def test_a_machine_that_joined_with_an_older_oborona_has_the_site_s_accounts_once_it_joins_again(
    machines: tuple[AccountMachine, AccountMachine], postgresql: Postgresql
) -> None:
    first, second = machines
    link = read_link(second.state)
    assert link is not None
    older = msgspec.structs.replace(link, stores=FIRST)
    link_path(second.state).write_bytes(msgspec.json.encode(older))
    second.path.unlink()
    second.order(DeedKind.BAN, "eve")  # by an older one, which knows nothing of it
    first.order(DeedKind.BAN)
    assert (second.refuses(), second.refuses("eve")) == (None, BANNED)
    join_site(second.state, postgresql.address, "mx2", "1")
    second.follow()
    assert (second.refuses(), second.refuses("eve")) == (BANNED, None)
    second.order(DeedKind.UNBAN)
    first.follow()
    assert first.refuses() is None


def test_a_machine_that_joins_sets_its_accounts_aside_and_nobody_else_reads_what_it_gets(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = (AccountMachine(new_state(tmp_path / name)) for name in ("mx1", "mx2"))
    first.order(DeedKind.BAN)
    second.order(DeedKind.BAN, "eve")
    begin_site(first.state, postgresql.address, "mx1", "1")
    aside = join_site(second.state, postgresql.address, "mx2", "1")
    assert [path.name.startswith("accounts.db.before-join-") for path in aside] == [True]
    assert (second.refuses(), second.refuses("eve")) == (BANNED, None)
    for path in (second.path, *aside):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_site_that_has_no_accounts_yet_gets_them_from_whoever_is_first(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = map(AccountMachine, two_machines(tmp_path, postgresql.address))
    second.exceed()
    second.judge_all()
    first.follow()
    assert first.refuses() is None
    assert [one.account for one in first.incidents()] == ["joe"]
    assert equal(first, second)
    assert stat.S_IMODE(first.path.stat().st_mode) == 0o600


def test_a_keeper_of_one_alone_loads_nothing_of_it() -> None:
    code = (
        "import sys, oborona.daemon.keeper.run, oborona.daemon.keeper.excess_judge\n"
        "import oborona.daemon.keeper.account_actions, oborona.daemon.site.turn\n"
        "assert not {'psycopg', 'oborona.replication.replica'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
