"""Logins on their way to the log of events: gathered, bounded, and nobody waits for them."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from oborona.doors import login_recorder
from oborona.doors.login_attempt import LoginAttempt
from oborona.doors.login_recorder import LOST, LoginRecorder
from oborona.eventlog.event_spool import EventSpool, SpooledBatch

NOW = 1_763_892_000.25
GUESS = LoginAttempt(login="Ann@Example.org", address="192.0.2.9", protocol="imap", why="password")


def recorder(folder: Path, most: int = 1 << 20) -> LoginRecorder:
    return LoginRecorder(EventSpool(folder, most), lambda: NOW)


def records(folder: Path) -> list[dict[str, Any]]:
    """Return all that was written, in the order of its files."""
    return [
        json.loads(line)
        for path in sorted(folder.glob("logins/*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def test_what_a_record_says(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    made.note(GUESS)
    made.note(LoginAttempt(login="joe", address="2001:db8::1:2:3:4"))
    made.close()
    assert records(tmp_path) == [
        {
            "at": NOW, "event": "failure", "person": "account ann@example.org",
            "service": "imap", "why": "password", "client": "192.0.2.9",
            "network": "192.0.2.0/24",
        },
        {
            "at": NOW, "event": "login", "person": "account joe", "client": "2001:db8::1:2:3:4",
            "network": "2001:db8::/64",
        },
    ]  # fmt: skip
    (path,) = tmp_path.glob("logins/*")
    batch = SpooledBatch.of(path.name)
    assert batch is not None
    assert batch.rows == 2
    assert path.parent.stat().st_mode & 0o077 == 0


async def test_a_second_of_them_is_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_recorder, "GATHER_S", 0.01)
    written: asyncio.Queue[int] = asyncio.Queue()
    loop, put = asyncio.get_running_loop(), EventSpool.put

    def told(spool: EventSpool, log: str, ident: str, octets: bytes, rows: int, now: float) -> None:
        put(spool, log, ident, octets, rows, now)
        loop.call_soon_threadsafe(written.put_nowait, rows)

    monkeypatch.setattr(EventSpool, "put", told)
    made = recorder(tmp_path)
    running = asyncio.create_task(made.run())
    for number in (100, 1):
        for _ in range(number):
            made.note(GUESS)
        async with asyncio.timeout(20):
            assert await written.get() == number
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert len(records(tmp_path)) == 101
    assert len(list(tmp_path.glob("logins/*.jsonl"))) == 2


def test_too_many_at_once_are_dropped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_recorder, "MOST_WAIT", 3)
    before, made = LOST.value(), recorder(tmp_path)
    for _ in range(5):
        made.note(GUESS)
    made.close()
    assert (len(records(tmp_path)), LOST.value() - before) == (3, 2)


def test_a_spool_that_is_full_or_no_folder_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before, made = LOST.value(), recorder(tmp_path / "spool", most=1)
    (tmp_path / "file").write_text("no folder")
    for one in (made, made, recorder(tmp_path / "file")):
        with caplog.at_level(logging.ERROR):
            one.note(GUESS)
            one.close()
    assert LOST.value() - before == 3
    said = [record.getMessage() for record in caplog.records]
    assert said == ["logins are not recorded"] * 2, "once of each"
    assert not (tmp_path / "spool").exists()


def test_a_site_without_event_logs_records_none() -> None:
    made = LoginRecorder(None)
    made.note(GUESS)
    made.close()
    assert made._waiting == []
