"""Logins that Dovecot reports: what is counted, who may not log in, and that nothing it may send
keeps anybody out.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.http.logins import FAILED, MAX_BODY, LoginAnswer, answer_login
from oborona.doors.login_attempt import LoginAttempt
from oborona.errors import PeerError
from tests.doors.http.sittings import Sittings

KEY = "0123456789abcdef"
# as Dovecot 2.3.19 sends it, and what is said after the password; 2.4 says why, too
ALLOW = {"login": "ann@example.org", "protocol": "imap", "remote": "192.0.2.9", "tls": False}
REPORT = ALLOW | {"success": False, "policy_reject": False}
YES: dict[str, object] = {"status": 0, "msg": ""}


def door(folder: Path, **settings: object) -> Sittings:
    (folder / "keys").write_text(f"{KEY}\n")
    return Sittings(folder, keys_file=folder / "keys", **settings)


async def post(
    at: Sittings, command: str, body: object, key: str = KEY
) -> tuple[int, dict[str, object]]:
    return await at.post(f"/v1/logins?command={command}", body, {"Authorization": f"Bearer {key}"})


@pytest.mark.parametrize("more", [{}, {"fail_type": "credentials", "device_id": "x"}])
async def test_a_wrong_password_is_reported(open_folder: Path, more: dict[str, object]) -> None:
    before = FAILED.value("password")
    async with door(open_folder).serving() as at:
        assert await post(at, "report", REPORT | more) == (200, YES)
        assert at.attempts == [
            LoginAttempt(
                login="ann@example.org", address="192.0.2.9", protocol="imap", why="password"
            )
        ]
        assert at.recorded == at.attempts
    assert FAILED.value("password") == before + 1
    assert at.notes == {"answered": 1}


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"success": True}, ""),
        ({"policy_reject": True}, "policy"),
        ({"fail_type": "account"}, "unknown account"),
        ({"fail_type": "disabled"}, "disabled"),
        ({"fail_type": "internal"}, "other"),
        ({"fail_type": "a word of tomorrow"}, "other"),
    ],
)
async def test_what_is_no_wrong_password_counts_for_nobody(
    open_folder: Path, told: dict[str, object], why: str
) -> None:
    before = FAILED.value(why) if why else 0
    async with door(open_folder).serving() as at:
        assert await post(at, "report", REPORT | told) == (200, YES)
        assert at.attempts == []
        assert [(one.login, one.why) for one in at.recorded] == [("ann@example.org", why)]
    if why:
        assert FAILED.value(why) == before + 1


@pytest.mark.parametrize("login", ["", "a" * 321, "ann\x00", "ann\n", "\u202e\x07"])
async def test_a_name_that_no_account_has_counts_for_nobody(open_folder: Path, login: str) -> None:
    async with door(open_folder).serving() as at:
        for success in (False, True):
            told = REPORT | {"login": login, "success": success}
            assert await post(at, "report", told) == (200, YES)
        assert at.attempts == []
        assert at.recorded == []


async def test_an_address_that_is_none_is_left_out(open_folder: Path) -> None:
    async with door(open_folder).serving() as at:
        for remote in ("", "unknown", "192.0.2.999", "::ffff:192.0.2.9"):
            await post(at, "report", REPORT | {"remote": remote})
        assert [one.address for one in at.attempts] == ["", "", "", "192.0.2.9"]


async def test_who_is_banned_may_not_log_in_where_the_site_wants_it(open_folder: Path) -> None:
    async with door(open_folder, refuse_banned_logins="true").serving() as at:
        at.banned.add("eve@example.org")
        assert await post(at, "allow", ALLOW) == (200, YES)
        status, said = await post(at, "allow", ALLOW | {"login": "eve@example.org"})
        assert (status, said["status"]) == (200, -1)
    async with door(open_folder).serving() as at:
        at.banned.add("eve@example.org")
        assert await post(at, "allow", ALLOW | {"login": "eve@example.org"}) == (200, YES)


async def test_whoever_has_no_key_reports_nothing(open_folder: Path) -> None:
    async with door(open_folder).serving() as at:
        assert (await post(at, "report", REPORT, key="another-key-01234"))[0] == 401
        assert at.attempts == []
    port = Sittings(open_folder)
    async with port.serving():  # it is a file here; what it does on a port without keys:
        port.server._teaches = False
        status, said = await port.post("/v1/logins?command=report", REPORT)
        assert status == 403
        assert "doors.http.keys_file" in str(said)


@pytest.mark.parametrize(
    ("command", "body", "status"),
    [
        ("", REPORT, 400),
        ("delete", REPORT, 400),
        ("report", b"", 400),
        ("report", b"\xff\xfe", 400),
        ("report", [], 400),
        ("report", {"login": 5}, 400),
        ("report", {"login": "a" * 1001}, 400),
        ("report", b"[" * 10_000, 400),
        ("report", {"login": "a" * MAX_BODY}, 413),
    ],
)
async def test_what_is_no_report_is_refused(
    open_folder: Path, command: str, body: object, status: int
) -> None:
    async with door(open_folder).serving() as at:
        assert (await post(at, command, body))[0] == status
        assert at.attempts == []


class _Nobody:
    def forbids(self, login: str) -> bool:
        return bool(login.lower())

    async def failed(self, attempt: LoginAttempt) -> bool:
        assert attempt.login.isprintable()
        assert len(attempt.protocol) <= 20
        return True


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=5,
)


@given(
    st.sampled_from(["allow", "report"]),
    st.binary(max_size=60)
    | st.dictionaries(st.sampled_from(sorted(REPORT)), JSON).map(msgspec.json.encode),
)
async def test_any_octets_are_answered_or_refused(command: str, body: bytes) -> None:
    recorded: list[LoginAttempt] = []
    try:
        answer = await answer_login(command, body, _Nobody(), recorded.append, refuse=True)
    except PeerError:
        return
    assert isinstance(answer, LoginAnswer)
    for attempt in recorded:
        assert attempt.login.isprintable()
        assert len(attempt.protocol) <= 20
