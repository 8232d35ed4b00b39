"""The audit log as the desk tells it: all of it, one's own rows, and whether the chain is whole."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from oborona import secret, state_files
from oborona.audit.row import ActOutcome, AuditRow, RowKind
from oborona.audit.site_key import audit_key
from oborona.audit.store import AuditStore
from oborona.desk import calls
from oborona.desk.asks.audit import (
    AuditQuestion,
    ChainQuestion,
    find_acts,
    verify_chain,
)
from oborona.desk.call import CallError
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.people.caller import Caller, CallWay, Scope, caller_at_terminal
from oborona.people.rights import Role
from tests.desk.calls import person, site_of

assert calls.__doc__
KEEP = 400 * 86_400_000_000
ROOT = caller_at_terminal("root", "uid=root", "mx1 pts/0")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = site_of(tmp_path / "state")
    secret.make(made.state)
    return made


def act(
    site: Site, who: str, about: str, *, way: str = CallWay.PAGE, undo: str = "", name: str = ""
) -> None:
    now = time.time_ns() // 1000
    row = AuditRow(
        number=0, kind=RowKind.BEGUN, at=now, act=name or "people.off", person=who, way=way,
        about=about, arguments="{}", source="loginuid=bob sudo=anna" if way == "terminal" else "",
    )  # fmt: skip
    ended = AuditRow(
        number=0, kind=RowKind.ENDED, at=now, act=row.act, outcome=ActOutcome.DONE, undo=undo
    )
    with AuditStore(site.state / state_files.AUDIT, audit_key(site.state)) as store:
        store.end(row, store.begin(row, KEEP), ended)


def seen(site: Site, caller: Caller, **asked: object) -> list[str]:
    return [one.about for one in find_acts(site, caller, AuditQuestion(**asked)).acts]  # type: ignore[arg-type]


def test_an_empty_log_has_no_acts_and_no_chain(site: Site) -> None:
    found = find_acts(site, ROOT, AuditQuestion())
    assert (found.acts, found.more, found.own) == ([], False, False)
    with pytest.raises(StoreError):
        verify_chain(site, ROOT, ChainQuestion())


def test_who_sees_all_of_it_and_who_their_own(site: Site) -> None:
    for who in ("anna", "bob", "anna/script", "annabel", "anna%"):
        act(site, who, who)
    act(site, "anna", "terminal", way="terminal")
    everything = ["terminal", "anna%", "annabel", "anna/script", "bob", "anna"]
    for role in (Role.ADMIN, Role.DUTY, Role.AUDITOR):
        assert seen(site, person("anna", role)) == everything
    for role in (Role.READER, Role.SUPPORT, Role.ANALYST):
        assert seen(site, person("anna", role)) == ["anna/script", "anna"]
        assert seen(site, person("anna", role), person="bob") == []
        assert find_acts(site, person("anna", role), AuditQuestion()).own
    # an auditor of one domain can't be told rows apart by what they are about
    narrow = person("bob", Role.AUDITOR, scope=Scope(frozenset({"a.example"})))
    assert seen(site, narrow) == ["bob"]
    assert seen(site, narrow, looks=True, about="anna") == []


def test_acts_are_found_in_pages(site: Site) -> None:
    for number in range(7):
        act(site, "anna", str(number))
    first = find_acts(site, ROOT, AuditQuestion(most=3))
    assert ([one.about for one in first.acts], first.more) == (["6", "5", "4"], True)
    rest = find_acts(site, ROOT, AuditQuestion(most=4, before=first.acts[-1].number))
    assert ([one.about for one in rest.acts], rest.more) == (["3", "2", "1", "0"], False)
    assert seen(site, ROOT, act="people", about="5") == ["5"]
    assert seen(site, ROOT, until="1d") == []
    assert seen(site, ROOT, person="\udcff\ud800", act="\x00", about="%") == []
    for wrong in ("yesterday", "7 fortnights", "\ud800", "9" * 400):
        with pytest.raises(CallError):
            seen(site, ROOT, since=wrong)


@pytest.mark.parametrize(
    ("undo", "caller", "shown"),
    [
        ('{"call":"people.on","asked":{"name":"x"}}', person("anna", Role.ADMIN), True),
        ('{"call":"people.on","asked":{"name":"x"}}', person("anna", Role.AUDITOR), False),
        ('{"call":"people.list","asked":{}}', person("anna", Role.ADMIN), False),
        ('{"call":"nothing.there","asked":{}}', person("anna", Role.ADMIN), False),
        ('{"call":7}', person("anna", Role.ADMIN), False),
        ("[" * 5000, person("anna", Role.ADMIN), False),
        ("", person("anna", Role.ADMIN), False),
    ],
)
def test_what_takes_an_act_back_is_told_to_who_may(
    site: Site, undo: str, caller: Caller, shown: bool
) -> None:
    act(site, "bob", "x", undo=undo)
    found = find_acts(site, caller, AuditQuestion())
    assert found.undoable == ([1] if shown else [])


def test_the_chain_is_whole_until_a_row_is_changed(site: Site) -> None:
    act(site, "anna", "x")
    report = verify_chain(site, ROOT, ChainQuestion())
    assert (report.rows, report.faults) == (2, [])
    assert verify_chain(site, ROOT, ChainQuestion(anchor=report.end)).faults == []
    for wrong in ("x", "1:", "0:" + "0" * 64, "1:zz", "\ud800:1"):
        with pytest.raises(CallError):
            verify_chain(site, ROOT, ChainQuestion(anchor=wrong))
    with AuditStore(site.state / state_files.AUDIT) as store, store.transaction() as db:
        db.execute("UPDATE audit SET person = 'bob' WHERE number = 1")
    assert verify_chain(site, ROOT, ChainQuestion()).faults
