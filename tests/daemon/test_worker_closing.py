"""How a worker ends: what it opened is closed in order, the journal last, whatever fails on the
way.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oborona.config import Settings
from oborona.daemon.listeners import DoorListener
from oborona.daemon.publisher.publisher import PolicyPublisher
from oborona.daemon.reader.connection import ReaderConnection
from oborona.daemon.reader.late_reader import LateReader
from oborona.daemon.state import prepare_state
from oborona.daemon.worker import WorkerProcess
from oborona.doors.context import DoorContext, DoorServer
from oborona.errors import StoreError
from oborona.journal.journal import JournalWriter
from oborona.policy.fact_table import SCHEMA
from oborona.session.lookups import DnsLookups
from oborona.session.loop_lag import LoopLag
from oborona.session.traps import TrapEventLog
from oborona.stores.persons.contacts import ContactLearner
from oborona.stores.persons.follower import FollowedPersons
from oborona.stores.pins.follower import FollowedPins
from oborona.stores.policy_folders import policy_folders
from oborona.stores.signatures.follower import FollowedSignatures
from oborona.telemetry import status

KEY = b"k" * 32
ORDER = [
    "sessions", "pulse", "late", "line", "asking", "signatures", "pins", "persons", "contacts", "trapping",
    "flush", "counters", "status", "journal",
]  # fmt: skip
PARTS: dict[str, tuple[Any, str]] = {
    "pulse": (LoopLag, "stop"),
    "late": (LateReader, "close"),
    "line": (ReaderConnection, "close"),
    "asking": (DnsLookups, "close"),
    "signatures": (FollowedSignatures, "close"),
    "pins": (FollowedPins, "close"),
    "persons": (FollowedPersons, "close"),
    "contacts": (ContactLearner, "close"),
    "trapping": (TrapEventLog, "close"),
    "status": (status, "remove_worker"),
    "journal": (JournalWriter, "close"),
}


class Counted:
    """Counters that tell what was done with them."""

    dropped, stuck = 0, False

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note

    def flush(self, now: float) -> int:
        self._note("flush")
        return 0

    def close(self) -> None:
        self._note("counters")


class Site:
    """A worker, and what it closes, in order; `breaks` names what can't be closed."""

    def __init__(self, state: Path, listener: socket.socket, patch: pytest.MonkeyPatch) -> None:
        self.closed: list[str] = []
        self.breaks: set[str] = set()
        self.error: type[Exception] = OSError
        prepare_state(state)
        PolicyPublisher(policy_folders(Settings().paths), SCHEMA, state, KEY).begin()
        patch.setattr("oborona.daemon.worker.open_counters", lambda *_: Counted(self.note))
        for name, (owner, method) in PARTS.items():
            patch.setattr(owner, method, self._noted(name, getattr(owner, method)))
        self.worker = WorkerProcess(
            number=0,
            settings=Settings(),
            name="mx.example",
            state=state,
            key=KEY,
            doors=[DoorListener(listener, "door", self._enter)],
        )

    def note(self, name: str) -> None:
        """Note that a part is closed; fail where it is to."""
        self.closed.append(name)
        if name in self.breaks:
            raise self.error(f"{name} is broken")

    def _noted(self, name: str, close: Callable[..., Any]) -> Callable[..., Any]:
        if asyncio.iscoroutinefunction(close):

            async def noted(*args: Any) -> None:
                await close(*args)
                self.note(name)

            return noted

        def noted_at_once(*args: Any) -> None:
            close(*args)
            self.note(name)

        return noted_at_once

    async def _enter(self, _: DoorContext, __: socket.socket) -> DoorServer:
        return self

    async def drain(self, grace_s: float) -> None:
        """Be a server that nobody has come to."""
        self.note("sessions")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with socket.socket() as listener:
        yield Site(tmp_path, listener, monkeypatch)


async def test_a_worker_closes_in_order_and_the_journal_last(site: Site) -> None:
    await site.worker._serve(site.worker._stop.set)
    assert site.closed == ORDER


@pytest.mark.parametrize("error", [OSError, StoreError])
async def test_what_can_not_be_closed_is_logged_and_stops_nothing_else(
    site: Site, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    site.breaks, site.error = {*ORDER} - {"sessions", "journal"}, error
    await site.worker._serve(site.worker._stop.set)
    assert site.closed == ORDER
    told = [
        f"{vars(record).get('fields')} {record.exc_info}"
        for record in caplog.records
        if record.levelno >= logging.WARNING
    ]
    for name in site.breaks:
        assert sum(f"{name} is broken" in words for words in told) == 1, name


async def test_a_chore_that_fails_ends_the_worker_with_its_counters_flushed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def watch(_: FollowedPins) -> None:
        raise RuntimeError("a fault of a chore")

    monkeypatch.setattr(FollowedPins, "watch", watch)
    with pytest.raises(ExceptionGroup):
        await site.worker._serve(lambda: None)
    assert site.closed == ORDER


async def test_a_start_that_fails_closes_what_is_open(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(_: FollowedSignatures, *_given: object) -> None:
        raise RuntimeError("a fault of the start")

    monkeypatch.setattr(FollowedSignatures, "begin", begin)
    with pytest.raises(RuntimeError):
        await site.worker._serve(lambda: None)
    assert site.closed == ORDER[ORDER.index("signatures") :]
