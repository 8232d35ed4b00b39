"""The store of people: the last admin, what is damaged, two processes, what can be no person."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from oborona.errors import StoreError, StoreVersion
from oborona.people.person import (
    MAX_NAME,
    PeopleError,
    PersonState,
    checked_addresses,
    checked_domains,
    checked_name,
    normal_name,
)
from oborona.people.rights import Role
from oborona.people.store import LastAdminError, PeopleStore
from tests.people.worlds import NOW, PLACE, PeopleWorld


@pytest.fixture
def world(tmp_path: Path) -> PeopleWorld:
    made = PeopleWorld(tmp_path)
    made.add("anna", Role.ADMIN)
    return made


def test_a_person_is_found_as_they_were_added(world: PeopleWorld) -> None:
    world.add(
        "sue@example.org",
        Role.SUPPORT,
        Role.READER,
        domains=["example.org", "example.net"],
        addresses=["sue@example.org"],
    )
    sue = world.store.named("sue@example.org")
    assert sue.roles == {Role.SUPPORT, Role.READER}
    assert sue.scope.covers("anyone@example.NET")
    assert not sue.scope.covers("anyone@example.com")
    assert [person.name for person in world.store.all()] == ["anna", "sue@example.org"]
    with pytest.raises(PeopleError, match="already"):
        world.add("anna", Role.READER)


def test_a_reader_without_domains_sees_their_own_and_staff_the_site(world: PeopleWorld) -> None:
    bob = world.add("bob", Role.READER, addresses=["bob@example.org"])
    assert bob.scope.covers("Bob@Example.org")
    assert not bob.scope.covers("anna@example.org")
    assert not world.add("nobody", Role.READER).scope.covers("anna@example.org")
    assert world.store.named("anna").scope.whole


def test_the_last_admin_stays(world: PeopleWorld) -> None:
    world.add("newcomer", Role.ADMIN, password=False)  # has set no password, and can't log in
    world.add("narrow", Role.ADMIN, domains=["example.org"])  # gives no roles
    anna = world.store.named("anna")
    for change in (
        {"roles": frozenset({Role.DUTY})},
        {"state": PersonState.OFF},
        {"domains": frozenset({"example.org"})},
    ):
        with pytest.raises(LastAdminError):
            world.store.change(msgspec.structs.replace(anna, **change), ends=True)
    with pytest.raises(LastAdminError):
        world.store.forget(anna)
    assert world.store.named("anna") == anna
    world.add("carl", Role.ADMIN)
    world.store.forget(anna)
    assert world.store.find("anna") is None


def test_two_admins_who_put_each_other_out_leave_one(world: PeopleWorld) -> None:
    carl, anna = world.add("carl", Role.ADMIN), world.store.named("anna")
    refused = list[str]()

    def put_out(ident: int) -> None:
        with PeopleStore(world.path) as store:
            person = store.of(ident)
            assert person is not None
            try:
                store.change(msgspec.structs.replace(person, state=PersonState.OFF), ends=True)
            except LastAdminError:
                refused.append(person.name)

    threads = [threading.Thread(target=put_out, args=(one.id,)) for one in (anna, carl)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert world.store.has_admin()


def test_a_change_of_roles_takes_back_no_password_that_was_set_meanwhile(
    world: PeopleWorld,
) -> None:
    before = world.store.named("anna")
    world.store.set_password(before, "new", NOW + 1)
    world.store.change(msgspec.structs.replace(before, roles=before.roles | {Role.DUTY}), ends=True)
    assert world.store.named("anna").password == "new"


def test_an_id_is_never_given_twice(world: PeopleWorld) -> None:
    bob = world.add("bob", Role.READER)
    world.store.forget(bob)
    assert world.add("bob", Role.READER).id > bob.id


def test_two_processes_at_once_lose_nobody(world: PeopleWorld) -> None:
    children = []
    for child in range(2):
        pid = os.fork()
        if not pid:
            status = 1
            try:
                other = PeopleWorld(world.path.parent)
                for number in range(20):
                    other.add(f"p{child}-{number}", Role.READER)
                    other.sessions.begin(other.store.named("anna"), PLACE, "", NOW + number)
                status = 0
            finally:
                os._exit(status)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0]
    assert len(world.store.all()) == 41
    assert len(world.sessions.of(world.store.named("anna"), NOW + 20)) == 10


def test_threads_share_a_store(world: PeopleWorld) -> None:
    token, wrong = world.logged_in("anna").token, list[object]()

    def ask() -> None:
        for number in range(50):
            now = NOW + 61.0 * number
            if world.sessions.caller_of(token, PLACE, now) is None:
                wrong.append(now)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_another_file_in_its_place_is_the_one_that_is_asked(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = PeopleWorld(tmp_path / "a"), PeopleWorld(tmp_path / "b")
    first.add("anna", Role.ADMIN)
    token = first.logged_in("anna").token
    second.store.close()
    for part in ("-wal", "-shm"):
        first.path.with_name(first.path.name + part).unlink(missing_ok=True)
    second.path.rename(first.path)
    assert first.sessions.caller_of(token, PLACE, NOW) is None


def test_a_damaged_store_is_told_plainly(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError, match=r"is damaged .* Move it away"):
        PeopleStore(path)
    path.unlink()
    with pytest.raises(StoreError, match="nobody was added yet"):
        PeopleStore(path, make=False)
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE other (x)")
    with pytest.raises(StoreError, match="not a store of people"):
        PeopleStore(path)


def test_pages_that_were_overwritten_are_told_plainly(world: PeopleWorld) -> None:
    for number in range(200):
        world.add(f"p{number}", Role.READER, password=False)
    token = world.logged_in("anna").token
    world.store.close()
    octets = bytearray(world.path.read_bytes())
    octets[4096:] = os.urandom(len(octets) - 4096)
    world.path.write_bytes(octets)
    with pytest.raises(StoreError, match="is damaged"):  # noqa: PT012 - either may see it
        again = PeopleWorld(world.path.parent)
        again.sessions.look(token, PLACE, NOW)


def test_a_newer_store_and_rows_that_can_t_be_are_told(world: PeopleWorld) -> None:
    with world.store.transaction() as db:
        db.execute("UPDATE person SET roles = 'admin emperor'")
    with pytest.raises(StoreError, match="newer"):
        world.store.named("anna")
    with closing(sqlite3.connect(world.path)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreVersion):
        PeopleStore(world.path)


def test_others_may_not_read_it(world: PeopleWorld) -> None:
    assert world.path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["anna", " Anna ", "a", "x" * MAX_NAME, "bob+1@example.org"])
def test_a_name_has_one_form(name: str) -> None:
    assert checked_name(name) == name.strip().lower() == normal_name(normal_name(name))


@pytest.mark.parametrize(
    "name",
    ["", " ", "x" * (MAX_NAME + 1), "a b", "a/b", ".a", "a.", "ann\na", "\udcff", "\uff41nna", "a\x00", "\u0130", "\u0430", "x" * 1_000_000],
)  # fmt: skip
def test_what_can_be_no_name_is_refused(name: str) -> None:
    with pytest.raises(PeopleError, match="a name has letters"):
        checked_name(name)


def test_domains_and_addresses_have_one_form() -> None:
    assert checked_domains(["Example.ORG.", "почта.рф"]) == {"example.org", "xn--80a1acny.xn--p1ai"}
    assert checked_addresses([" Bob@Example.org "]) == {"bob@example.org"}
    for bad in ["", "a b.example", "@example.org", "\udcff", "x" * 10**6, "localnet", "a@b"]:
        with pytest.raises(PeopleError):
            checked_domains([bad])
    for bad in ["", "bob", "@", "bob@", "a b@c", "a@b c", "\udcff@a", "x" * 10**6, "a\x00@b"]:
        with pytest.raises(PeopleError):
            checked_addresses([bad])
    with pytest.raises(PeopleError, match="at most"):
        checked_domains(["example.org"] * 2000)
