"""Pages of three machines that run: all are asked, one is killed, one stands still, one has another
clock; acts go where the thing is, by the word of the home desk.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest
import pytest_asyncio

from oborona import state_files
from oborona.console.desk_client import SLOW, CallerPlace, DeskClient, DeskError
from oborona.console.machines.cursor import HOME
from oborona.console.machines.machine_set import MachineHearing, MachineSet
from oborona.console.server import ConsoleServer
from oborona.desk.configured_site import SiteSource
from oborona.desk.doctor.desks import desks
from oborona.desk.doctor.report import CheckState
from oborona.desk.site import Site as ConfiguredSite
from oborona.people.caller import Scope
from oborona.people.rights import Role
from tests.console.test_with_desk import Pages
from tests.desk.machines import Machine, running

AHEAD_S = 30.0  # less than is too much


class Site(NamedTuple):
    home: Machine
    two: Machine
    three: Machine
    late: Machine  # by an hour
    false: Machine  # under the certificate of another one
    stranger: Machine  # which believes somebody else
    token: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("machines")
    home = Machine(folder, "mx1", seed=1)
    two = Machine(folder, "mx2", seed=2)
    three = Machine(folder, "mx3", seed=3, ahead=AHEAD_S)
    late = Machine(folder, "late", seed=4, ahead=-3600)
    false = Machine(folder, "false", seed=5)
    stranger = Machine(folder, "stranger", seed=6)
    for machine in (two, three, late, false):
        machine.answers_to(home)
    stranger.answers_to(two)
    others = (two, three, late, false, stranger)
    home.asks(others, {"false": two.identity.certificate})
    with running((home, *others)):
        token = home.sign_in("anna")
        yield Site(home, two, three, late, false, stranger, token)


@pytest_asyncio.fixture
async def desk(site: Site) -> AsyncIterator[DeskClient]:
    client = DeskClient(site.home.socket)
    yield client
    await client.close()


async def ask(
    machines: MachineSet, site: Site, call: str, /, heard: MachineHearing, **asked: Any
) -> Any:
    place = CallerPlace(site.token, "192.0.2.1", "test")
    return await machines.ask(heard, call, asked, place, Any, 15.0)


def patient(desk: DeskClient, *names: str) -> MachineSet:
    """Return machines that a busy test machine does not make silent."""
    return MachineSet(desk, names, deadline_s=15.0, patience_s=0.0)


async def paged(machines: MachineSet, site: Site, limit: int) -> list[tuple[str, str]]:
    """Return all rows, page by page."""
    rows, older = list[tuple[str, str]](), ""
    while True:
        found = await ask(
            machines, site, "messages.find", MachineHearing(), limit=limit, older=older
        )
        rows += [(one["id"], one["desk"]) for one in found["hits"]]
        older = found["older"]
        if not older:
            return rows


def everything(*machines: Machine, home: Machine) -> list[tuple[str, str]]:
    rows = [
        (ident, HOME if one is home else one.name) for one in machines for ident in one.idents()
    ]
    return sorted(rows, reverse=True)


@pytest.mark.asyncio
async def test_all_are_asked_and_paging_neither_loses_nor_repeats(
    site: Site, desk: DeskClient
) -> None:
    for names in ((site.two,), (site.two, site.three)):
        machines = patient(desk, *(one.name for one in names))
        expected = everything(site.home, *names, home=site.home)
        for limit in (7, 50, 500):
            assert await paged(machines, site, limit) == expected


@pytest.mark.asyncio
async def test_who_can_not_be_believed_or_asked_is_named_and_hides_nothing(
    site: Site, desk: DeskClient
) -> None:
    machines = patient(desk, "mx2", "late", "false", "stranger")
    heard = MachineHearing()
    found = await ask(machines, site, "messages.find", heard, limit=500)
    assert [(one["id"], one["desk"]) for one in found["hits"]] == everything(
        site.home, site.two, home=site.home
    )
    why = {name: one.why for name, one in heard.silent.items()}
    assert set(why) == {"late", "false", "stranger"}
    assert "the clock of mx1.example.org is" in why["late"]
    assert "ahead of this machine's" in why["late"]
    assert "another certificate" in why["false"]
    assert "can't be reached" in why["stranger"]


def test_doctor_says_who_does_not_answer(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "oborona.toml"
    file.write_text("")
    source = SiteSource(file, site.home.settings)
    found = {
        report.words.split()[0].strip(","): report
        for report in desks(ConfiguredSite(source, pytest.fail))
    }
    assert found["mx2"].words.startswith("mx2 answers")
    said = {name: (found[name].state, found[name].words) for name in ("late", "false", "stranger")}
    assert {state for state, _ in said.values()} == {CheckState.FAIL}
    assert "the clock of mx1.example.org" in said["late"][1]
    assert "another certificate" in said["false"][1]
    assert "can't be reached" in said["stranger"][1]
    (apart,) = [one.words for one in found.values() if "apart" in one.words]
    assert apart.startswith("the clocks of mx3 and of this machine are 30 s apart")


@pytest.mark.asyncio
async def test_one_that_stands_still_costs_its_deadline_once(site: Site, desk: DeskClient) -> None:
    machines = MachineSet(desk, ["mx2", "mx3"], deadline_s=3.0, patience_s=60.0)
    child = site.three.child()
    os.kill(child, signal.SIGSTOP)
    try:
        heard, begun = MachineHearing(), time.monotonic()
        found = await ask(machines, site, "messages.find", heard, limit=500)
        took = time.monotonic() - begun
        assert 3.0 <= took < 12
        assert {one["desk"] for one in found["hits"]} == {HOME, "mx2"}
        silent = heard.silent["mx3"]
        assert silent.why == "no answer within 3 s"
        assert abs(silent.since - time.time()) < 30
        heard, begun = MachineHearing(), time.monotonic()
        await ask(machines, site, "messages.find", heard, limit=5)
        assert time.monotonic() - begun < 3.0
        assert heard.silent["mx3"] == silent  # since then
    finally:
        os.kill(child, signal.SIGCONT)
    rows = list[str]()
    machines = patient(desk, "mx2", "mx3")
    until = time.monotonic() + 30
    while "mx3" not in rows and time.monotonic() < until:
        found = await ask(machines, site, "messages.find", MachineHearing(), limit=500)
        rows = [one["desk"] for one in found["hits"]]
    assert "mx3" in rows


@pytest.mark.asyncio
async def test_what_nobody_knows_where_is_sought_and_acts_go_there(
    site: Site, desk: DeskClient
) -> None:
    machines = patient(desk, "mx2", "mx3")
    ident = site.three.idents()[3]
    found: Any = None
    for _ in range(8):  # the first one reads the policy, and a busy machine takes its time
        heard = MachineHearing()
        with suppress(DeskError):
            found = await ask(machines, site, "messages.explain", heard, what=ident)
            break
    assert found["message"]["id"].startswith(ident)
    assert heard.chosen == "mx3"
    nowhere = MachineHearing()
    with pytest.raises(DeskError) as refused:
        await ask(machines, site, "messages.explain", nowhere, what="06AV0000000ZZ")
    assert refused.value.status == 404
    # an act is done there, and its audit log names who, how, and whose word it was
    order = {"id": 7, "reason": "to see", "key": "one"}
    with pytest.raises(DeskError) as missing:
        await ask(machines, site, "campaigns.take", heard, **order)
    assert missing.value.text.startswith(("mx3: ", "there is no", "no "))
    with closing(sqlite3.connect(site.three.state / state_files.AUDIT)) as db:
        db.row_factory = sqlite3.Row
        rows = [dict(row) for row in db.execute("SELECT * FROM audit")]
    done = [row for row in rows if row["act"] == "campaigns.take"]
    assert [(row["person"], row["way"], row["place"]) for row in done][:1] == [
        ("anna", "page", "192.0.2.1")
    ]
    assert done[0]["source"] == "desk=mx1.example.org"


@pytest.mark.asyncio
async def test_rights_and_scope_are_those_of_the_home_desk(site: Site, desk: DeskClient) -> None:
    token = site.home.sign_in("sue", Role.SUPPORT, Scope(frozenset({"nowhere.example"})))
    place = CallerPlace(token, desk="mx2")
    found = await desk.call("messages.find", {"limit": 500}, place, dict[str, Any])
    assert found["hits"] == []
    with pytest.raises(DeskError) as refused:
        await desk.call("campaigns.take", {"id": 1, "reason": "x"}, place)
    assert refused.value.status == 403
    with pytest.raises(DeskError) as nobody:
        await desk.call("messages.find", {}, CallerPlace("not a token", desk="mx2"))
    assert nobody.value.status == 401
    # people, keys and policy of another machine are not to be had, whoever asks
    for call in ("people.list", "keys.list", "policy.history", "people.me"):
        with pytest.raises(DeskError) as lacking:
            await desk.call(call, {}, CallerPlace(site.token, desk="mx2"))
        assert lacking.value.status == 501
    with pytest.raises(DeskError) as unknown:
        await desk.call("messages.find", {}, CallerPlace(site.token, desk="mx9"))
    assert unknown.value.status == 404


async def open_in_time(pages: Pages, path: str) -> int:
    """Open a page until its desk answers: a first ask reads much, and a busy machine takes its
    time.
    """
    for _ in range(8):
        if (status := await pages.open(path)) != SLOW:
            break
        await asyncio.sleep(0.5)
    return status


@pytest.mark.asyncio
async def test_pages_name_whose_a_row_is_and_who_was_silent(site: Site, desk: DeskClient) -> None:
    console = ConsoleServer(desk, others=["mx2", "late"], node="mx1")
    with socket.create_server(("127.0.0.1", 0)) as door:
        await console.start(door)
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
            pages = Pages(http, f"http://127.0.0.1:{door.getsockname()[1]}")
            pages.cookies["__Host-oborona"] = site.token
            for path in ("/overview", "/track", "/moves", "/queue", "/audit", "/incidents", "/said",
                         "/charts", "/health", "/health?desk=mx2"):  # fmt: skip
                assert await open_in_time(pages, path) == 200, path
            assert "mx2" in pages.text
            assert await pages.open("/track") == 200
            assert "late" in pages.text.partition("<h1>")[0]
            assert "did not answer: what it has is missing here" in pages.text
            there = site.two.idents()[0]
            assert await pages.open("/track?desk=mx2") == 200
            assert f"/message/{there}?desk=mx2" in pages.text
            for path in (f"/message/{there}?desk=mx2", f"/message/{there}"):
                assert await open_in_time(pages, path) == 200, path
                assert '<input type="hidden" name="desk" value="mx2">' in pages.text
            assert await pages.send(f"/message/{there}/teach", desk="mx2", kind="spam") in {
                200,
                422,
            }
            assert "This is done on" in pages.text
            assert "mx2" in pages.text.partition("This is done on")[2][:80]
            assert await pages.open("/track?desk=nobody") == 404
        await console.drain(0.1)


@pytest.mark.asyncio
async def test_one_that_is_killed_is_named_and_back_when_it_is_back(
    site: Site, desk: DeskClient
) -> None:
    machines = patient(desk, "mx2", "mx3")
    site.two.kill()
    heard = MachineHearing()
    found = await ask(machines, site, "messages.find", heard, limit=10)
    first = [(one["id"], one["desk"]) for one in found["hits"]]
    assert {desk for _, desk in first} == {HOME, "mx3"}
    assert "can't be reached" in heard.silent["mx2"].why
    site.two.start()
    site.two.wait()
    rows, older = first, found["older"]
    while (
        older
    ):  # what was silent comes with the pages that follow: nothing is lost, or there twice
        heard = MachineHearing()
        found = await ask(machines, site, "messages.find", heard, limit=10, older=older)
        rows, older = rows + [(one["id"], one["desk"]) for one in found["hits"]], found["older"]
    assert sorted(rows, reverse=True) == everything(site.home, site.two, site.three, home=site.home)


class OldDesk(DeskClient):
    """Machines of which one is older, one newer, and one speaks nonsense."""

    async def call(
        self, name: str, asked: object, place: CallerPlace, answer: Any = Any, within_s: float = 5
    ) -> Any:
        if place.desk == "old":
            raise DeskError(501, f"version 1 answers no {name!r} to others")
        if place.desk == "older":
            raise DeskError(422, "Object contains unknown field `moved`")
        if place.desk == "odd":
            return {"hits": [{"id": 5}], "older": "", "reached": ""}
        return {"hits": [{"id": "06AV"}], "older": "", "reached": "", "read_whole": []}


@pytest.mark.asyncio
async def test_one_of_another_version_is_named(tmp_path: Path) -> None:
    machines = MachineSet(OldDesk(tmp_path / "none"), ["old", "older"])
    for _ in range(2):  # it is asked each time: it may be upgraded meanwhile
        heard = MachineHearing()
        found = await machines.ask(heard, "messages.find", {}, CallerPlace(), Any, 5)
        assert [one["id"] for one in found["hits"]] == ["06AV"]
        assert {name: (one.since, one.why) for name, one in heard.silent.items()} == {
            "old": (0, "version 1 answers no 'messages.find' to others"),
            "older": (0, "Object contains unknown field `moved`"),
        }
    odd = MachineSet(OldDesk(tmp_path / "none"), ["odd"])
    with pytest.raises(DeskError, match="not expected") as nonsense:
        await odd.ask(MachineHearing(), "messages.find", {}, CallerPlace(), Any, 5)
    assert nonsense.value.status == 502


def test_no_key_leaves_its_machine(site: Site) -> None:
    for machine in (site.home, site.two):
        path: Path = machine.state / state_files.DESK_IDENTITY
        assert path.stat().st_mode & 0o777 == 0o600
        assert b"PRIVATE" not in machine.identity.certificate
