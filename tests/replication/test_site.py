"""Two machines: what one writes the other has, in the same order, whatever ends in between."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from oborona.errors import StoreError
from oborona.replication.log import LogUnreachableError
from tests.peers.postgresql import Postgresql
from tests.replication.machines import dump, following, new_state, persons, two_machines, wait_equal


def test_each_has_what_the_other_wrote(tmp_path: Path, postgresql: Postgresql) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    with persons(first) as here, persons(second) as there:
        here.strict("ann@example.test", 0.5)
        there.strict("bob@example.test", 2.0)
        assert there.of("ann@example.test").strictness == 0.5
        here.written({"ann@example.test": ["x@b.example"]}, now=1.0)
        assert there.clear("ann@example.test") == 1
        assert here.persons() == ["ann@example.test", "bob@example.test"]
    with following(first), following(second):
        wait_equal(first, second)
    assert dump(first) == dump(second)


def test_without_the_log_nothing_is_written_and_all_is_read(
    tmp_path: Path,
) -> None:
    with Postgresql() as own:
        first, _ = two_machines(tmp_path, own.address)
        with persons(first) as here:
            here.strict("ann@example.test", 0.5)
            own.kill()
            with pytest.raises(LogUnreachableError):
                here.strict("ann@example.test", 2.0)
            assert here.of("ann@example.test").strictness == 0.5
            own.start()
            here.strict("ann@example.test", 2.0)
            assert here.of("ann@example.test").strictness == 2.0


def test_a_write_past_the_log_is_refused(tmp_path: Path, postgresql: Postgresql) -> None:
    first, _ = two_machines(tmp_path, postgresql.address)
    with persons(first) as here:
        here.strict("ann@example.test", 0.5)
        with pytest.raises(StoreError, match="readonly"), here.told() as db:
            db.execute("DELETE FROM person")


def test_many_write_at_once(tmp_path: Path, postgresql: Postgresql) -> None:
    first, second = two_machines(tmp_path, postgresql.address)

    def write(state: Path, name: str) -> None:
        with persons(state) as store:
            for number in range(30):
                store.written({f"{name}@example.test": [f"x{number}@b.example"]}, now=float(number))

    with following(first), following(second):
        threads = [
            threading.Thread(target=write, args=(state, f"{name}{place}"))
            for place, state in enumerate((first, second))
            for name in ("a", "b")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with persons(first) as here, persons(second) as there:
            here.strict("ann@example.test", 0.5)
            there.strict("bob@example.test", 0.5)
            here.strict("ann@example.test", 1.0)
            assert here.counted() == (6, 120, 120)
        wait_equal(first, second)
    assert dump(first) == dump(second)


def test_one_alone_needs_no_log(tmp_path: Path) -> None:
    with persons(new_state(tmp_path / "mx")) as store:
        store.strict("ann@example.test", 0.5)
        assert store._db.__class__ is sqlite3.Connection
