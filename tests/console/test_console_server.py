"""The console's server: sessions, forms from elsewhere, rights, a desk that is away."""

from __future__ import annotations

import asyncio
import gzip
import socket
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp.test_utils import make_mocked_request

from oborona.console.desk_client import CallerPlace, DeskClient, DeskError
from oborona.console.server import ConsoleServer
from oborona.console.visit import Visit
from oborona.doors.web import HttpLimits
from oborona.people.rights import Role
from tests.console.conftest import RunningConsole
from tests.console.page_case import PageCase, all_cases
from tests.console.page_request import (
    FROM_HERE,
    GUEST,
    HttpAnswer,
    cookies,
    fetch,
    form_token,
    send,
)
from tests.console.stub_desk import PASSWORD, DeskRefusalError, StubDesk, token_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

Http = aiohttp.ClientSession


async def get(console: RunningConsole, http: Http, path: str, **headers: str) -> HttpAnswer:
    async with http.get(f"{console.url}{path}", headers=headers, allow_redirects=False) as found:
        return HttpAnswer(found, await found.text())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 303),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Origin": "HOST"}, 303),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "HOST"}, 403),
        ({}, 403),
    ],
)
async def test_a_form_comes_from_a_page_of_ours(
    console: RunningConsole, http: Http, headers: dict[str, str], status: int
) -> None:
    headers = {name: value.replace("HOST", console.url) for name, value in headers.items()}
    fields = {"token": form_token(console, Role.ADMIN), "ident": "s16"}
    answer = await send(console, http, "/me/end", fields, **cookies(Role.ADMIN), **headers)
    assert answer.status == status
    ended = [call for call in console.desk.calls if call.name == "me.end_session"]
    assert len(ended) == (status == 303)


@pytest.mark.parametrize("token", ["", "x", "é", "A" * 40, "OTHER"])
async def test_a_form_has_the_token_of_its_session(
    console: RunningConsole, http: Http, token: str
) -> None:
    token = form_token(console, Role.DUTY) if token == "OTHER" else token
    fields = {"token": token, "ident": "s16"}
    answer = await send(console, http, "/me/end", fields, **cookies(Role.ADMIN), **FROM_HERE)
    assert answer.status == 403
    assert "This form is too old" in answer.shown
    assert not [call for call in console.desk.calls if call.name == "me.end_session"]


async def test_signing_in_gives_a_cookie_that_no_script_reads(
    console: RunningConsole, http: Http
) -> None:
    fields = {"name": "duty", "password": PASSWORD, "next": "/me", "code": " 123 "}
    answer = await send(
        console, http, "/sign-in", {"token": form_token(console, None), **fields},
        **FROM_HERE, Cookie=f"{GUEST}; __Host-oborona-device=old",
        **{"X-Forwarded-For": "198.51.100.9, 192.0.2.77"},
    )  # fmt: skip
    assert (answer.status, answer.headers["Location"]) == (303, "/me")
    session = answer.cookies["__Host-oborona"]
    assert session.value == token_of(Role.DUTY)
    assert (session["secure"], session["httponly"], session["samesite"], session["path"]) == (
        True, True, "Lax", "/",
    )  # fmt: skip
    assert answer.cookies["__Host-oborona-device"].value == "device-1"
    (call,) = console.desk.calls
    assert call.asked == {
        "name": "duty", "password": PASSWORD, "code": "123", "device": "old",
        "browser": "guest-of-tests",
    }  # fmt: skip
    assert call.address == "192.0.2.77"  # whom the proxy heard, not what the browser told it


@pytest.mark.parametrize(
    "back",
    ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/a b", "/\r\nX: y", ""],
)
async def test_signing_in_leads_to_no_other_site(
    console: RunningConsole, http: Http, back: str
) -> None:
    fields = {"name": "duty", "password": PASSWORD, "next": back}
    fields["token"] = form_token(console, None)
    answer = await send(console, http, "/sign-in", fields, Cookie=GUEST, **FROM_HERE)
    assert (answer.status, answer.headers["Location"]) == (303, "/")


