"""Incidents by HTTP: all to staff, his own to a customer, and without what helps a spammer."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from oborona import state_files
from oborona.accounts.incidents.incident_view import IncidentsPage
from oborona.accounts.incidents.store import IncidentStore
from oborona.cli import main
from tests.doors.http.account_site import BOTH, ITS_READER, READER, ask, door, fill, open_incident
from tests.doors.http.sittings import Sittings

HIDDEN = (
    b"HOURLY",
    b":901",
    b":202",
    b"901 ",
    b"anna",
    b"a bot",
    b"Buy now",
    b"duty",
    b"rating",
    b"actions",
)


async def listed(at: Sittings, query: str, key: str = READER) -> list[int]:
    status, body = await ask(at, f"/v1/incidents{query}", key)
    assert status == 200, body
    return [one.id for one in msgspec.json.decode(body, type=IncidentsPage).incidents]


async def test_staff_sees_what_the_command_shows(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        for ident in ("1", "2", "3"):
            words = ["--state", str(open_folder), "incident", "show", ident, "--json"]
            shown = CliRunner().invoke(main, words)
            assert shown.exit_code == 0, shown.output
            status, body = await ask(at, f"/v1/incidents/{ident}", READER)
            assert (status, msgspec.json.decode(body)) == (200, msgspec.json.decode(shown.stdout))
        found = msgspec.json.decode((await ask(at, "/v1/incidents/1", READER))[1])
        assert (found["verdict"], found["verdict_by"], found["value"]) == ("spam", "anna", 901)
        assert [action["kind"] for action in found["actions"]] == ["alert", "second"]


async def test_a_customer_sees_his_own_and_nothing_that_helps_a_spammer(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        status, body = await ask(at, "/v1/incidents/1", ITS_READER)
        found = msgspec.json.decode(body)
        assert (status, found["account"], found["verdict"]) == (200, "joe", "spam")
        page = (await ask(at, "/v1/incidents", ITS_READER))[1]
        assert not [word for word in HIDDEN if word in body + page]
        unknown = await ask(at, "/v1/incidents/99", ITS_READER)
        assert unknown[0] == 404
        for foreign in ("2", "3"):
            assert await ask(at, f"/v1/incidents/{foreign}", ITS_READER) == unknown
        assert await listed(at, "", ITS_READER) == [1]
        assert await listed(at, "?customer=c%2017", ITS_READER) == [1]
        assert await listed(at, "?account=joe@example.com", ITS_READER) == [1]
        nobody = await ask(at, "/v1/incidents?account=nobody", ITS_READER)
        assert nobody[0] == 404
        assert await ask(at, "/v1/incidents?account=ann", ITS_READER) == nobody
        for customer in ("c18", "", "c99"):
            assert (await ask(at, f"/v1/incidents?customer={customer}", ITS_READER))[0] == 404


async def test_they_are_sorted_out_by_what_is_asked(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        assert await listed(at, "") == [3, 2, 1]
        assert await listed(at, "?state=open") == [3, 2]
        assert await listed(at, "?state=closed") == [1]
        assert await listed(at, "?account=ANN@example.com") == [2]
        assert await listed(at, "?account=sam%2Fx&state=closed") == []
        assert await listed(at, "?customer=c18") == [2]
        assert await listed(at, "?customer=") == [3, 2, 1], "as accounts are"
        assert await listed(at, "?before=3&state=open") == [2]


async def test_pages_follow_each_other(open_folder: Path) -> None:
    fill(open_folder)
    with IncidentStore(open_folder / state_files.ACCOUNTS) as store:
        for number in range(120):
            open_incident(store, "joe", time.time(), limit=f"L{number}")
    async with door(open_folder).serving() as at:
        for limit in (1000, 123, 50, 7):
            found, before = list[int](), ""
            while True:
                _, body = await ask(at, f"/v1/incidents?limit={limit}{before}")
                page = msgspec.json.decode(body, type=IncidentsPage)
                found += [one.id for one in page.incidents]
                if page.next is None:
                    break
                assert len(page.incidents) == limit
                before = f"&before={page.next}"
            assert found == [*range(123, 0, -1)]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/incidents/", 404),
        ("/v1/incidents/0", 404),
        ("/v1/incidents/-1", 404),
        ("/v1/incidents/1.0", 404),
        ("/v1/incidents/%D9%A1", 404),
        ("/v1/incidents/" + "9" * 18, 404),
        ("/v1/incidents/" + "9" * 19, 404),
        ("/v1/incidents/" + "9" * 7000, 404),
        ("/v1/incidents/%ff", 400),
        ("/v1/incidents/1/take", 404),
        ("/v1/incidents?before=" + "9" * 19, 400),
        ("/v1/incidents?before=x", 400),
        ("/v1/incidents?before=0", 200),
        ("/v1/incidents?state=spam", 400),
        ("/v1/incidents?state=", 400),
        ("/v1/incidents?state=open&state=open", 400),
        ("/v1/incidents?limit=1001", 400),
        ("/v1/incidents?account=%ff%00", 404),
        ("/v1/incidents?verdict=spam", 400),
        ("/v1/incidentsx", 404),
    ],
)
@pytest.mark.parametrize("key", [BOTH, ITS_READER])
async def test_what_is_hostile_is_answered(
    open_folder: Path, path: str, status: int, key: str
) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        assert (await ask(at, path, key))[0] == status


async def test_without_accounts_there_are_none_and_a_damaged_file_is_said(
    open_folder: Path,
) -> None:
    async with door(open_folder).serving() as at:
        assert await listed(at, "") == []
        assert (await ask(at, "/v1/incidents?account=joe"))[0] == 404
        assert (await ask(at, "/v1/incidents/1"))[0] == 404
        assert not (open_folder / state_files.ACCOUNTS).exists()
        (open_folder / state_files.ACCOUNTS).write_bytes(b"no database" * 1000)
        for path in ("/v1/incidents", "/v1/incidents/1"):
            assert (await ask(at, path))[0] == 503
