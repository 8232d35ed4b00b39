"""Calls on people: each of them by each role, and that nobody gives or takes what they have not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.audit.declarations import ACTS
from oborona.desk.acts.keys import KeyOrder, NewKeyOrder, add_key, remove_key
from oborona.desk.acts.people import (
    LinkOrder,
    NewPersonOrder,
    PersonOrder,
    RolesOrder,
    add_person,
    change_roles,
    forget_person,
    make_link,
    turn_off,
    turn_on,
)
from oborona.desk.acts.sessions import SessionOrder, end_session
from oborona.desk.asks.people import (
    KeyQuestion,
    OwnQuestion,
    PeopleQuestion,
    PersonQuestion,
    list_keys,
    list_people,
    list_sessions,
    show_oneself,
    show_person,
)
from oborona.desk.call import Call, NotAllowedError, NotFoundError
from oborona.desk.calls import CALLS
from oborona.desk.site import Site
from oborona.people.caller import Caller, CallWay, Scope, caller_at_terminal, with_roles
from oborona.people.key_book import KeyBook
from oborona.people.link_book import PATH, LinkBook
from oborona.people.person import PeopleError, PersonState
from oborona.people.rights import ROLE_RIGHTS, Right, Role
from oborona.people.store import LastAdminError
from tests.people.worlds import NOW, PLACE, PeopleWorld

ROOT = caller_at_terminal("root", "uid=root", "mx1 pts/0")
SEE = {"people.list", "people.show", "people.sessions", "keys.list"}
CHANGE = {
    "people.add",
    "people.roles",
    "people.off",
    "people.on",
    "people.link",
    "people.forget",
    "keys.add",
    "keys.remove",
}
OWN = {"people.me", "people.end_session"}


class FolderSite:
    """As much of a site as these calls use."""

    def __init__(self, state: Path) -> None:
        self.state = state


@pytest.fixture
def world(tmp_path: Path) -> PeopleWorld:
    assert state_files.PEOPLE == "people.db"
    made = PeopleWorld(tmp_path)
    made.add("anna", Role.ADMIN)
    made.add("carl", Role.ADMIN)
    made.add("bob", Role.READER, addresses=["bob@example.org"])
    made.add("sue", Role.SUPPORT, domains=["example.org"])
    return made


@pytest.fixture
def site(world: PeopleWorld) -> Site:
    return FolderSite(world.path.parent)  # type: ignore[return-value]


def page(world: PeopleWorld, name: str) -> Caller:
    person = world.store.named(name)
    return with_roles(name, person.roles, person.scope, way=CallWay.PAGE, source="", place=PLACE)


def key(world: PeopleWorld, *rights: Right, scope: Scope | None = None) -> Caller:
    return Caller(
        name="anna/script",
        roles=frozenset({Role.ADMIN}),
        rights=frozenset(rights),
        scope=scope or Scope(),
        way=CallWay.KEY,
    )


def calls() -> list[Call]:
    return [call for name, call in CALLS.items() if name.startswith(("people.", "keys."))]


def test_every_call_is_declared_and_every_act_stands_in_the_audit_log() -> None:
    names = {call.name for call in calls()}
    assert names == SEE | CHANGE | OWN
    acts = {name for name in ACTS if name.startswith(("people.", "keys."))}
    assert {call.name for call in calls() if call.acts} == acts
    assert all(set(call.about) <= set(call.asked.__struct_fields__) for call in calls())


@pytest.mark.parametrize("role", Role)
def test_a_role_may_make_the_calls_of_the_table(role: Role) -> None:
    may = {call.name for call in calls() if ROLE_RIGHTS[role] & set(call.needs)}
    assert may == {
        Role.ADMIN: SEE | CHANGE | OWN,
        Role.AUDITOR: SEE | OWN,
    }.get(role, OWN)
    # of whom a scope narrows, those calls alone that heed it
    assert {call.name for call in calls() if call.scoped} == OWN


def test_who_is_added_sets_a_password_by_the_link(world: PeopleWorld, site: Site) -> None:
    order = NewPersonOrder(name="Dora", roles=[Role.DUTY], language="ru")
    made = add_person(site, page(world, "anna"), order)
    assert (made.person.name, made.person.made_by, made.person.password) == ("dora", "anna", False)
    token = made.path.removeprefix(PATH)
    assert LinkBook(world.store).use(token, "a password of dora", made.until - 1) is not None
    assert isinstance(world.log_in("dora", "a password of dora").token, str)  # type: ignore[union-attr]


ADMINS_RIGHTS = ROLE_RIGHTS[Role.ADMIN]
ON_ANNA: dict[str, Callable[[Site, Caller], object]] = {
    "roles": lambda site, caller: change_roles(
        site, caller, RolesOrder(name="anna", roles=[Role.READER])
    ),
    "off": lambda site, caller: turn_off(site, caller, PersonOrder(name="anna")),
    "on": lambda site, caller: turn_on(site, caller, PersonOrder(name="anna")),
    "link": lambda site, caller: make_link(site, caller, LinkOrder(name="anna")),
    "forget": lambda site, caller: forget_person(site, caller, PersonOrder(name="anna")),
    "end": lambda site, caller: end_session(site, caller, SessionOrder(name="anna")),
    "key": lambda site, caller: remove_key(site, caller, KeyOrder(person="anna", name="k")),
}


@pytest.mark.parametrize("how", ON_ANNA)
@pytest.mark.parametrize(
    "caller",
    [
        Caller(name="x/k", rights=frozenset({Right.PEOPLE, Right.TRACK}), way=CallWay.KEY),
        Caller(
            name="x/k",
            rights=frozenset(Right),
            scope=Scope(frozenset({"example.org"})),
            way=CallWay.KEY,
        ),
    ],
    ids=["fewer rights", "narrower"],
)
def test_nobody_changes_who_may_more(
    world: PeopleWorld, site: Site, how: str, caller: Caller
) -> None:
    before = world.store.named("anna")
    token = world.logged_in("anna").token
    with pytest.raises(NotAllowedError):
        ON_ANNA[how](site, caller)
    after = world.store.named("anna")
    assert (after.password, after.roles, after.state) == (
        before.password,
        before.roles,
        before.state,
    )
    assert world.sessions.caller_of(token, PLACE, NOW) is not None


@pytest.mark.parametrize("role", Role)
def test_nobody_gives_a_right_that_they_have_not(
    world: PeopleWorld, site: Site, role: Role
) -> None:
    caller = key(world, Right.PEOPLE, *ROLE_RIGHTS[Role.SUPPORT])
    allowed = role in (Role.READER, Role.SUPPORT)
    gives: list[Callable[[], object]] = [
        lambda: add_person(site, caller, NewPersonOrder(name="new", roles=[role])),
        lambda: change_roles(site, caller, RolesOrder(name="sue", roles=[role])),
    ]
    for number, give in enumerate(gives):
        if allowed:
            give()
            continue
        with pytest.raises(NotAllowedError, match="can't give"):
            give()
        assert number or world.store.find("new") is None
    assert world.store.named("sue").roles == {role if allowed else Role.SUPPORT}


def test_nobody_gives_a_wider_scope_than_theirs(world: PeopleWorld, site: Site) -> None:
    narrow = Scope(frozenset({"example.org"}))
    caller = key(world, *Right, scope=narrow)
    for order in (
        NewPersonOrder(name="new", roles=[Role.SUPPORT]),
        NewPersonOrder(name="new", roles=[Role.SUPPORT], domains=["example.net"]),
        NewPersonOrder(name="new", roles=[Role.READER], addresses=["a@example.net"]),
    ):
        with pytest.raises(NotAllowedError, match="beyond"):
            add_person(site, caller, order)
    with pytest.raises(NotAllowedError, match="beyond"):
        change_roles(site, caller, RolesOrder(name="sue", domains=[]))
    order = NewPersonOrder(name="new", roles=[Role.SUPPORT], domains=["example.org"])
    assert not add_person(site, caller, order).person.whole_site


def test_an_admin_gives_every_role(world: PeopleWorld, site: Site) -> None:
    for role in Role:
        add_person(site, page(world, "anna"), NewPersonOrder(name=f"new-{role}", roles=[role]))
    everybody = list_people(site, page(world, "anna"), PeopleQuestion()).people
    assert len(everybody) == 4 + len(Role)
    admins = list_people(site, page(world, "anna"), PeopleQuestion(role=Role.ADMIN)).people
    assert [person.name for person in admins] == ["anna", "carl", "new-admin"]


def test_the_last_admin_stays_whoever_asks(world: PeopleWorld, site: Site) -> None:
    forget_person(site, page(world, "anna"), PersonOrder(name="carl"))
    for caller in (page(world, "anna"), ROOT):
        for how in ("roles", "off", "forget"):
            with pytest.raises(LastAdminError):
                ON_ANNA[how](site, caller)


def test_a_change_keeps_what_it_does_not_name_and_ends_sessions(
    world: PeopleWorld, site: Site
) -> None:
    token = world.logged_in("sue").token
    order = RolesOrder(name="sue", addresses=["sue@example.org"])
    changed = change_roles(site, ROOT, order).person
    assert (changed.roles, changed.domains) == ([Role.SUPPORT], ["example.org"])
    assert changed.addresses == ["sue@example.org"]
    assert world.sessions.caller_of(token, PLACE, NOW) is None
    with pytest.raises(PeopleError, match="one role"):
        change_roles(site, ROOT, RolesOrder(name="sue", roles=[]))
    with pytest.raises(NotFoundError):
        change_roles(site, ROOT, RolesOrder(name="nobody\udcff", roles=[Role.READER]))


def test_off_and_on_take_each_other_back(world: PeopleWorld, site: Site) -> None:
    assert turn_off(site, ROOT, PersonOrder(name="bob")).person.state is PersonState.OFF
    world.refused("bob")
    assert turn_on(site, ROOT, PersonOrder(name="bob")).person.state is PersonState.ACTIVE
    world.logged_in("bob")


def test_a_new_link_voids_the_password_and_the_second_step_if_that_is_said(
    world: PeopleWorld, site: Site
) -> None:
    with world.store.transaction() as db:
        db.execute("UPDATE person SET totp = 'JBSWY3DPEHPK3PXP'")
    for without in (False, True):
        answer = make_link(site, ROOT, LinkOrder(name="bob", without_step=without))
        assert (answer.person.password, answer.person.second_step) == (False, not without)
    world.refused("bob")


def test_everybody_sees_and_ends_their_own_sessions(world: PeopleWorld, site: Site) -> None:
    first, second = world.logged_in("bob", now=NOW).token, world.logged_in("bob", now=NOW + 1).token
    bob, newest = page(world, "bob"), world.sessions.of(world.store.named("bob"), NOW + 1)[0]
    assert show_oneself(site, bob, OwnQuestion()).person.name == "bob"
    end_session(site, bob, SessionOrder(name="bob", session=newest.ident))
    assert world.sessions.caller_of(second, PLACE, NOW + 1) is None
    assert world.sessions.caller_of(first, PLACE, NOW + 1) is not None
    with pytest.raises(NotAllowedError):
        end_session(site, bob, SessionOrder(name="anna"))
    with pytest.raises(NotAllowedError):
        end_session(site, bob, SessionOrder(name="nobody"))
    with pytest.raises(NotAllowedError):
        show_oneself(site, key(world, *Right), OwnQuestion())
    with pytest.raises(PeopleError):
        end_session(site, ROOT, SessionOrder(name="bob", session="' OR 1"))
    assert end_session(site, ROOT, SessionOrder(name="bob")).ended == 1
    assert list_sessions(site, ROOT, PersonQuestion(name="bob")).sessions == []


def test_a_key_is_made_by_whom_it_calls_for(world: PeopleWorld, site: Site) -> None:
    order = NewKeyOrder(person="anna", name="script", rights=[Right.TRACK], days=30)
    for caller in (page(world, "carl"), key(world, *Right)):
        with pytest.raises(NotAllowedError):
            add_key(site, caller, order)
    made = add_key(site, page(world, "anna"), order)
    caller_made = KeyBook(world.store).caller_of(made.key, PLACE, made.until - 1)
    assert caller_made is not None
    assert caller_made.rights == {Right.TRACK}
    (listed,) = list_keys(site, ROOT, KeyQuestion(person="anna")).keys
    assert listed == show_person(site, ROOT, PersonQuestion(name="anna")).keys[0]
    assert made.key not in str(listed)
    assert list_keys(site, ROOT, KeyQuestion(person="carl")).keys == []
    remove_key(site, page(world, "carl"), KeyOrder(person="anna", name="script"))
    assert list_keys(site, ROOT, KeyQuestion()).keys == []


def test_at_a_terminal_a_key_is_made_for_anybody(world: PeopleWorld, site: Site) -> None:
    order = NewKeyOrder(person="sue", name="script", rights=[Right.TRACK], days=1)
    assert add_key(site, ROOT, order).person == "sue"
    for days in (0, -1, 1e9, float("nan"), float("inf")):
        with pytest.raises(PeopleError):
            add_key(
                site, ROOT, NewKeyOrder(person="sue", name="b", rights=[Right.TRACK], days=days)
            )


@pytest.mark.parametrize(
    "order",
    [
        (add_person, NewPersonOrder(name="new", roles=[Role.READER], dry=True)),
        (change_roles, RolesOrder(name="bob", roles=[Role.SUPPORT], dry=True)),
        (turn_off, PersonOrder(name="bob", dry=True)),
        (make_link, LinkOrder(name="bob", without_step=True, dry=True)),
        (forget_person, PersonOrder(name="bob", dry=True)),
        (end_session, SessionOrder(name="bob", dry=True)),
        (add_key, NewKeyOrder(person="bob", name="k", rights=[Right.OWN], days=1, dry=True)),
        (remove_key, KeyOrder(person="anna", name="there", dry=True)),
    ],
    ids=lambda order: order[0].__name__,
)
def test_what_is_tried_changes_nothing_and_tells_no_secret(
    world: PeopleWorld, site: Site, order: tuple[Callable[..., object], object]
) -> None:
    world.logged_in("bob")
    add_key(site, ROOT, NewKeyOrder(person="anna", name="there", rights=[Right.TRACK], days=1))

    def rows() -> list[object]:
        tables = ("person", "session", "link", "api_key")
        return [world.store.rows(f"SELECT * FROM {table} ORDER BY 1") for table in tables]

    before = rows()
    function, asked = order
    answer = function(site, ROOT, asked)
    assert rows() == before
    assert not getattr(answer, "path", "")
    assert not getattr(answer, "key", "")


def test_a_change_of_a_person_names_what_takes_it_back(world: PeopleWorld, site: Site) -> None:
    was = world.store.named("sue")
    order = RolesOrder(name="sue", roles=[Role.ANALYST], domains=[])
    undo = change_roles(site, ROOT, order).undo
    assert undo is not None
    assert undo.call == "people.roles"
    change_roles(site, ROOT, msgspec.convert(undo.asked, RolesOrder))
    assert world.store.named("sue") == was
    undo = turn_off(site, ROOT, PersonOrder(name="sue")).undo
    assert undo is not None
    assert (undo.call, undo.asked) == ("people.on", {"name": "sue"})
    assert turn_off(site, ROOT, PersonOrder(name="sue")).undo is None
