"""Logins: who gets in, and what those are told who do not."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import msgspec
import pyotp
import pytest
from argon2 import extract_parameters
from argon2.low_level import Type

from oborona.people import login_book, password
from oborona.people.link_book import LINK_S, LinkBook
from oborona.people.login_book import LoginFault
from oborona.people.login_try import AttemptBook, AttemptOutcome
from oborona.people.password import (
    AT_ONCE,
    MAX_PASSWORD,
    CrowdError,
    PasswordError,
    hash_password,
    is_password,
)
from oborona.people.person import PeopleError, PersonState
from oborona.people.rights import Right, Role
from oborona.people.session_book import FRESH_S, SessionView
from tests.people.conftest import DEAR, DEAR_NOBODY
from tests.people.worlds import NOW, PASSWORD, PLACE, PeopleWorld

HOSTILE = [
    "", " ", "\x00", "\udcff\ud800", "a" * 2_000_000, "anna'; DROP TABLE person; --", "../../anna", "\uff41nna",
    "an\nna", "[bold]anna", "a@b@c", "\u202eanna", "%s%n", "🦄" * 300,
]  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> PeopleWorld:
    made = PeopleWorld(tmp_path)
    made.add("anna", Role.ADMIN)
    return made


def view_of(world: PeopleWorld, token: str, now: float = NOW) -> SessionView:
    view = world.sessions.look(token, PLACE, now)
    assert view is not None
    return view


def octets_of(world: PeopleWorld) -> bytes:
    """Return all that is in the folder of the store."""
    files = [path for path in world.path.parent.rglob("*") if path.is_file()]
    return b"".join(path.read_bytes() for path in files)


def with_step(world: PeopleWorld) -> pyotp.TOTP:
    """Give anna a second step, with codes of the step before NOW taken."""
    view = view_of(world, world.logged_in("anna", now=NOW - 120).token, NOW - 120)
    secret, uri = world.steps.enrol(view, "mx.example.org")
    assert uri.startswith("otpauth://totp/")
    assert secret in uri
    codes = pyotp.TOTP(secret)
    assert not world.steps.confirm(view, "000000x", NOW - 120)
    assert world.steps.confirm(view, codes.at(int(NOW) - 120), NOW - 120)
    return codes


def test_who_has_name_and_password_gets_in(world: PeopleWorld) -> None:
    answer = world.logged_in(" Anna ")
    caller = world.sessions.caller_of(answer.token, PLACE, NOW)
    assert caller is not None
    assert (caller.name, caller.roles) == ("anna", frozenset({Role.ADMIN}))
    assert caller.may(Right.PEOPLE)
    assert caller.scope.whole
    assert world.store.named("anna").came == NOW


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_and_passwords_are_wrong_and_no_more(world: PeopleWorld, name: str) -> None:
    assert world.refused(name).fault is LoginFault.WRONG
    assert world.refused("anna", name).fault is LoginFault.WRONG
    assert world.refused("anna", name, place=name, code=name, device=name).wait_s >= 0
    assert world.logins.confirm(name, name, name, NOW) is not None
    assert LinkBook(world.store).use(name, PASSWORD, NOW) is None


def test_all_that_is_wrong_costs_the_same_and_tells_the_same(
    world: PeopleWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    off = world.add("off", Role.READER)
    world.store.change(msgspec.structs.replace(off, state=PersonState.OFF), ends=True)
    world.add("unset", Role.READER, password=False)
    verified, statements = list[str](), list[str]()
    real = password._HASHER.verify

    class Counted:
        def verify(self, kept: str, octets: bytes) -> bool:
            verified.append(kept)
            return real(kept, octets)

    monkeypatch.setattr(password, "_HASHER", Counted())
    world.store._db.set_trace_callback(statements.append)
    told = set()
    for number, (name, word) in enumerate(
        [("anna", "wrong"), ("nobody", PASSWORD), ("off", PASSWORD), ("unset", PASSWORD), ("", "")]
    ):
        verified.clear()
        statements.clear()
        answer = world.refused(name, word, place=f"10.1.{number}.1")
        told.add((answer, len(verified), len(statements)))
    assert len(told) == 1


def test_a_password_costs_what_the_rfc_says_of_nobody_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password, "_HASHER", DEAR)
    monkeypatch.setattr(password, "NOBODY", DEAR_NOBODY)
    kept = hash_password(PASSWORD, "")
    nobodys, somebodys = extract_parameters(DEAR_NOBODY), extract_parameters(kept)
    assert nobodys == somebodys
    assert (nobodys.type, nobodys.memory_cost) == (Type.ID, 65_536)
    assert (nobodys.time_cost, nobodys.parallelism) == (3, 4)
    assert is_password(kept, PASSWORD)
    assert not is_password("", PASSWORD)


def test_passwords_have_bounds(world: PeopleWorld) -> None:
    for bad in ["short", "a" * (MAX_PASSWORD + 1), "ж" * 600, "aaaaaaaaaaaaaaaa", "\ud800" * 20]:
        with pytest.raises(PasswordError):
            hash_password(bad, "anna")
    with pytest.raises(PasswordError):
        hash_password("anna@example.org", "anna@example.org")
    longest = "abcd" * (MAX_PASSWORD // 4)
    kept = hash_password(longest, "anna")
    assert is_password(kept, longest)
    assert not is_password(kept, longest + "x")
    assert not is_password("", "")
    assert not is_password("$argon2id$damaged", PASSWORD)


def test_a_password_is_the_same_however_its_letters_are_composed() -> None:
    assert is_password(
        hash_password("pässwörd für mich", ""), "pa\u0308sswo\u0308rd fu\u0308r mich"
    )


def test_two_passwords_are_looked_at_at_once_and_a_crowd_is_told(
    world: PeopleWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(password, "PATIENCE_S", 0.05)
    for _ in range(AT_ONCE):
        password._turns.acquire()
    try:
        with pytest.raises(CrowdError):
            is_password("", PASSWORD)
        for _ in range(20):  # is charged to nobody
            assert world.refused("anna").fault is LoginFault.BUSY
    finally:
        for _ in range(AT_ONCE):
            password._turns.release()
    world.logged_in("anna")


def test_a_code_is_wanted_and_taken_once(world: PeopleWorld) -> None:
    codes = with_step(world)
    code = codes.at(int(NOW))
    assert world.refused("anna").fault is LoginFault.CODE
    assert world.refused("anna", code="123").fault is LoginFault.WRONG
    world.logged_in("anna", code=f"{code[:3]} {code[3:]}")
    assert world.refused("anna", code=code).fault is LoginFault.WRONG
    assert world.refused("anna", code=codes.at(int(NOW) - 30)).fault is LoginFault.WRONG
    world.logged_in("anna", code=codes.at(int(NOW) + 30), now=NOW + 5)


def test_a_code_of_one_second_is_taken_once_by_two_at_once(world: PeopleWorld) -> None:
    codes = with_step(world)
    answers = list[Any]()

    def one() -> None:
        answers.append(world.log_in("anna", code=codes.at(int(NOW))))

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(answer, login_book.LoggedIn) for answer in answers) == 1


def test_who_has_the_password_alone_can_t_guess_codes_for_long(world: PeopleWorld) -> None:
    with_step(world)
    faults = [world.refused("anna", code=f"{n:06}").fault for n in range(20)]
    assert faults.count(LoginFault.WRONG) <= 4
    silent = [world.refused("anna", now=NOW + 2000).fault for n in range(20)]
    assert silent.count(LoginFault.CODE) <= 1
    tries = AttemptBook(world.store).of(world.store.named("anna"))
    assert AttemptOutcome.CODE in {one.outcome for one in tries}


def test_a_second_step_is_enrolled_by_who_gave_the_password_just_now(world: PeopleWorld) -> None:
    token = world.logged_in("anna").token
    late = view_of(world, token, NOW + FRESH_S)
    with pytest.raises(PeopleError, match="password"):
        world.steps.enrol(late, "")
    with pytest.raises(PeopleError, match="password"):
        world.steps.drop(late)
    with pytest.raises(PeopleError, match="password"):
        world.logins.change_password(late, PASSWORD, NOW)
    now = NOW + FRESH_S
    assert world.logins.confirm(token, PASSWORD, PLACE, now) is None
    view = view_of(world, token, now)
    world.steps.enrol(view, "")
    assert not world.store.named("anna").totp, "no code was given yet"
    with_step(world)
    with pytest.raises(PeopleError, match="already"):
        world.steps.enrol(view, "")
    world.steps.drop(view)
    assert not world.store.named("anna").totp


def test_a_session_in_which_the_password_is_guessed_at_ends(world: PeopleWorld) -> None:
    token = world.logged_in("anna").token
    other = world.logged_in("anna").token
    for _ in range(30):
        assert world.logins.confirm(token, "a guess of a thief", PLACE, NOW) is not None
    assert world.sessions.look(token, PLACE, NOW) is None
    assert world.logins.confirm(other, PASSWORD, PLACE, NOW) is None
    assert world.logins.confirm(token, PASSWORD, PLACE, NOW) is not None


def test_where_the_step_is_required_an_admin_has_no_right_before_it(tmp_path: Path) -> None:
    world = PeopleWorld(tmp_path, step_required=True)
    world.add("anna", Role.ADMIN, Role.ANALYST)
    world.add("bob", Role.ANALYST)
    assert not world.logged_in("bob").must_enrol
    answer = world.logged_in("anna")
    assert answer.must_enrol
    caller = world.sessions.caller_of(answer.token, PLACE, NOW)
    assert caller is not None
    assert not caller.rights
    view = view_of(world, answer.token)
    secret, _ = world.steps.enrol(view, "")
    assert world.steps.confirm(view, pyotp.TOTP(secret).at(int(NOW)), NOW)
    assert view_of(world, answer.token).caller.may(Right.PEOPLE)


def test_a_link_sets_a_password_once_and_for_a_day(world: PeopleWorld) -> None:
    links, anna = LinkBook(world.store), world.store.named("anna")
    other = "another long password"
    first, second = links.make(anna, NOW), links.make(anna, NOW)
    assert links.use(first, other, NOW) is None, "a later one makes it void"
    assert links.use(second[:-1], other, NOW) is None
    assert links.use(second, other, NOW + LINK_S) is None
    with pytest.raises(PasswordError):
        links.use(second, "short", NOW)
    session = world.logged_in("anna")
    used = links.use(second, other, NOW)
    assert used is not None
    assert used.person.name == "anna"
    assert world.sessions.look(session.token, PLACE, NOW) is None
    assert links.use(second, other, NOW) is None
    assert world.refused("anna").fault is LoginFault.WRONG
    assert isinstance(world.log_in("anna", other), login_book.LoggedIn)


def test_who_is_guessed_at_by_all_the_world_gets_in_by_a_link(world: PeopleWorld) -> None:
    for number in range(10):
        world.refused("anna", "a guess of a thief", place=f"10.0.{number}.1")
    assert world.refused("anna").fault is LoginFault.WAIT
    used = LinkBook(world.store).use(
        LinkBook(world.store).make(world.store.named("anna"), NOW), "another password", NOW
    )
    assert used is not None
    assert world.refused("anna", "another password").fault is LoginFault.WAIT
    world.logged_in("anna", password="another password", device=used.device)


def test_a_link_of_who_is_off_is_none(world: PeopleWorld) -> None:
    bob = world.add("bob", Role.READER)
    token = LinkBook(world.store).make(bob, NOW)
    world.store.change(msgspec.structs.replace(bob, state=PersonState.OFF), ends=True)
    assert LinkBook(world.store).use(token, PASSWORD, NOW) is None


def test_tries_are_shown_to_their_owner_and_names_of_nobody_are_not_kept(
    world: PeopleWorld,
) -> None:
    world.refused("my password is 1234")
    world.refused("anna", "a guess of a thief", place="198.51.100.1\x1b[2J")
    world.logged_in("anna", now=NOW + 1)
    tries = AttemptBook(world.store).of(world.store.named("anna"))
    assert [(one.outcome, one.place) for one in tries] == [
        (AttemptOutcome.DONE, PLACE),
        (AttemptOutcome.WRONG, "198.51.100.1?[2J"),
    ]
    assert b"1234" not in octets_of(world)
    assert PASSWORD.encode() not in octets_of(world)


def test_no_token_stands_in_the_file(world: PeopleWorld) -> None:
    answer = world.logged_in("anna")
    link = LinkBook(world.store).make(answer.person, NOW)
    whole = octets_of(world)
    assert b"curl/8" in whole
    for token in (answer.token, answer.device, link):
        assert token.encode() not in whole
        assert token[:20].encode() not in whole


def test_who_changes_their_password_logs_in_anew(world: PeopleWorld) -> None:
    answer = world.logged_in("anna")
    world.logins.change_password(view_of(world, answer.token), "something new and long", NOW)
    assert world.sessions.look(answer.token, PLACE, NOW) is None
    assert isinstance(world.log_in("anna", "something new and long"), login_book.LoggedIn)


def test_who_is_turned_off_while_their_password_is_looked_at_stays_out(
    world: PeopleWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = world.add("bob", Role.READER)

    def looked(kept: str, given: str) -> bool:
        world.store.change(msgspec.structs.replace(bob, state=PersonState.OFF), ends=True)
        return is_password(kept, given)

    monkeypatch.setattr(login_book, "is_password", looked)
    assert world.refused("bob").fault is LoginFault.WRONG
    assert world.sessions.of(bob, NOW) == []
