"""What ends in the middle leaves every machine with the same, and loses nothing acknowledged."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.daemon.site.common_kinds import COMMON_KINDS
from oborona.daemon.site.departure import leave_site
from oborona.daemon.site.follower import ReplicaFollower
from oborona.daemon.site.membership import (
    MembershipError,
    address_hosts,
    begin_site,
    join_site,
)
from oborona.daemon.site.snapshot import take_snapshot
from oborona.errors import StoreError, StoreForeign, StoreVersion
from oborona.replication.link import link_path, read_link
from oborona.replication.log import LogForeignError, LogUnreachableError, ReplicationLog
from oborona.replication.replica import ReplicaDivergedError
from oborona.stores.persons.store import PersonStore
from tests.peers.postgresql import Postgresql
from tests.replication.cut_line import CutLine
from tests.replication.machines import dump, following, new_state, persons, two_machines

WRITER = """
import sys
from pathlib import Path
from oborona.stores.persons.store import PersonStore
with PersonStore(Path(sys.argv[1]) / "personal.db") as store:
    number = int(sys.argv[2])
    while True:
        store.written({"ann@example.test": [f"x{number}@b.example"]}, now=number * 1000.0)
        print(number, flush=True)
        number += 1
"""


def eventually(happens: Callable[[], bool], seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def through(state: Path, line: CutLine) -> None:
    """Lead a machine's line to the log through another."""
    link = read_link(state)
    assert link is not None
    address = f"postgresql://postgres@127.0.0.1:{line.port}/postgres"
    link_path(state).write_bytes(
        msgspec.json.encode(msgspec.structs.replace(link, address=address))
    )


def test_killed_anywhere_what_was_acknowledged_is_everywhere(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    chance, acknowledged = random.Random(7), list[int]()
    for turn in range(6):
        state = (first, second)[turn % 2]
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(state), str(turn * 1000)],
            stdout=subprocess.PIPE,
            text=True,
        ) as writer:
            assert writer.stdout is not None
            first_line = writer.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.2))
            os.kill(writer.pid, signal.SIGKILL)
            acknowledged += [
                int(line) for line in (first_line, *writer.stdout) if line.endswith("\n")
            ]
    with persons(first) as here, persons(second) as there:
        there.strict("end@example.test", 1.5)
        here.strict("end@example.test", 0.7)
        kept = {one.value for one in here.of("ann@example.test").entries}
    with following(second):
        eventually(lambda: dump(first) == dump(second))
    assert {f"x{number}@b.example" for number in acknowledged} <= kept
    assert len(kept) - len(acknowledged) <= 6, "each kill may leave one that nobody heard of"


