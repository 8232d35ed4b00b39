"""Sessions and keys: how long they are good, for what, and all that ends them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from oborona.people.caller import CallWay, Scope
from oborona.people.identity_book import IdentityBook
from oborona.people.key_book import LONGEST_S, MAX_NAME, KeyBook
from oborona.people.link_book import LinkBook
from oborona.people.person import PeopleError, Person, PersonState
from oborona.people.rights import Right, Role
from oborona.people.session_book import (
    FRESH_S,
    MOST,
    READER_S,
    STAFF_IDLE_S,
    STAFF_S,
)
from oborona.people.token import HASH_BYTES, KEY_PREFIX, new_key, new_token, token_hash
from tests.people.worlds import NOW, PASSWORD, PLACE, PeopleWorld

DAY_S = 86_400.0


@pytest.fixture
def world(tmp_path: Path) -> PeopleWorld:
    made = PeopleWorld(tmp_path)
    made.add("anna", Role.ADMIN)
    made.add("bob", Role.READER, addresses=["bob@example.org"])
    return made


def is_good(world: PeopleWorld, token: str, now: float) -> bool:
    return world.sessions.caller_of(token, PLACE, now) is not None


def test_a_session_of_staff_ends_twelve_hours_after_its_last_use(world: PeopleWorld) -> None:
    token, now = world.logged_in("anna").token, NOW
    for _ in range(5):
        now += STAFF_IDLE_S - 1
        assert is_good(world, token, now)
    assert not is_good(world, token, now + STAFF_IDLE_S)


def test_a_session_of_staff_ends_after_seven_days_at_most(world: PeopleWorld) -> None:
    token, now = world.logged_in("anna").token, NOW
    while now < NOW + STAFF_S - DAY_S / 4:
        now += DAY_S / 4
        assert is_good(world, token, now) is (now < NOW + STAFF_S)
    assert not is_good(world, token, NOW + STAFF_S)


def test_a_session_of_a_reader_ends_after_a_day(world: PeopleWorld) -> None:
    token = world.logged_in("bob").token
    assert is_good(world, token, NOW + READER_S - 1)
    assert not is_good(world, token, NOW + READER_S)


def test_a_session_of_a_time_to_come_is_no_better(world: PeopleWorld) -> None:
    token = world.logged_in("anna", now=NOW + 30 * DAY_S).token
    assert not is_good(world, token, NOW)


def test_a_person_has_ten_and_the_oldest_goes(world: PeopleWorld) -> None:
    tokens = [world.logged_in("anna", now=NOW + n).token for n in range(MOST + 2)]
    bob = world.logged_in("bob").token
    assert [is_good(world, token, NOW + MOST + 2) for token in tokens] == [False] * 2 + [
        True
    ] * MOST
    assert is_good(world, bob, NOW)
    listed = world.sessions.of(world.store.named("anna"), NOW + MOST + 2)
    assert [one.made for one in listed] == [NOW + n for n in reversed(range(2, MOST + 2))]


ENDS: dict[str, Callable[[PeopleWorld, Person], object]] = {
    "roles": lambda world, anna: world.store.change(
        msgspec.structs.replace(anna, roles=frozenset({Role.ADMIN, Role.DUTY})), ends=True
    ),
    "password": lambda world, anna: world.store.set_password(anna, "new", NOW),
    "void password": lambda world, anna: world.store.void_password(anna),
    "link": lambda world, anna: LinkBook(world.store).use(
        LinkBook(world.store).make(anna, NOW), PASSWORD, NOW
    ),
    "forgotten": lambda world, anna: world.store.forget(anna),
    "off": lambda world, anna: world.store.change(
        msgspec.structs.replace(anna, state=PersonState.OFF), ends=True
    ),
    "all ended": lambda world, anna: world.sessions.end_all(anna),
}


@pytest.mark.parametrize("how", ENDS)
def test_what_ends_all_sessions_of_one_ends_nobody_elses(world: PeopleWorld, how: str) -> None:
    world.add("carl", Role.ADMIN)
    tokens = [world.logged_in("anna").token for _ in range(3)]
    bob = world.logged_in("bob").token
    ENDS[how](world, world.store.named("anna"))
    assert not any(is_good(world, token, NOW) for token in tokens)
    assert not world.store.rows("SELECT 1 FROM session WHERE person = 1")
    assert is_good(world, bob, NOW)


def test_one_session_is_ended_by_its_token_or_its_name(world: PeopleWorld) -> None:
    first, second, third = (world.logged_in("anna", now=NOW + n).token for n in range(3))
    assert world.logins.log_out(first)
    assert not world.logins.log_out(first)
    anna = world.store.named("anna")
    newest = world.sessions.of(anna, NOW + 3)[0]
    with pytest.raises(PeopleError):
        world.sessions.end_named(world.store.named("bob"), newest.ident)
    world.sessions.end_named(anna, newest.ident)
    assert [is_good(world, token, NOW + 3) for token in (first, second, third)] == [
        False,
        True,
        False,
    ]


def test_a_session_is_fresh_for_ten_minutes_after_the_password(world: PeopleWorld) -> None:
    token = world.logged_in("anna").token
    view = world.sessions.look(token, PLACE, NOW + FRESH_S - 1)
    assert view is not None
    assert view.is_fresh
    view = world.sessions.look(token, PLACE, NOW + FRESH_S)
    assert view is not None
    assert not view.is_fresh
    assert world.logins.confirm(token, PASSWORD, PLACE, NOW + FRESH_S) is None
    view = world.sessions.look(token, PLACE, NOW + FRESH_S)
    assert view is not None
    assert view.is_fresh


@pytest.mark.parametrize("cut", [0, 1, 20, 42])
def test_a_token_that_was_cut_or_grew_is_nobodys(world: PeopleWorld, cut: int) -> None:
    token = world.logged_in("anna").token
    for text in (
        token[:cut],
        token + "x" * (cut + 1),
        token.swapcase(),
        "\udcff" + token,
        "x" * 10**6,
    ):
        assert world.sessions.look(text, PLACE, NOW) is None


def test_tokens_are_long_enough_and_their_hashes_differ_by_more_than_them() -> None:
    tokens = {new_token() for _ in range(100)} | {new_key() for _ in range(100)}
    assert len({token_hash(token) for token in tokens}) == 200
    assert {len(token_hash(token)) for token in tokens} == {HASH_BYTES}
    assert len(new_token()) == 43
    assert len(new_key()) == len(KEY_PREFIX) + 32


def key_of(
    world: PeopleWorld, name: str, *rights: Right, domains: frozenset[str] = frozenset()
) -> str:
    return KeyBook(world.store).add(
        world.store.named(name),
        "backup",
        rights=rights,
        domains=domains,
        until=NOW + 30 * DAY_S,
        now=NOW,
    )


def test_a_key_may_what_it_was_given_and_no_more(world: PeopleWorld) -> None:
    key = key_of(world, "anna", Right.TRACK, Right.STATUS)
    caller = KeyBook(world.store).caller_of(key, PLACE, NOW)
    assert caller is not None
    assert (caller.name, caller.way) == ("anna/backup", CallWay.KEY)
    assert caller.rights == {Right.TRACK, Right.STATUS}
    (listed,) = KeyBook(world.store).all()
    assert (listed.last, listed.place) == (NOW, PLACE)


def test_a_key_says_why_where_its_maker_must(world: PeopleWorld) -> None:
    caller = KeyBook(world.store).caller_of(key_of(world, "anna", Right.CONTENT), PLACE, NOW)
    assert caller is not None
    assert caller.must_say_why(Right.CONTENT)


def test_a_key_may_no_more_than_its_maker_at_each_use(world: PeopleWorld) -> None:
    keys = KeyBook(world.store)
    world.add("carl", Role.ADMIN)
    key = key_of(world, "anna", Right.TRACK, Right.PEOPLE)
    anna = world.store.named("anna")
    lower = msgspec.structs.replace(
        anna, roles=frozenset({Role.SUPPORT}), domains=frozenset({"example.org"})
    )
    world.store.change(lower, ends=True)
    caller = keys.caller_of(key, PLACE, NOW)
    assert caller is not None
    assert caller.rights == {Right.TRACK}
    assert caller.scope == Scope(frozenset({"example.org"}))
    world.store.change(msgspec.structs.replace(lower, state=PersonState.OFF), ends=True)
    assert keys.caller_of(key, PLACE, NOW) is None
    world.store.change(lower, ends=True)
    assert keys.caller_of(key, PLACE, NOW) is not None
    world.store.forget(lower)
    assert keys.caller_of(key, PLACE, NOW) is None


def test_a_key_is_narrowed_by_domains_and_never_widened(world: PeopleWorld) -> None:
    keys, narrow = KeyBook(world.store), frozenset({"example.org"})
    caller = keys.caller_of(key_of(world, "anna", Right.TRACK, domains=narrow), PLACE, NOW)
    assert caller is not None
    assert caller.scope == Scope(narrow)
    world.add("sue", Role.SUPPORT, domains=["example.net"])
    with pytest.raises(PeopleError, match=r"example\.org"):
        key_of(world, "sue", Right.TRACK, domains=narrow)
    sue = world.store.named("sue")
    key = key_of(world, "sue", Right.TRACK, domains=frozenset({"example.net"}))
    world.store.change(msgspec.structs.replace(sue, domains=narrow), ends=True)
    moved = keys.caller_of(key, PLACE, NOW)
    assert moved is not None
    assert not moved.scope.covers("a@example.org")
    assert not moved.scope.covers("a@example.net")


def test_a_key_ends(world: PeopleWorld) -> None:
    keys, key = KeyBook(world.store), key_of(world, "anna", Right.TRACK)
    assert keys.caller_of(key, PLACE, NOW + 30 * DAY_S - 1) is not None
    assert keys.caller_of(key, PLACE, NOW + 30 * DAY_S) is None
    assert keys.caller_of(key[:-1], PLACE, NOW) is None
    assert keys.caller_of(key.upper(), PLACE, NOW) is None
    keys.remove(world.store.named("anna"), "backup")
    assert keys.caller_of(key, PLACE, NOW) is None
    with pytest.raises(PeopleError):
        keys.remove(world.store.named("anna"), "backup")


@pytest.mark.parametrize(
    ("name", "rights", "span"),
    [
        ("", [Right.TRACK], 60.0),
        (" ", [Right.TRACK], 60.0),
        ("a" * (MAX_NAME + 1), [Right.TRACK], 60.0),
        ("a\x1b[2J", [Right.TRACK], 60.0),
        ("a", [], 60.0),
        ("a", [Right.TRACK], 0.0),
        ("a", [Right.TRACK], LONGEST_S + 1),
        ("a", [Right.TRACK], float("nan")),
        ("a", [Right.OWN], 60.0),
    ],
)
def test_a_key_that_can_t_be_is_refused(
    world: PeopleWorld, name: str, rights: list[Right], span: float
) -> None:
    with pytest.raises(PeopleError):
        KeyBook(world.store).add(
            world.store.named("anna"),
            name,
            rights=rights,
            domains=frozenset(),
            until=NOW + span,
            now=NOW,
        )


def test_a_right_of_a_newer_oborona_is_left_out(world: PeopleWorld) -> None:
    key = key_of(world, "anna", Right.TRACK)
    with world.store.transaction() as db:
        db.execute("UPDATE api_key SET rights = 'track fly'")
    caller = KeyBook(world.store).caller_of(key, PLACE, NOW)
    assert caller is not None
    assert caller.rights == {Right.TRACK}


def test_a_token_is_asked_about_in_one_place(
    world: PeopleWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oborona.people.identity_book.time.time", lambda: NOW)
    book = IdentityBook(world.store, step_required=False)
    session = book.caller_of(world.logged_in("bob").token, PLACE, "")
    assert session is not None
    assert (session.name, session.way) == ("bob", CallWay.PAGE)
    assert session.scope == Scope(frozenset(), frozenset({"bob@example.org"}))
    key = book.caller_of(key_of(world, "anna", Right.TRACK), PLACE, "")
    assert key is not None
    assert key.way is CallWay.KEY
    for text in ("", KEY_PREFIX, "\udcff", "a" * 10**6):
        assert book.caller_of(text, PLACE, "") is None
