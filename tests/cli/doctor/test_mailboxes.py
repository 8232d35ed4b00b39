"""`oborona doctor` on the way into the mailboxes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from oborona.cli.context import CliContext
from oborona.desk.doctor.mailboxes import mailboxes
from oborona.desk.doctor.report import CheckState

WAIT_S = 30.0


def looked(folder: Path, **settings: object) -> list[tuple[CheckState, str]]:
    given = tuple(f"mailboxes.{name}={value}" for name, value in settings.items())
    return [(one.state, one.words) for one in mailboxes(CliContext(None, folder / "state", given))]


@contextmanager
def api(status: int, said: object) -> Iterator[str]:
    """An API that answers every request alike."""
    loop = asyncio.new_event_loop()
    ready, ports = threading.Event(), []

    async def serve() -> None:
        async def answer(_request: web.Request) -> web.Response:
            return web.Response(status=status, text=json.dumps(said))

        application = web.Application()
        application.router.add_route("*", "/{rest:.*}", answer)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        ports.append(runner.addresses[0][1])
        end = asyncio.Event()
        loop.call_soon(ready.set)
        stopping.append(end)
        await end.wait()
        await runner.cleanup()

    stopping: list[asyncio.Event] = []
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(WAIT_S)
    try:
        yield f"http://127.0.0.1:{ports[0]}/doveadm/v1"
    finally:
        loop.call_soon_threadsafe(stopping[0].set)
        thread.join(WAIT_S)
        loop.close()


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text("key\n")
    file.chmod(0o600)
    return file


COMMANDS = [{"command": "batch"}, {"command": "mailboxCreate"}]


def test_none_are_set(tmp_path: Path) -> None:
    assert looked(tmp_path) == [
        (CheckState.WARN, "none are set: what turns out to be spam later stays where it is")
    ]


def test_something_is_missing(tmp_path: Path) -> None:
    ((state, words),) = looked(tmp_path, kind="imap")
    assert state is CheckState.FAIL
    assert "mailboxes.master_user and mailboxes.master_password_file" in words


@pytest.mark.parametrize(
    ("status", "said", "state", "words"),
    [
        (200, COMMANDS, CheckState.OK, "the API of Dovecot answers"),
        (200, COMMANDS[:1], CheckState.FAIL, "does not know mailboxCreate"),
        (200, {"hello": 1}, CheckState.FAIL, "no answer"),
        (401, None, CheckState.FAIL, "does not know the key"),
        (500, None, CheckState.FAIL, "status 500"),
    ],
)
def test_the_api(
    tmp_path: Path, key: Path, status: int, said: object, state: CheckState, words: str
) -> None:
    with api(status, said) as url:
        ((found, told),) = looked(tmp_path, kind="doveadm", url=url, key_file=key)
    assert (found, words in told) == (state, True), told


def test_nobody_there_and_a_key_that_all_may_read(tmp_path: Path, key: Path) -> None:
    key.chmod(0o644)
    with api(200, COMMANDS) as url:
        pass
    reports = looked(tmp_path, kind="doveadm", url=url, key_file=key)
    assert [state for state, _ in reports] == [CheckState.FAIL, CheckState.WARN]
    assert "everybody may read it" in reports[1][1]


def test_a_key_on_the_way_to_another_machine(tmp_path: Path, key: Path) -> None:
    url = "http://127.0.0.1.nip.invalid:1/doveadm/v1"
    reports = looked(tmp_path, kind="doveadm", url=url, key_file=key)
    assert [state for state, _ in reports] == [CheckState.FAIL, CheckState.WARN]
    assert "without TLS" in reports[1][1]


def test_imap(tmp_path: Path, key: Path) -> None:
    with api(200, None) as url:  # somebody who waits for us to speak first
        port = url.split(":")[2].split("/")[0]
        settings = {"master_user": "m", "master_password_file": key, "imap_tls": "tls"}
        ((state, words),) = looked(tmp_path, kind="imap", imap=f"inet:{port}@127.0.0.1", **settings)
        assert state is CheckState.FAIL
        assert "TLS" in words or "SSL" in words
    ((state, words),) = looked(tmp_path, kind="imap", imap=f"inet:{port}@127.0.0.1", **settings)
    assert (state, "refused" in words) == (CheckState.FAIL, True)


def test_maildirs(tmp_path: Path) -> None:
    (tmp_path / "mail").mkdir()
    for template, state in (
        (f"{tmp_path}/mail/{{local}}/Maildir", CheckState.OK),
        (f"{tmp_path}/mail/u-{{local}}", CheckState.OK),
        (f"{tmp_path}/none/{{local}}", CheckState.FAIL),
    ):
        ((found, words),) = looked(tmp_path, kind="maildir", maildir=template)
        assert found is state, words