@pytest.mark.parametrize("again", [True, False])
def test_whose_answer_is_lost_is_known_when_the_log_is_back(
    tmp_path: Path, postgresql: Postgresql, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL has committed, and says so to nobody."""
    monkeypatch.setattr("oborona.replication.replica.DOUBT_S", 0.5)
    first, second = two_machines(tmp_path, postgresql.address)
    with CutLine(postgresql.port) as line:
        through(first, line)
        with persons(first) as here, persons(second) as there:
            here.strict("ann@example.test", 0.5)
            line.closed, line.cut_after = not again, b"COMMIT"
            if again:
                here.strict("ann@example.test", 2.0)
                assert here.of("ann@example.test").strictness == 2.0, "it was seen to be there"
            else:
                with pytest.raises(LogUnreachableError, match="whether it has it"):
                    here.strict("ann@example.test", 2.0)
                assert here.of("ann@example.test").strictness == 0.5
            there.strict("bob@example.test", 0.5)
            assert there.of("ann@example.test").strictness == 2.0
            line.closed = False
            here.strict("bob@example.test", 0.6)
            assert here.of("ann@example.test").strictness == 2.0
    with following(first), following(second):
        eventually(lambda: dump(first) == dump(second))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own that can be filled."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a disk")
def test_what_the_log_has_when_the_disk_is_full_is_written_and_done_here_later(
    small_disk: Path, postgresql: Postgresql
) -> None:
    first, second = two_machines(small_disk, postgresql.address)
    with persons(first) as here, persons(second) as there:
        here.strict("ann@example.test", 0.5)
        with here.changing():
            for number in range(2000):
                here.strict(f"x{number}@example.test", 0.5)
            filler = small_disk / "filler"
            with filler.open("wb", buffering=0) as file, suppress(OSError):
                while True:
                    file.write(bytes(1 << 16))
        assert here.persons() == ["ann@example.test"], "the disk has taken it: nothing is shown"
        with pytest.raises(StoreError, match=r"full|room"):
            here.strict("bob@example.test", 0.5)
        filler.unlink()
        here.strict("bob@example.test", 0.5)
        there.strict("eve@example.test", 0.5)
        assert len(there.persons()) == 2003
    with following(first), following(second):
        eventually(lambda: dump(first) == dump(second))
    with persons(first) as here:
        assert len(here.persons()) == 2003


def fail(store: PersonStore) -> None:
    store._db.execute("DELETE FROM person")
    raise KeyError


def test_who_fails_within_a_change_has_changed_nothing(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, _ = two_machines(tmp_path, postgresql.address)
    with persons(first) as here:
        here.strict("ann@example.test", 0.5)
        with pytest.raises(KeyError), here.changing():
            fail(here)
        assert here.persons() == ["ann@example.test"]
        with here.changing():
            with pytest.raises(KeyError), here.transaction():
                fail(here)
            here._db.execute("UPDATE person SET strictness = 3")
        assert here.of("ann@example.test").strictness == 3
    heads = postgresql.rows("SELECT number FROM oborona.store WHERE name = 'personal.db'")
    assert heads[0][0] == 3  # its format, ann, and what was kept


def test_a_file_that_is_not_what_the_others_have_stands_still_and_is_fetched_anew(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    with persons(first) as here:
        here.strict("ann@example.test", 0.5)
    with persons(second) as there:
        there.strict("bob@example.test", 0.5)
    with closing(sqlite3.connect(second / state_files.PERSONS)) as db:
        db.execute("DELETE FROM person WHERE address = 'ann@example.test'")
        db.commit()
    with persons(first) as here, here.changing():
        here._db.execute("UPDATE person SET strictness = 2")
    with following(second) as follower:
        store = follower.stores[state_files.PERSONS]
        eventually(lambda: "site join" in store.trouble.now)
        with persons(second) as there, pytest.raises(ReplicaDivergedError, match="2"):
            there.strict("eve@example.test", 0.5)
    log = ReplicationLog(postgresql.address, "mx1")
    take_snapshot(log, first / state_files.PERSONS)
    log.close()
    aside = join_site(second, postgresql.address, "mx2", "1")
    named = {path.name.partition(".before")[0] for path in aside}
    assert named == {state_files.PERSONS, state_files.SITE_MODELS}
    with persons(second) as there:
        assert there.of("ann@example.test").strictness == 2


def test_who_was_away_for_longer_than_the_log_goes_back_takes_a_snapshot(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    with persons(second) as there:
        there.strict("bob@example.test", 0.5)
    with persons(first) as here:
        for number in range(5):
            here.strict(f"x{number}@example.test", 0.5)
    log = ReplicationLog(postgresql.address, "mx1")
    take_snapshot(log, first / state_files.PERSONS)
    log.close()
    postgresql.rows("DELETE FROM oborona.change WHERE number < 7")
    with persons(second) as there, pytest.raises(StoreError, match="site join"):
        there.strict("bob@example.test", 0.6)
    with following(second):
        eventually(lambda: dump(first) == dump(second))
    with persons(second) as there:
        there.strict("bob@example.test", 0.7)


def test_an_older_oborona_reads_on_and_writes_nothing(
    tmp_path: Path, postgresql: Postgresql, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    with persons(first) as here, persons(second) as there:
        here.strict("ann@example.test", 0.5)
        there.strict("ann@example.test", 0.6)
    kind = PersonStore.shared
    newer = kind.format._replace(
        migrations=(*kind.format.migrations, ("ALTER TABLE person ADD COLUMN more TEXT",))
    )
    with persons(second) as old:
        with monkeypatch.context() as upgraded:
            upgraded.setattr(PersonStore, "shared", kind._replace(format=newer))
            with persons(first) as here:
                here.strict("ann@example.test", 2.0)
        with pytest.raises(StoreVersion, match="upgrade it"):
            old.strict("ann@example.test", 1.0)
        assert old.of("ann@example.test").strictness == 0.6
    with following(second) as follower:
        store = follower.stores[state_files.PERSONS]
        eventually(lambda: "upgrade it" in store.trouble.now)
    monkeypatch.setattr(PersonStore, "shared", kind._replace(format=newer))
    with persons(second) as there:
        there.strict("bob@example.test", 0.5)
        assert there.of("ann@example.test").strictness == 2.0
    with following(first, {state_files.PERSONS: PersonStore.shared}):
        eventually(lambda: dump(first) == dump(second))


def test_another_site_s_log_and_secret_are_refused(tmp_path: Path, postgresql: Postgresql) -> None:
    first, _ = two_machines(tmp_path, postgresql.address)
    third = new_state(tmp_path / "mx3", b"t" * 32)
    with pytest.raises(StoreForeign, match="another secret"):
        join_site(third, postgresql.address, "mx3", "1")
    assert not link_path(third).exists()
    postgresql.rows("UPDATE oborona.site SET mark = 'other'")
    with pytest.raises(LogForeignError, match="begun anew"), persons(first) as here:
        here.strict("ann@example.test", 0.5)


@pytest.mark.parametrize("octets", [b"", b"{", b'{"address": 5}', b"\xff" * 9, b"[]"])
def test_a_link_that_is_none_stops_writers(
    tmp_path: Path, postgresql: Postgresql, octets: bytes
) -> None:
    first, _ = two_machines(tmp_path, postgresql.address)
    link_path(first).write_bytes(octets)
    with pytest.raises(StoreError, match="which log"):
        persons(first)


def test_the_log_that_was_put_back_to_what_it_was_is_seen(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, _ = two_machines(tmp_path, postgresql.address)
    with persons(first) as here:
        for _ in range(3):
            here.strict("ann@example.test", 0.5)
        postgresql.rows("DELETE FROM oborona.change WHERE number > 2")
        postgresql.rows("UPDATE oborona.store SET number = 2 WHERE name = 'personal.db'")
        with pytest.raises(ReplicaDivergedError, match="put back"):
            here.strict("ann@example.test", 0.6)


def test_damaged_changes_stop_a_store_and_no_other(tmp_path: Path, postgresql: Postgresql) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    with persons(first) as here:
        here.strict("ann@example.test", 0.5)
        here.strict("ann@example.test", 0.6)
    postgresql.rows("UPDATE oborona.change SET statements = '\\xdeadbeef' WHERE number = 2")
    link = read_link(second)
    assert link is not None
    follower = ReplicaFollower(second, link, COMMON_KINDS, "1")
    with closing(ReplicationLog(postgresql.address, "mx2")) as log:
        follower.look(log)
    assert "no list of statements" in follower.stores[state_files.PERSONS].trouble.now
    assert not follower.stores[state_files.PINS].trouble.now


def test_who_had_it_open_before_it_became_common_writes_by_the_log(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    state = new_state(tmp_path / "mx1")
    with persons(state) as before:
        before.strict("ann@example.test", 0.5)
        begin_site(state, postgresql.address, "mx1", "1")
        before.strict("ann@example.test", 0.6)
        ((number,),) = postgresql.rows(
            "SELECT number FROM oborona.store WHERE name = 'personal.db'"
        )
        assert number == 1
        link_path(state).unlink()
        with pytest.raises(StoreError, match="site leave"):
            before.strict("ann@example.test", 0.7)
        assert leave_site(state).machine == ""
        before.strict("ann@example.test", 0.7)
    with pytest.raises(MembershipError, match="alone"):
        leave_site(state)


@pytest.mark.parametrize(
    ("address", "hosts"),
    [
        ("postgresql://o@10.0.0.1,db.example:5433/o", ("10.0.0.1", "db.example")),
        ("host=/run/postgresql dbname=o", ()),
        ("hostaddr=10.0.0.1 host=db.example", ("db.example", "10.0.0.1")),
    ],
)
def test_where_an_address_leads(address: str, hosts: tuple[str, ...]) -> None:
    assert address_hosts(address) == hosts
