"""Waits: what holds whoever guesses, however they do it, and what nobody can do to another."""

from __future__ import annotations

import sqlite3
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.people import wait
from oborona.people.login_book import LoginFault
from oborona.people.rights import Role
from oborona.people.schema import MIGRATIONS
from oborona.people.store import PeopleStore
from oborona.people.wait import (
    FORGOTTEN_S,
    LONGEST_S,
    WaitKind,
    charge,
    forget,
    give_back,
    network_of,
    next_wait,
    wait_after,
    wait_key,
)
from tests.people.worlds import NOW, PeopleWorld

NAME = wait_key(WaitKind.NAME, "anna")
GAPS = st.lists(st.floats(0, 2 * LONGEST_S), max_size=200)


def fresh() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    for statement in MIGRATIONS[0]:
        db.execute(statement)
    return db


@given(st.integers(0, 10_000), st.sampled_from(WaitKind))
def test_a_wait_doubles_and_ends_at_a_quarter_of_an_hour(failures: int, kind: WaitKind) -> None:
    now, next_one = wait_after(failures, kind.value), wait_after(failures + 1, kind.value)
    assert 0 <= now <= next_one <= LONGEST_S
    assert now == 0 if failures <= kind.value else now >= 1
    if now >= 1 and next_one < LONGEST_S:
        assert next_one == 2 * now


@given(GAPS)
@settings(max_examples=200, deadline=None)
def test_tries_that_are_looked_at_are_apart_as_long_as_waits_say(gaps: list[float]) -> None:
    db, now, taken = fresh(), NOW, list[float]()
    for gap in gaps:
        now += gap
        said = next_wait(db, [NAME], now)
        waited = charge(db, [NAME], now)
        assert waited == said
        if not waited:
            taken.append(now)
    for number, (before, after) in enumerate(pairwise(taken), 1):
        assert after - before >= wait_after(number, NAME.kind.value)


@given(GAPS)
@settings(max_examples=100, deadline=None)
def test_who_tries_within_a_wait_makes_it_no_longer(gaps: list[float]) -> None:
    db, now = fresh(), NOW
    for _ in range(8):
        charge(db, [NAME], now)
        now += LONGEST_S
    charge(db, [NAME], now)
    end = now + next_wait(db, [NAME], now)
    for gap in gaps:
        now += gap
        if now >= end:
            break
        assert charge(db, [NAME], now) == pytest.approx(end - now)
    assert charge(db, [NAME], end) == 0


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 100)), max_size=100))
@settings(max_examples=100, deadline=None)
def test_failures_of_one_are_nothing_to_another(steps: list[tuple[str, float]]) -> None:
    both, alone, now = fresh(), fresh(), NOW
    first, second = wait_key(WaitKind.DEVICE, "a"), wait_key(WaitKind.DEVICE, "b")
    for whose, gap in steps:
        now += gap
        charge(both, [first if whose == "a" else second], now)
        if whose == "a":
            charge(alone, [first], now)
        assert next_wait(both, [first], now) == next_wait(alone, [first], now)


@given(st.integers(1, 30), st.integers(1, 30))
def test_what_is_given_back_was_charged_and_no_more(charged: int, given_back: int) -> None:
    db = fresh()
    for number in range(charged):
        charge(db, [NAME], NOW + number * LONGEST_S)
    for _ in range(given_back):
        give_back(db, [NAME])
    left = db.execute("SELECT failures FROM wait").fetchall()
    assert left == ([(charged - given_back,)] if given_back < charged else [])


def test_a_count_is_forgotten_after_a_day_and_by_who_shows_who_they_are() -> None:
    db = fresh()
    for number in range(20):
        charge(db, [NAME], NOW + number * LONGEST_S)
    last = NOW + 19 * LONGEST_S
    assert next_wait(db, [NAME], last) == LONGEST_S
    assert next_wait(db, [NAME], last + FORGOTTEN_S + 1) == 0
    forget(db, [NAME])
    assert next_wait(db, [NAME], last) == 0


def test_a_clock_that_was_set_back_makes_nobody_wait_longer_than_the_longest() -> None:
    db = fresh()
    for number in range(20):
        charge(db, [NAME], NOW + number * LONGEST_S)
    assert 0 < charge(db, [NAME], NOW - 10 * 86_400) <= LONGEST_S


def test_what_is_kept_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "MAX_WAITS", 50)
    db = fresh()
    for number in range(200):
        charge(db, [wait_key(WaitKind.NAME, f"n{number}")], NOW + number)
    assert db.execute("SELECT count(*), min(last) FROM wait").fetchone() == (50, NOW + 150)


@pytest.mark.parametrize(
    ("place", "network"),
    [
        ("192.0.2.7", "192.0.2.0/24"),
        ("::ffff:192.0.2.7", "192.0.2.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1::/48"),
        ("fe80::1%eth0", "fe80::/48"),
        ("", ""),
        ("no address \udcff", "no address \udcff"),
    ],
)
def test_a_client_is_counted_with_its_network(place: str, network: str) -> None:
    assert network_of(place) == network
    assert wait_key(WaitKind.NETWORK, network).whose


def test_who_was_here_before_goes_past_what_others_fail(tmp_path: Path) -> None:
    world = PeopleWorld(tmp_path)
    world.add("anna", Role.ADMIN)
    device = world.logged_in("anna").device
    now = NOW
    for _ in range(30):  # a botnet, which never sleeps
        for network in range(3):
            world.refused("anna", "guess of a stranger", place=f"198.51.{network}.9", now=now)
        now += 60
    assert world.refused("anna", place="203.0.113.5", now=now).fault is LoginFault.WAIT
    again = world.logged_in("anna", device=device, now=now)
    assert again.device != device
    # the device of one login is void with the next; and it is nobody else's
    assert world.refused("anna", device=device, now=now + 1).fault is LoginFault.WAIT


def test_a_device_that_was_stolen_waits_too_and_holds_up_nobody(tmp_path: Path) -> None:
    world = PeopleWorld(tmp_path)
    world.add("anna", Role.ADMIN)
    device = world.logged_in("anna").device
    faults = [
        world.refused("anna", "guess of a stranger", device=device, now=NOW + 1).fault
        for _ in range(10)
    ]
    assert faults.count(LoginFault.WRONG) == WaitKind.DEVICE.value + 1
    world.logged_in("anna", now=NOW + 1)


def test_a_device_of_one_person_is_nothing_for_another(tmp_path: Path) -> None:
    world = PeopleWorld(tmp_path)
    world.add("anna", Role.ADMIN)
    world.add("mallory", Role.READER)
    device = world.logged_in("mallory").device
    faults = [
        world.refused("anna", "guess of a stranger", device=device, place=f"10.0.{n}.1").fault
        for n in range(6)
    ]
    assert LoginFault.WAIT in faults


def test_tries_at_the_same_time_are_no_more_than_one_after_another(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    PeopleStore(path).close()
    taken = list[float]()

    def one() -> None:
        with PeopleStore(path) as store, store.transaction() as db:
            taken.append(charge(db, [NAME], NOW))

    threads = [threading.Thread(target=one) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken.count(0.0) == NAME.kind.value + 1