async def test_a_session_that_ended_is_begun_anew(console: RunningConsole, http: Http) -> None:
    answer = await get(console, http, "/me?a=1", Cookie="__Host-oborona=gone")
    assert (answer.status, answer.headers["Location"]) == (303, "/sign-in?next=/me%3Fa%3D1")
    assert answer.cookies["__Host-oborona"]["max-age"] == "0"


async def test_no_address_tells_a_stranger_whether_it_is_there(
    console: RunningConsole, http: Http
) -> None:
    assert (await get(console, http, "/nowhere")).status == 404
    answer = await get(console, http, "/overview")
    assert (answer.status, answer.headers["Location"]) == (303, "/sign-in?next=/overview")


@pytest.mark.parametrize(
    ("role", "status"),
    [(Role.ADMIN, 200), (Role.AUDITOR, 200), (Role.SUPPORT, 200), (Role.READER, 404)],
)
async def test_pages_ask_for_rights(
    console: RunningConsole, http: Http, role: Role, status: int
) -> None:
    answers = next(one.answers for one in all_cases() if one.name == "overview-new")
    case = PageCase(name="", path="/overview", role=role, answers=answers)
    answer = await fetch(console, http, case)
    assert answer.status == status
    assert ('href="/overview"' in answer.text) == (status == 200)


async def test_staff_hear_which_right_they_lack(console: RunningConsole, http: Http) -> None:
    console.desk.people[token_of(Role.SUPPORT)]["rights"] = ["track"]
    answer = await fetch(console, http, PageCase(name="", path="/overview", role=Role.SUPPORT))
    assert answer.status == 403
    assert "It needs the right to: see the state of the system." in answer.shown


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/me", 405), ("GET", "/sign-out", 405), ("DELETE", "/me", 405), ("HEAD", "/sign-in", 200),
     ("GET", "/static/none.css", 404), ("GET", "/static/../server.py", 404), ("GET", "/%00", 404),
     ("GET", "/" + "a/" * 500, 404), ("GET", "/link/%ff%fe%00", 200)],
)  # fmt: skip
async def test_what_is_asked_amiss(
    console: RunningConsole, http: Http, method: str, path: str, status: int
) -> None:
    async with http.request(method, f"{console.url}{path}", headers=FROM_HERE) as found:
        assert found.status == status
        assert found.headers["Content-Security-Policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/json", b"{}", 400),
        ("application/x-www-form-urlencoded", b"a=1&" * 600, 400),
        ("application/x-www-form-urlencoded", b"\xff", 400),
        ("application/x-www-form-urlencoded", b"a=" + b"x" * 70_000, 413),
        ("multipart/form-data", b"--x--", 400),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\n--x", 400),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--', 403),
    ],
)  # fmt: skip
async def test_bodies_that_are_no_forms(
    console: RunningConsole, http: Http, kind: str, body: bytes, status: int
) -> None:
    headers = {"Content-Type": kind, **FROM_HERE, **cookies(Role.ADMIN)}
    async with http.post(f"{console.url}/me/end", data=body, headers=headers) as found:
        assert found.status == status
        assert found.content_type == "text/html"


async def test_an_act_is_shown_then_done_once_with_its_reason(
    console: RunningConsole, http: Http
) -> None:
    answers = {"recheck.undo": {"id": "17", "undo": 18}}
    form = {"id": "17", "word": "<b>", "key": "", "reason": ""}
    preview = await fetch(
        console, http, PageCase(name="", path="/try/act", form=form, answers=answers)
    )
    assert '<input type="hidden" name="word" value="&lt;b&gt;">' in preview.text
    key = preview.text.partition('name="key" value="')[2].partition('"')[0]
    assert len(key) > 20
    done = {"id": "17", "step": "do", "reason": "asked by phone", "key": key}
    for _ in range(2):  # somebody loads the page again
        answer = await fetch(console, http, PageCase(name="", path="/try/act", form=done))
        assert "Done" in answer.shown
        assert '<input type="hidden" name="id" value="18">' in answer.text
    asked = [call.asked for call in console.desk.calls if call.name == "recheck.undo"]
    assert asked == [
        {"id": "17", "reason": "", "dry": True, "key": ""},
        {"id": "17", "reason": "asked by phone", "dry": False, "key": key},
        {"id": "17", "reason": "asked by phone", "dry": False, "key": key},
    ]


