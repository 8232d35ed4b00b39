"""A store of people that an earlier version wrote."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from oborona.people import schema
from oborona.people.login_try import AttemptBook
from oborona.people.login_way import LoginWay
from oborona.people.rights import Role
from oborona.people.session_book import SessionBook
from oborona.people.store import PeopleStore, new_person
from oborona.people.token import token_hash


def test_who_was_signed_in_by_a_password_stays_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "people.db", time.time()
    earlier = schema.SHARED._replace(
        format=schema.SHARED.format._replace(migrations=schema.MIGRATIONS[:1])
    )
    monkeypatch.setattr(PeopleStore, "shared", earlier)
    with PeopleStore(path) as store:
        nothing = frozenset[str]()
        anna = store.add(
            new_person(
                "anna",
                roles=frozenset({Role.ADMIN}),
                domains=nothing,
                addresses=nothing,
                language="",
                made_by="root",
                now=now,
            )
        )
        with store.transaction() as db:
            db.execute(
                "INSERT INTO session VALUES (?, 'a1', ?, ?, ?, ?, '192.0.2.1', 'curl')",
                (token_hash("token"), anna.id, now, now, now),
            )
            db.execute(
                "INSERT INTO attempt (at, person, place, agent, outcome)"
                " VALUES (?, ?, '192.0.2.1', 'curl', 'done')",
                (now, anna.id),
            )
    monkeypatch.setattr(PeopleStore, "shared", schema.SHARED)
    with PeopleStore(path) as store:
        view = SessionBook(store, step_required=True).look("token", "192.0.2.1", now)
        assert view is not None
        assert (view.session.way, view.must_enrol) == (LoginWay.PASSWORD, True)
        assert [one.way for one in AttemptBook(store).of(anna)] == [LoginWay.PASSWORD]
