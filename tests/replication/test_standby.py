"""A site whose PostgreSQL has a standby: when the primary is gone and the standby takes its place,
machines go on there by themselves, and what was acknowledged is there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from oborona import state_files
from oborona.daemon.site.membership import join_site
from oborona.daemon.site.snapshot import take_snapshot
from oborona.errors import StoreError
from oborona.replication.link import read_link
from oborona.replication.log import LogUnreachableError, ReplicationLog
from oborona.replication.log_pool import close_resting
from oborona.replication.replica import ReplicaDivergedError
from tests.peers.postgresql import Postgresql
from tests.peers.postgresql_pair import PostgresqlPair
from tests.replication.machines import dump, following, persons, two_machines, wait_equal
from tests.replication.site_kills import KilledSite
from tests.whole.gate import eventually

ANN = "ann@example.test"
GOES_ON_S = 5.0  # after the standby was told to take over


@pytest.fixture
def pair() -> Iterator[PostgresqlPair]:
    with PostgresqlPair() as running:
        yield running
        close_resting()


class Writing:
    """Writes one change after the other, and again what was refused.

    Attributes:
        acknowledged: numbers of what was written, and when.
    """

    def __init__(self, state: Path) -> None:
        self.acknowledged: list[tuple[int, float]] = []
        self._state = state
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        with persons(self._state) as store:
            for number in range(10_000):
                while not self._stop.wait(0.01):
                    try:
                        store.strict(f"{self._state.name}-{number}@b.example", 0.5)
                    except StoreError:
                        continue
                    self.acknowledged.append((number, time.monotonic()))
                    break
                else:
                    return

    def end(self) -> set[str]:
        """End it; return what it was told is written."""
        self._stop.set()
        self._thread.join()
        return {f"{self._state.name}-{number}@b.example" for number, _ in self.acknowledged}


def test_machines_go_on_at_the_standby_with_all_that_was_acknowledged(
    tmp_path: Path, pair: PostgresqlPair
) -> None:
    first, second = two_machines(tmp_path, pair.address)
    with following(first) as follower, following(second):
        writing = {state.name: Writing(state) for state in (first, second)}
        time.sleep(1.0)
        pair.fail_over()
        promoted = time.monotonic()
        time.sleep(GOES_ON_S)
        told = set[str]().union(*(one.end() for one in writing.values()))
        for name, one in writing.items():
            after = [at - promoted for _, at in one.acknowledged if at > promoted]
            print(f"{name}: {len(one.acknowledged)} changes, goes on after {after[0]:.2f} s")
        with persons(first) as here, persons(second) as there:
            there.strict(ANN, 0.5)
            here.strict(ANN, 0.6)
            assert told <= set(here.persons())
        wait_equal(first, second)
        assert not follower.trouble.now
    assert dump(first) == dump(second)


@pytest.mark.slow
def test_no_event_is_lost_or_believed_twice_over_two_failovers(tmp_path: Path) -> None:
    with PostgresqlPair() as own, ExitStack() as stack:
        site = KilledSite(tmp_path, own, 11, stack)
        site.run(["postgresql", "killed", "postgresql"])
        assert len(site.acknowledged()) > 20


def test_a_primary_that_stands_still_is_left_for_the_standby(
    tmp_path: Path, pair: PostgresqlPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oborona.replication.bounded_connection.ANSWER_S", 1.0)
    first, second = two_machines(tmp_path, pair.address)
    with persons(first) as here, persons(second) as there:
        here.strict(ANN, 0.5)
        old = pair.primary
        pair.fail_over(killed=False)
        try:
            for one in (here, there):
                with pytest.raises(LogUnreachableError, match="does not answer"):
                    one.strict(ANN, 0.6)
            here.strict(ANN, 0.7)  # by a new line, to the standby that was
            there.strict("bob@example.test", 0.5)
            assert there.of(ANN).strictness == 0.7
        finally:
            old.go_on()


def test_a_commit_that_waits_for_a_standby_is_no_end_and_no_word(
    tmp_path: Path, pair: PostgresqlPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The standby is gone: nobody is told that something is written, or that it is not."""
    monkeypatch.setattr("oborona.replication.bounded_connection.ANSWER_S", 1.0)
    monkeypatch.setattr("oborona.replication.replica.DOUBT_S", 0.5)
    first, second = two_machines(tmp_path, pair.address)
    with persons(first) as here, persons(second) as there:
        here.strict(ANN, 0.5)
        assert pair.standby is not None
        pair.standby.end()
        with pytest.raises(LogUnreachableError, match="whether it has it"):
            here.strict(ANN, 0.6)
        assert here.of(ANN).strictness == 0.5
        pair.standby.start()
        there.strict("bob@example.test", 0.5)
        here.strict("eve@example.test", 0.5)
        assert here.of(ANN).strictness == there.of(ANN).strictness == 0.6
    with following(first), following(second):
        wait_equal(first, second)
    assert dump(first) == dump(second)


def test_a_standby_alone_is_no_log(tmp_path: Path, pair: PostgresqlPair) -> None:
    first, _ = two_machines(tmp_path, pair.address)
    link = read_link(first)
    assert link is not None
    pair.primary.kill()
    with (
        closing(ReplicationLog(link.address, "mx1")) as log,
        pytest.raises(LogUnreachableError, match="read-only"),
    ):
        log.heads()


def test_who_is_no_primary_any_more_is_left(tmp_path: Path, pair: PostgresqlPair) -> None:
    first, _ = two_machines(tmp_path, pair.address)
    with persons(first) as here:
        here.strict(ANN, 0.5)
        pair.rows("ALTER SYSTEM SET default_transaction_read_only = on")
        pair.rows("SELECT pg_reload_conf()")
        time.sleep(0.5)
        with pytest.raises(LogUnreachableError):
            here.strict(ANN, 0.6)


def test_what_ended_while_it_rested_fails_nobody(tmp_path: Path) -> None:
    with Postgresql() as own:
        first, _ = two_machines(tmp_path, own.address)
        with persons(first) as here:
            here.strict(ANN, 0.5)
            own.kill()
            own.start()
            here.strict(ANN, 0.6)
        close_resting()


def test_a_change_that_the_standby_never_got_is_seen_on_whose_machine_it_is(
    tmp_path: Path, pair: PostgresqlPair
) -> None:
    """Nobody waits for the standby, which is not there when the last change is made: its number is
    another change's then.
    """
    first, second = two_machines(tmp_path, pair.address)
    standby = pair.standby
    assert standby is not None
    with persons(first) as here, persons(second) as there:
        there.strict("bob@example.test", 0.5)
        here.strict(ANN, 0.5)
        pair.wait_for_standby(False)
        standby.end()
        here.strict(ANN, 0.6)
        pair.primary.kill()
        standby.start()
        pair.fail_over()
        there.strict(ANN, 0.7)
        with pytest.raises(ReplicaDivergedError, match="site join"):
            here.strict("eve@example.test", 0.5)
        assert here.of(ANN).strictness == 0.6
        there.strict("eve@example.test", 0.5)
    with following(first) as follower:
        store = follower.stores[state_files.PERSONS]
        eventually(lambda: "site join" in store.trouble.now)
    with closing(ReplicationLog(pair.address, "mx2")) as log:
        take_snapshot(log, second / state_files.PERSONS)
    join_site(first, pair.address, "mx1", "1")
    with persons(first) as here:
        here.strict("joe@example.test", 0.5)
        assert here.of(ANN).strictness == 0.7
    with following(second) as follower:
        wait_equal(first, second)
        assert not follower.stores[state_files.PERSONS].trouble.now
