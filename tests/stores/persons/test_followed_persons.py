"""A worker's persons: read when they are asked for, kept until they change, bounded, and without
their store policy alone decides.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.reputation.personal import (
    NOBODY,
    EntryAction,
    MessageOrigin,
    PersonalEntryKind,
    PersonalProfile,
    entry,
)
from oborona.stores.persons import follower
from oborona.stores.persons.filter import PersonFilter
from oborona.stores.persons.follower import FollowedPersons, untagged
from oborona.stores.persons.store import PersonStore

NOW = 1_795_170_000.0
JOE, KIM, ANN = "joe@b.example", "kim@b.example", "ann@a.example"
SHOWN = MessageOrigin(author=ANN, claimed=ANN)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / state_files.PERSONS


@pytest.fixture
async def persons(path: Path) -> AsyncIterator[FollowedPersons]:
    found = FollowedPersons(path)
    await found.look()
    yield found
    await found.close()


def say(
    path: Path, person: str, side: EntryAction = EntryAction.DENY, value: str = ANN, number: int = 1
) -> None:
    with PersonStore(path) as store:
        names = [value, *(f"{n}@c.example" for n in range(number - 1))]
        store.put(
            person,
            [entry(side, PersonalEntryKind.ADDRESS, one, time=NOW) for one in names],
            now=NOW,
        )


def says(person: PersonalProfile) -> EntryAction | None:
    found = person.match(SHOWN, NOW, lambda _kind, values: values)
    return None if found is None else found.side


async def test_what_somebody_says_holds_after_the_next_look(
    path: Path, persons: FollowedPersons
) -> None:
    assert await persons.of(JOE) is NOBODY
    say(path, JOE)
    assert await persons.of(JOE) is NOBODY
    await persons.look()
    assert says(await persons.of("Joe@B.example")) is EntryAction.DENY
    assert await persons.of(KIM) is NOBODY
    say(path, JOE, EntryAction.ALLOW)
    say(path, KIM)
    assert says(await persons.of(JOE)) is EntryAction.DENY
    await persons.look()
    assert (says(await persons.of(JOE)), says(await persons.of(KIM))) == (
        EntryAction.ALLOW,
        EntryAction.DENY,
    )
    with PersonStore(path) as store:
        store.clear(JOE)
    await persons.look()
    assert (await persons.of(JOE)).empty


async def test_only_who_has_changed_is_read_again(path: Path, persons: FollowedPersons) -> None:
    say(path, JOE)
    say(path, KIM)
    await persons.look()
    for _ in range(3):
        await persons.of(JOE)
        await persons.of(KIM)
    assert persons.looked == {"kept": 4, "read": 2, "failed": 0}
    say(path, KIM, EntryAction.ALLOW)
    await persons.look()
    await persons.of(JOE)
    await persons.of(KIM)
    assert persons.looked == {"kept": 5, "read": 3, "failed": 0}


async def test_a_tag_is_the_persons_own_address_unless_it_has_lists_of_its_own(
    path: Path, persons: FollowedPersons
) -> None:
    say(path, JOE)
    say(path, "joe+shop@b.example", EntryAction.ALLOW)
    await persons.look()
    assert says(await persons.of("joe+chess@b.example")) is EntryAction.DENY
    assert says(await persons.of("joe+shop@b.example")) is EntryAction.ALLOW
    assert untagged("+joe@b.example") == untagged(JOE) == ""


async def test_memory_is_bounded_and_the_ones_not_asked_for_go_first(
    path: Path, persons: FollowedPersons, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        say(path, f"{number}@b.example", number=20)
    await persons.look()
    (one,) = [(await persons.of("0@b.example")).size]
    monkeypatch.setattr(follower, "CACHE_OCTETS", 3 * one)
    for number in (1, 2, 0, 3, 0, 4, 0):
        await persons.of(f"{number}@b.example")
    assert persons.looked["read"] == 5
    assert persons.looked["kept"] == 3, "who is asked for again stays"
    assert persons._octets <= 3 * one


async def test_a_store_that_goes_bad_leaves_what_was_read_and_is_told_once(
    path: Path, persons: FollowedPersons, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "oborona.personal")
    say(path, JOE)
    say(path, KIM)
    await persons.look()
    assert says(await persons.of(JOE)) is EntryAction.DENY
    path.rename(path.with_suffix(".away"))
    for _ in range(3):
        await persons.look()
    assert persons.stale
    assert says(await persons.of(JOE)) is EntryAction.DENY
    path.write_bytes(b"not SQLite at all, but long enough to be looked at" * 100)
    for _ in range(3):
        await persons.look()
    assert says(await persons.of(JOE)) is EntryAction.DENY
    assert await persons.of(KIM) is NOBODY, "policy decides alone"
    assert persons.looked["failed"] == 1
    assert [record.message for record in caplog.records] == [
        "persons can't be read, policy decides alone"
    ]
    path.unlink()
    for rest in ("-wal", "-shm"):
        path.with_name(path.name + rest).unlink(missing_ok=True)
    say(path, KIM)
    await persons.look()
    assert not persons.stale
    assert says(await persons.of(KIM)) is EntryAction.DENY
    assert (await persons.of(JOE)).empty, "it is another store"
    assert caplog.records[-1].message == "persons are read again"


async def test_a_store_put_back_to_what_it_was_is_read_anew(
    path: Path, persons: FollowedPersons
) -> None:
    say(path, JOE)
    with PersonStore(path) as store:
        store.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    say(path, JOE, EntryAction.ALLOW)
    say(path, JOE, EntryAction.ALLOW)
    await persons.look()
    assert says(await persons.of(JOE)) is EntryAction.ALLOW
    back = path.with_suffix(".back")
    back.write_bytes(before)
    for rest in ("-wal", "-shm"):
        path.with_name(path.name + rest).unlink(missing_ok=True)
    back.rename(path)
    await persons.look()
    assert says(await persons.of(JOE)) is EntryAction.DENY


async def test_reading_that_takes_too_long_leaves_it_to_policy(
    path: Path,
    persons: FollowedPersons,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    say(path, JOE)
    await persons.look()
    real = persons._rows

    async def slow(*asked: object) -> list[object]:
        await asyncio.sleep(5.0)
        return await real(*asked)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(follower, "READ_S", 0.01)
        patched.setattr(follower, "REST_S", 0.0)
        patched.setattr(persons, "_rows", slow)
        assert await persons.of(JOE) is NOBODY
    await persons.look()
    assert persons.stale, "a look is no reading"
    assert says(await persons.of(JOE)) is EntryAction.DENY
    assert not persons.stale
    assert [record.message for record in caplog.records] == [
        "persons can't be read, policy decides alone",
        "persons are read again",
    ]


async def test_a_loop_that_stands_still_is_no_slow_store(
    path: Path,
    persons: FollowedPersons,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A worker that is at a heavy message comes late to the answer: that was there in time."""
    say(path, JOE)
    await persons.look()
    monkeypatch.setattr(follower, "READ_S", 0.2)
    asyncio.get_running_loop().call_later(0.0, time.sleep, 2.0)
    assert says(await persons.of(JOE)) is EntryAction.DENY
    assert not caplog.records


async def test_mail_to_a_hundred_people_waits_for_a_store_that_hangs_but_once(
    path: Path, persons: FollowedPersons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scan has its deadline: what nobody has judged by then is let in without a score."""
    people = [f"{number}@b.example" for number in range(100)]
    for one in people:
        say(path, one)
    await persons.look()
    waited = 0

    async def hangs(*_: object) -> list[object]:
        nonlocal waited
        waited += 1
        await asyncio.Event().wait()
        return []

    with monkeypatch.context() as patched:
        patched.setattr(follower, "READ_S", 0.01)
        patched.setattr(follower, "REST_S", 60.0)
        patched.setattr(persons, "_rows", hangs)
        assert [await persons.of(one) for one in people] == [NOBODY] * 100
    assert (waited, persons.looked["failed"]) == (1, 100)
    persons._rests_until = 0.0  # a minute later
    assert says(await persons.of(people[-1])) is EntryAction.DENY


def test_the_filter_has_all_that_were_added_and_few_others() -> None:
    there = PersonFilter()
    names = [f"{number}@b.example" for number in range(20_000)]
    for name in names:
        there.add(name)
    assert all(name in there for name in names)
    others = sum(f"{number}@other.example" in there for number in range(20_000))
    assert others < 20_000 * 0.03
