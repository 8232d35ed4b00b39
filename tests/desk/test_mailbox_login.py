"""Signing in with the password of a mailbox, at a real Dovecot."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.errors import ConfigError
from oborona.people.rights import Role
from oborona.people.store import new_person
from tests.desk.login_desk import login_desk
from tests.peers.dovecot import PASSWORD, Dovecot

# all that guess come from the desk; Dovecot would let all wait (docs/operate/sign-in.md)
UNDELAYED = """
auth_failure_delay = 0
service anvil {
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
"""
REFUSED = {"error": "name, password or code is wrong"}


@pytest.fixture(scope="module")
def dovecot() -> Iterator[Dovecot]:
    with Dovecot(users=["bob", "anna"], extra=UNDELAYED) as running:
        yield running


def settings(port: int) -> dict[str, str]:
    return {
        "console.imap": f"127.0.0.1:{port}",
        "console.imap_tls": "none",
        "console.reader_domains": "shop.example",
    }


@pytest.mark.asyncio
async def test_a_mailbox_is_opened_by_its_password(
    tmp_path: Path, dovecot: Dovecot, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with login_desk(tmp_path, settings(dovecot.imap_port)) as desk:
        assert (await desk.call("login.ways"))[1]["mailbox"]
        told = {"address": "Bob@shop.example", "password": PASSWORD}
        status, started = await desk.call("login.mailbox", **told)
        assert status == 200, started
        caller = started["caller"]
        assert (caller["name"], caller["roles"]) == ("bob@shop.example", ["reader"])
        assert caller["scope"]["addresses"] == ["bob@shop.example"]
        _, tries = await desk.call("me.attempts", bearer=started["token"])
        assert [(one["outcome"], one["way"]) for one in tries["attempts"]] == [("done", "mailbox")]
        for word in ("not their password", "", PASSWORD + "\r\na LOGOUT", "\x00", "ж" * 2000):
            answer = await desk.call("login.mailbox", address="bob@shop.example", password=word)
            assert answer[0] in {401, 429}, word
    octets = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("people.db*"))
    assert b"bob@shop.example" in octets
    for word in (PASSWORD, "not their password"):
        assert f"{word}\0".encode() not in octets
        assert word.encode() not in octets.replace(b"secret of", b"")
        assert word not in caplog.text


@pytest.mark.asyncio
async def test_whoever_is_no_reader_has_one_answer(tmp_path: Path, dovecot: Dovecot) -> None:
    async with login_desk(tmp_path, settings(dovecot.imap_port)) as desk:
        with desk.people() as store:
            store.add(
                new_person(
                    "anna@shop.example",
                    roles=frozenset({Role.ADMIN}),
                    domains=frozenset(),
                    addresses=frozenset({"anna@shop.example"}),
                    language="",
                    made_by="root",
                    now=time.time(),
                )
            )
        for n, address in enumerate(
            ("anna@shop.example", "bob@elsewhere.example", "eve@shop.example", "bob", "", "\u202e")
        ):
            answer = await desk.call(
                "login.mailbox", address=address, password=PASSWORD, place=f"192.0.{n}.1"
            )
            assert answer == (401, REFUSED), address


@pytest.mark.asyncio
async def test_who_guesses_waits_and_a_known_browser_does_not(
    tmp_path: Path, dovecot: Dovecot
) -> None:
    async with login_desk(tmp_path, settings(dovecot.imap_port)) as desk:
        told = {"address": "bob@shop.example", "password": PASSWORD}
        _, started = await desk.call("login.mailbox", **told)
        statuses = []
        for n in range(5):
            wrong = told | {"password": "no", "place": f"192.0.{n}.1"}
            statuses.append((await desk.call("login.mailbox", **wrong))[0])
        assert statuses == [401] * 4 + [429]
        assert (await desk.call("login.mailbox", **told, place="203.0.113.1"))[0] == 429
        status, _ = await desk.call(
            "login.mailbox", **told, place="203.0.113.1", device=started["device"]
        )
        assert status == 200


@pytest.mark.asyncio
async def test_a_server_that_is_away_charges_nobody(tmp_path: Path) -> None:
    async with login_desk(tmp_path, settings(9)) as desk:
        for _ in range(12):
            status, words = await desk.call(
                "login.mailbox", address="bob@shop.example", password="anything"
            )
            assert (status, "can't be asked" in words["error"]) == (503, True)


@pytest.mark.asyncio
async def test_no_password_goes_over_a_network_in_the_clear(tmp_path: Path) -> None:
    told = {"console.imap": "mail.shop.example:143", "console.imap_tls": "none"}
    with pytest.raises(ConfigError, match="in the clear"):
        async with login_desk(tmp_path, told):
            pass
