"""Which clients were here lately: told once each, the latest kept where there are too many, and
forgotten after a day.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from oborona.daemon.exporter import recent_clients
from oborona.daemon.exporter.recent_clients import KEPT_S, RecentClients
from oborona.ident import JournalIdGenerator
from oborona.journal.entry import JournalEntry
from oborona.journal.journal import JournalWriter
from oborona.journal.queries import JournalReader
from oborona.types import Action

START = 1_800_000_000.0


async def journaled(path: Path, found: list[tuple[float, str]]) -> None:
    numbers = JournalIdGenerator()
    async with await JournalWriter.open(path) as journal:
        for at, ip in found:
            entry = JournalEntry(
                id=numbers.next(at), time=at, client_ip=ip,
                verdict=Action.ACCEPT, score=0.0, line=100.0, decided_by="below-threshold",
            )  # fmt: skip
            journal.append(entry)


async def looked(seen: RecentClients, path: Path, now: float) -> set[str]:
    async with await JournalReader.open(path) as journal:
        await seen.look(journal, now)
    return set(seen.addresses)


def test_each_is_known_for_a_day_from_its_last_message(tmp_path: Path) -> None:
    path, seen = tmp_path / "journal.db", RecentClients()

    async def go() -> None:
        await journaled(
            path, [(START - KEPT_S - 10, "192.0.2.1"), (START - 100, "192.0.2.2"), (START - 50, "")]
        )
        assert await looked(seen, path, START) == {"192.0.2.2"}
        await journaled(path, [(START + 50, "192.0.2.3"), (START + 60, "192.0.2.2")])
        await journaled(path, [(START - 5, "192.0.2.4")])
        assert await looked(seen, path, START + 60) == {"192.0.2.2", "192.0.2.3", "192.0.2.4"}, (
            "one came late"
        )
        assert await looked(seen, path, START + KEPT_S) == {"192.0.2.2", "192.0.2.3"}
        assert await looked(seen, path, START + 2 * KEPT_S) == set()

    asyncio.run(go())


def test_of_too_many_the_latest_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_clients, "AT_ONCE", 7)  # so that pages are many
    monkeypatch.setattr(recent_clients, "MOST", 10)
    monkeypatch.setattr(recent_clients, "AT_START", 35)
    path = tmp_path / "journal.db"

    async def go() -> None:
        await journaled(path, [(START - 100 + number, f"192.0.2.{number}") for number in range(40)])
        assert await looked(RecentClients(), path, START) == {
            f"192.0.2.{number}" for number in range(30, 40)
        }

    asyncio.run(go())
