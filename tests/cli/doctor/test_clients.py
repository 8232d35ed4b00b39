"""`oborona doctor` on clients that are not who they seem."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from oborona import state_files
from oborona.cli.context import CliContext
from oborona.desk.doctor.clients import ENOUGH, clients
from oborona.desk.doctor.report import CheckState
from oborona.ident import JournalIdGenerator
from oborona.journal.journal import JournalWriter
from tests.journal.entries import make_entry

DOMAINS = [f"d{number}.example" for number in range(6)]


def looked(
    state: Path, ip: str, domains: list[str], *, login: str = "", count: int = ENOUGH
) -> list[CheckState]:
    async def write() -> None:
        numbers, now = JournalIdGenerator(1), time.time()
        async with await JournalWriter.open(state / state_files.JOURNAL) as journal:
            for number in range(count):
                sender = f"ann@{domains[number % len(domains)]}"
                journal.append(
                    make_entry(
                        id=numbers.next(now), time=now, client_ip=ip, sender=sender, login=login
                    )
                )

    asyncio.run(write())
    return [one.state for one in clients(CliContext(None, state, ()))]


def test_strangers_behind_one_private_address_are_told(tmp_path: Path) -> None:
    assert looked(tmp_path, "172.17.0.1", DOMAINS) == [CheckState.WARN]


@pytest.mark.parametrize(
    ("ip", "domains", "login", "count"),
    [
        ("192.0.2.1", DOMAINS, "", ENOUGH),
        ("127.0.0.1", DOMAINS, "", ENOUGH),
        ("", DOMAINS, "", ENOUGH),
        ("10.0.0.5", DOMAINS[:2], "", ENOUGH),
        ("10.0.0.5", DOMAINS, "joe", ENOUGH),
        ("10.0.0.5", DOMAINS, "", ENOUGH - 1),
    ],
    ids=["public", "loopback", "local program", "an application", "logged in", "few"],
)
def test_others_are_not(
    tmp_path: Path, ip: str, domains: list[str], login: str, count: int
) -> None:
    assert looked(tmp_path, ip, domains, login=login, count=count) == []


def test_without_a_journal_nothing_is_said(tmp_path: Path) -> None:
    assert list(clients(CliContext(None, tmp_path, ()))) == []