async def test_a_part_of_a_page_is_away_and_the_others_are_not(console: RunningConsole) -> None:
    class Part(msgspec.Struct):
        n: int

    request = make_mocked_request("GET", "/", headers=cookies(Role.ADMIN))
    visit = Visit(request, console.server.console, "")
    console.desk.answers |= {
        "a": {"n": 1},
        "b": DeskRefusalError(503, "away"),
        "c": {"m": 1},
        "d": DeskRefusalError(422, "what?"),
    }
    assert await visit.part("a", {}, Part) == Part(1)
    assert await visit.part("b", {}, Part) is None
    assert await visit.part("c", {}, Part) is None
    with pytest.raises(DeskError):
        await visit.part("d", {}, Part)


async def test_an_act_that_is_not_allowed_says_so(console: RunningConsole, http: Http) -> None:
    refused = {"recheck.undo": DeskRefusalError(403, "not of this scope")}
    case = PageCase(name="", path="/try/act", form={"id": "1"}, answers=refused)
    answer = await fetch(console, http, case)
    assert (answer.status, "not of this scope" in answer.shown) == (403, True)


async def test_a_fault_has_a_number_that_the_log_has(
    console: RunningConsole,
    http: Http,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("oborona.console.pages.own_session.OwnSessionList", object())
    answer = await fetch(console, http, PageCase(name="", path="/me"))
    assert answer.status == 500
    number = answer.shown.partition("whoever looks into the log: ")[2][:8]
    assert number in caplog.text
    assert "Traceback" not in answer.text


async def test_hostile_names_stay_text(console: RunningConsole, http: Http) -> None:
    hostile = "\u202e\x00\ud800<script>alert(1)</script>\"'{{7*7}}<img src=x onerror=alert(1)>"
    console.desk.people[token_of(Role.ADMIN)]["name"] = hostile.replace("\ud800", "")
    answer = await fetch(console, http, PageCase(name="", path="/me"))
    assert "<script>alert" not in answer.text
    assert "<img" not in answer.text
    assert '<span class="mark">U+202E</span><span class="mark">U+0000</span>' in answer.text
    assert "49" not in answer.shown.partition("Pages")[0]


async def test_static_files_are_kept_and_pages_are_not(console: RunningConsole, http: Http) -> None:
    page = await get(console, http, "/sign-in")
    url = page.text.partition('stylesheet" href="')[2].partition('"')[0]
    style = await get(console, http, url, **{"Accept-Encoding": "identity"})
    assert style.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert len(style.text) < 12_000
    assert len(gzip.compress(style.text.encode())) < 6_000
    scripts = page.text.partition('<script src="')[2].partition('"')[0]
    script = await get(console, http, scripts, **{"Accept-Encoding": "gzip"})
    assert int(script.headers["Content-Length"]) < 20_000
    assert page.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("", ""), ("x", "200")],
)
async def test_the_search_line_without_pages_to_lead_to(
    console: RunningConsole, http: Http, line: str, wanted: str
) -> None:
    answer = await fetch(console, http, PageCase(name="", path=f"/find?q={line}", role=Role.READER))
    assert answer.status == 200


async def test_a_language_is_chosen_by_cookie_person_and_browser(
    console: RunningConsole, http: Http
) -> None:
    path = "/overview"
    session = f"__Host-oborona={token_of(Role.ADMIN)}"
    for cookie, person, browser, wanted in (
        ("", "", "", "en"),
        ("", "", "de, ru;q=0.5", "ru"),
        ("", "", "ru;q=0.1, en-GB", "en"),
        ("", "ru", "en", "ru"),
        ("en", "ru", "ru", "en"),
        ("zz", "", ";q=x,,", "en"),
    ):
        console.desk.people[token_of(Role.ADMIN)]["language"] = person
        answer = await get(
            console, http, path,
            **{"Cookie": f"{session}; __Host-oborona-language={cookie}", "Accept-Language": browser},
        )  # fmt: skip
        assert f'<html lang="{wanted}">' in answer.text, (cookie, person, browser)


