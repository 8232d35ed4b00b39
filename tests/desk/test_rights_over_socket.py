"""The whole table over the desk's socket: each call by each role, with and without a scope; and
that who has a scope is told nothing from beyond it, whatever they ask for.
"""

from __future__ import annotations

import enum
import socket
import time
import types
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import aiohttp
import msgspec
import pytest
import pytest_asyncio

from oborona import secret, state_files
from oborona.audit.declarations import ACTS
from oborona.desk.call import CALLS, Call
from oborona.desk.call_runner import CallRunner
from oborona.desk.openapi import describe_calls
from oborona.desk.server import DeskServer
from oborona.desk.sign_in import SignIn
from oborona.feedback.events.model import EventKind
from oborona.people.key_book import KeyBook
from oborona.people.rights import FRESH_NEEDED, NO_REASON, REASON_NEEDED, ROLE_RIGHTS, Right, Role
from oborona.people.session_book import SessionBook
from oborona.people.store import PeopleStore, new_person
from tests.desk.messages_site import move
from tests.desk.spoken_site import BOB, SpokenSite

HERS: Final = "c.example"  # what scopes are here: nobody's mail is within
SAMPLE_DEPTH: Final = 4
PLACE, AGENT = "192.0.2.1", "a test"


def sample(kind: Any, depth: int = 0) -> Any:
    """Return a value of a type, as JSON has it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        limits = inner[1]
        if getattr(limits, "pattern", None):
            return "a"
        least = getattr(limits, "ge", None)
        return least if least is not None else sample(inner[0], depth)
    if origin in {Union, types.UnionType}:
        return None if type(None) in inner else sample(inner[0], depth)
    if origin is Literal:
        return inner[0]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind)).value
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return body_of(kind, depth + 1)
    if kind is bytes:
        return "eA=="
    if dict in {origin, kind}:
        return {}
    if origin is not None:  # a list, a set
        return [sample(inner[0], depth + 1)] if depth < SAMPLE_DEPTH else []
    return {str: "x", int: 1, float: 1.0, bool: False}.get(kind)


def body_of(kind: type[msgspec.Struct], depth: int = 0) -> dict[str, Any]:
    """Return the least that a struct has to have."""
    fields = msgspec.structs.fields(kind)
    return {field.encode_name: sample(field.type, depth) for field in fields if field.required}


def told(call: Call, **more: Any) -> dict[str, Any]:
    """Return what a call has to be told, and a reason where it takes one."""
    names = {field.encode_name for field in msgspec.structs.fields(call.asked)}
    return body_of(call.asked) | {name: value for name, value in more.items() if name in names}


class TableDesk:
    """A desk, and who may speak to it: a person of each role with and without a scope.

    Args:
        http: to its socket.
        tokens: by role, and whether there is a scope.
        stale: the same, whose passwords were given long ago.
        people: the store that they are in.
    """

    def __init__(self, http: aiohttp.ClientSession, people: PeopleStore) -> None:
        self.http, self.people = http, people
        self.tokens: dict[tuple[Role, bool], str] = {}
        self.stale: dict[tuple[Role, bool], str] = {}
        now, sessions = time.time(), SessionBook(people, step_required=False)
        for role in Role:
            for scoped in (False, True):
                person = people.add(
                    new_person(
                        f"{role}-{'scoped' if scoped else 'whole'}", roles=frozenset({role}),
                        domains=frozenset({HERS} if scoped else ()), addresses=frozenset(),
                        language="", made_by="test", now=now,
                    )
                )  # fmt: skip
                self.tokens[role, scoped] = sessions.begin(person, PLACE, AGENT, now)
                self.stale[role, scoped] = sessions.begin(person, PLACE, AGENT, now - 700)

    async def ask(self, name: str, body: dict[str, Any], token: str) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with self.http.post(f"http://desk/v1/{name}", json=body, headers=headers) as answer:
            return answer.status, await answer.text()


async def serve(site: SpokenSite, calls: dict[str, Call], folder: Path) -> AsyncIterator[TableDesk]:
    sign_in = SignIn(site.site)
    server = DeskServer(
        CallRunner(site.site), sign_in.caller_of, calls=calls, open_calls=sign_in.open_calls,
        description=describe_calls(calls),
    )  # fmt: skip
    path = folder / "desk.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)
        await server.start(listener)
        connector = aiohttp.UnixConnector(str(path))
        with PeopleStore(site.state / state_files.PEOPLE) as people:
            async with aiohttp.ClientSession(connector=connector) as http:
                yield TableDesk(http, people)
        await server.drain(1)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> SpokenSite:
    made = SpokenSite(tmp_path_factory.mktemp("table"))
    if not (made.state / state_files.SECRET).exists():
        secret.make(made.state)
    made.say(made.lottery, BOB, EventKind.COMPLAINT)
    move(made.site, made.entry(made.lottery), BOB)
    made.say(made.lunch, BOB, EventKind.PARDON, raw=b"Subject: lottery\r\n\r\nbob@b.example\r\n")
    return made


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def table(
    site: SpokenSite, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TableDesk]:
    """A desk whose calls do nothing: what is tried is who comes to them."""
    reached = {
        name: call._replace(function=lambda *_: {"reached": True}) for name, call in CALLS.items()
    }
    async for desk in serve(site, reached, tmp_path_factory.mktemp("door")):
        yield desk
    with PeopleStore(site.state / state_files.PEOPLE) as people, people.transaction() as db:
        for name in ("session", "api_key", "person"):
            db.execute(f"DELETE FROM {name}")


def may(role: Role, call: Call, *, scoped: bool) -> bool:
    """Return what the table of people/rights.py says."""
    whole = not scoped and role is not Role.READER
    return bool(ROLE_RIGHTS[role] & set(call.needs)) and (whole or call.scoped)


def must_say_why(role: Role, call: Call) -> bool:
    """Return whether a role may make a call only with a reason."""
    kept_short = REASON_NEEDED.get(role, frozenset())
    having = [right for right in call.needs if right in ROLE_RIGHTS[role]]
    free = [right for right in having if right not in kept_short]
    return not free or (call.acts and free[0] not in NO_REASON)


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("name", sorted(CALLS))
async def test_each_role_reaches_what_the_table_says(table: TableDesk, name: str) -> None:
    call = CALLS[name]
    why = told(call, reason="it is asked for")
    for (role, scoped), token in table.tokens.items():
        status, text = await table.ask(name, why, token)
        wanted = 200 if may(role, call, scoped=scoped) else 403
        assert status == wanted, f"{role}, {'a scope' if scoped else 'no scope'}: {text}"
        if wanted == 403:
            assert "reached" not in text
    for token in ("", "x", "obk_" + "a" * 32):
        assert (await table.ask(name, why, token))[0] == 401


@pytest.mark.parametrize("name", sorted(CALLS))
async def test_who_must_say_why_is_asked_to(table: TableDesk, name: str) -> None:
    call = CALLS[name]
    for (role, scoped), token in table.tokens.items():
        if may(role, call, scoped=scoped):
            status, text = await table.ask(name, told(call), token)
            assert status == (422 if must_say_why(role, call) else 200), f"{role}: {text}"


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if call.acts])
async def test_what_hurts_asks_for_the_password_once_more(table: TableDesk, name: str) -> None:
    call = CALLS[name]
    for (role, scoped), token in table.stale.items():
        if not may(role, call, scoped=scoped):
            continue
        hurts = not (ROLE_RIGHTS[role] & set(call.needs) - FRESH_NEEDED)
        status, text = await table.ask(name, told(call, reason="x"), token)
        assert ("password" in text) == (status == 403)
        # where a right that hurts and another would both do, either may be asked by
        assert status == 403 if hurts else status in {200, 403}, f"{role}: {text}"
        if ACTS[name].dry:
            assert (await table.ask(name, told(call, dry=True), token))[0] == 200


@pytest.mark.parametrize("right", [Right.TRACK, Right.PEOPLE_SEE, Right.SYSTEM, Right.AUDIT])
@pytest.mark.parametrize("scoped", [False, True])
async def test_a_key_reaches_what_it_was_given(
    table: TableDesk, right: Right, scoped: bool
) -> None:
    now = time.time()
    key = KeyBook(table.people).add(
        table.people.named("admin-whole"), f"{right}-{scoped}", rights=[right],
        domains=frozenset({HERS} if scoped else ()), until=now + 1000, now=now,
    )  # fmt: skip
    for name, call in CALLS.items():
        status, text = await table.ask(name, told(call, reason="nightly"), key)
        wanted = right in call.needs and (call.scoped or not scoped)
        assert status == (200 if wanted else 403), f"{name}: {text}"


def hostile_bodies(call: Call, site: SpokenSite) -> Iterator[dict[str, Any]]:
    """Yield what somebody would ask who wants to see what is not theirs."""
    fields = [
        field.encode_name
        for field in msgspec.structs.fields(call.asked)
        if field.encode_name not in {"reason", "dry", "key", "since", "until", "older", "session"}
    ]
    base = told(call, reason="because", dry=True)
    yield base
    texts = (BOB, "b.example", site.lottery, site.lunch, f"to:{BOB}", "lottery", "bob")
    for value in (*texts, 1, 2):
        for name in fields:
            for shaped in (value, [value]):
                body = base | {name: shaped}
                try:
                    msgspec.convert(body, call.asked)
                except msgspec.ValidationError:
                    continue
                yield body


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def real(
    site: SpokenSite, tmp_path_factory: pytest.TempPathFactory, table: TableDesk
) -> AsyncIterator[TableDesk]:
    """A desk whose calls do what they do; after the table's, whose people are its."""
    server_folder = tmp_path_factory.mktemp("real")
    with PeopleStore(site.state / state_files.PEOPLE) as people, people.transaction() as db:
        for name in ("session", "person"):
            db.execute(f"DELETE FROM {name}")
    async for desk in serve(site, dict(CALLS), server_folder):
        yield desk


