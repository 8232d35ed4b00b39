"""Signing in by the word of a proxy, which shows a secret."""

import time
from pathlib import Path

import msgspec
import pytest

from oborona.config.load import load_settings
from oborona.errors import ConfigError
from oborona.people.person import Person, PersonState
from oborona.people.rights import Role
from oborona.people.store import new_person
from tests.desk.login_desk import LoginDesk, login_desk

SECRET = "a secret of the proxy"


def settings(folder: Path) -> dict[str, str]:
    (folder / "secret").write_text(f"{SECRET}\n")
    return {
        "console.enabled": "true",
        "console.proxy_secret_file": str(folder / "secret"),
        "console.second_step": "required",
    }


def new(name: str, *roles: Role) -> Person:
    nothing = frozenset[str]()
    return new_person(
        name, roles=frozenset(roles), domains=nothing, addresses=nothing, language="",
        made_by="root", now=time.time(),
    )  # fmt: skip


def add(desk: LoginDesk, name: str, *roles: Role) -> Person:
    with desk.people() as store:
        return store.add(new(name, *roles))


@pytest.mark.asyncio
async def test_whom_the_proxy_names_has_a_session(tmp_path: Path) -> None:
    async with login_desk(tmp_path, settings(tmp_path)) as desk:
        add(desk, "anna", Role.ADMIN)
        status, started = await desk.call("login.proxy", user=" Anna ", secret=SECRET)
        assert status == 200, started
        caller = started["caller"]
        assert (caller["name"], caller["way"], caller["fresh"]) == ("anna", "proxy", False)
        assert not caller["must_enrol"]


@pytest.mark.asyncio
async def test_nobody_is_made_by_it(tmp_path: Path) -> None:
    async with login_desk(tmp_path, settings(tmp_path)) as desk:
        anna = add(desk, "anna", Role.ADMIN)
        for name in ("eve", "", "anna\u0000", "\u202eanna", "a" * 10_000, "../anna"):
            status, words = await desk.call("login.proxy", user=name, secret=SECRET)
            assert (status, "no role" in words["error"]) == (403, True)
        with desk.people() as store:
            assert [person.name for person in store.all()] == ["anna"]
            bob = store.add(new("bob", Role.ADMIN))
            store.change(msgspec.structs.replace(bob, state=PersonState.OFF), ends=True)
        assert (await desk.call("login.proxy", user="bob", secret=SECRET))[0] == 403
        assert anna.name == "anna"


@pytest.mark.asyncio
@pytest.mark.parametrize("secret", ["", SECRET + "x", SECRET[:-1], "\u0430", "x" * 100_000])
async def test_another_secret_is_refused(tmp_path: Path, secret: str) -> None:
    async with login_desk(tmp_path, settings(tmp_path)) as desk:
        add(desk, "anna", Role.ADMIN)
        answers = [
            await desk.call("login.proxy", user=name, secret=secret) for name in ("anna", "eve")
        ]
        assert answers[0] == answers[1]
        assert answers[0][0] == 401
        statuses = [
            (await desk.call("login.proxy", user="anna", secret=secret))[0] for _ in range(10)
        ]
        assert statuses[-1] == 429


@pytest.mark.asyncio
async def test_without_the_setting_there_is_no_such_way(tmp_path: Path) -> None:
    async with login_desk(tmp_path, {}) as desk:
        assert (await desk.call("login.proxy", user="anna", secret=""))[0] == 404


@pytest.mark.asyncio
async def test_a_secret_that_is_none_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "short").write_text("short\n")
    for file in ("short", "absent"):
        told = {"console.proxy_secret_file": str(tmp_path / file)}
        with pytest.raises(ConfigError, match="proxy_secret_file"):
            async with login_desk(tmp_path, told):
                pass


def loaded(**console: str) -> None:
    whole = {"enabled": "true", "proxy_secret_file": "/etc/oborona/proxy", **console}
    load_settings(None, {f"console.{name}": value for name, value in whole.items()})


def test_an_open_port_has_its_proxies_named() -> None:
    loaded()
    loaded(listen="unix:/run/oborona-console.sock")
    far = {"listen": "inet:8891@0.0.0.0", "allowed": "10.0.0.0/8"}
    with pytest.raises(ConfigError, match=r"trusted_proxies who may say"):
        loaded(**far)
    loaded(**far, trusted_proxies="10.0.0.7/32")
    for world in ("0.0.0.0/0", "10.0.0.7/32 ::/0"):
        with pytest.raises(ConfigError, match="all the world"):
            loaded(trusted_proxies=world)
    with pytest.raises(ConfigError):
        loaded(trusted_proxies="proxy.shop.example")