async def test_times_are_in_the_zone_of_who_looks(console: RunningConsole, http: Http) -> None:
    session = f"__Host-oborona={token_of(Role.ADMIN)}"
    for zone, wanted in (
        ("Asia/Tokyo", "19:39:48"),
        ("../../etc/passwd", "10:39:48"),
        ("x" * 999, "10:39:48"),
    ):
        answer = await get(console, http, "/me", Cookie=f"{session}; oborona-zone={zone}")
        assert f'title="2026-11-28 10:39:48 UTC">2026-11-28 {wanted}</time>' in answer.text


async def test_a_zone_is_kept_that_is_one(console: RunningConsole, http: Http) -> None:
    for zone, wanted in (("Asia/Tokyo", "Asia/Tokyo"), ("", "")):
        case = PageCase(name="", path="/me/zone", form={"zone": zone})
        answer = await fetch(console, http, case)
        assert answer.status == 303
        assert answer.cookies["oborona-zone"].value == wanted
    assert answer.cookies["oborona-zone"]["max-age"] == "0"


async def test_a_desk_that_comes_back(tmp_path: Path, http: Http) -> None:
    path = tmp_path / "desk.sock"
    desk, client = StubDesk(path), DeskClient(path)
    with pytest.raises(DeskError) as caught:
        await client.call("me.show", {}, CallerPlace("x"))
    assert caught.value.status == 503
    await desk.start()
    with pytest.raises(DeskError) as caught:
        await client.call("me.show", {}, CallerPlace("x"))
    assert caught.value.status == 401
    desk.answers["a"] = DeskRefusalError(429, "wait", wait_s=2.5, needs="code")
    with pytest.raises(DeskError) as caught:
        await client.call("a", {}, CallerPlace(token_of(Role.ADMIN)))
    assert (caught.value.status, caught.value.wait_s, caught.value.needs) == (429, 2.5, "code")
    await desk.stop()
    with pytest.raises(DeskError) as caught:
        await client.call("me.show", {}, CallerPlace("x"))
    assert caught.value.status == 503
    await client.close()


@pytest.mark.parametrize("octets", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", b"\x00" * 99,
                                    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[}"])  # fmt: skip
async def test_a_desk_that_says_nothing_of_sense(tmp_path: Path, octets: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(octets)
        writer.close()

    server = await asyncio.start_unix_server(answer, tmp_path / "desk.sock")
    client = DeskClient(tmp_path / "desk.sock")
    with pytest.raises(DeskError) as caught:
        await client.call("me.show", {}, CallerPlace("x"), within_s=2)
    assert caught.value.status in {502, 503}
    await client.close()
    server.close()
    await server.wait_closed()


async def test_on_a_socket_file_the_proxy_says_who_it_is(tmp_path: Path) -> None:
    desk = StubDesk(tmp_path / "desk.sock")
    await desk.start()
    client = DeskClient(desk.path)
    server = ConsoleServer(client, limits=HttpLimits(idle_s=5))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "console.sock"))
        listening.listen()
        await server.start(listening)
        connector = aiohttp.UnixConnector(str(tmp_path / "console.sock"))
        async with aiohttp.ClientSession(connector=connector) as http:
            for told, wanted in (("2001:db8::1", "2001:db8::1"), ("nonsense", ""), (None, "")):
                headers = {"Cookie": f"__Host-oborona={token_of(Role.ADMIN)}"}
                headers |= {"X-Forwarded-For": told} if told else {}
                async with http.get("http://x/me", headers=headers) as found:
                    assert found.status == 200
                assert desk.calls[-1].address == wanted
        await server.drain(0.1)
    await client.close()
    await desk.stop()