@pytest.mark.parametrize("name", sorted(name for name, call in CALLS.items() if call.scoped))
async def test_nothing_from_beyond_a_scope_is_told(
    real: TableDesk, site: SpokenSite, name: str
) -> None:
    call = CALLS[name]
    roles = [role for role in Role if may(role, call, scoped=True)]
    for body in hostile_bodies(call, site):
        shown = msgspec.json.encode(body).decode()
        for role in roles:
            status, text = await real.ask(name, body, real.tokens[role, True])
            assert status in {200, 403, 404, 422}, f"{role} {body}: {text}"
            if status == 200:
                # what they wrote themselves may be said again
                for secret_text in (BOB, site.lottery, site.lunch, "lottery", "ann@a.example"):
                    assert secret_text in shown or secret_text not in text, f"{role} {body}: {text}"


async def test_the_same_is_told_to_who_has_no_scope(real: TableDesk, site: SpokenSite) -> None:
    """Else the test above would hold for an empty site."""
    token = real.tokens[Role.ANALYST, False]
    for name, body in (
        ("messages.find", {"query": f"to:{BOB}"}),
        ("messages.explain", {"what": site.lottery}),
        ("events.list", {"person": BOB}),
        ("events.person", {"person": BOB}),
        ("recheck.moves", {}),
    ):
        status, text = await real.ask(name, body, token)
        assert status == 200
        assert BOB in text
