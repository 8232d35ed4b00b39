"""Databases of places under a running daemon of two workers behind a real Postfix: used, replaced,
overwritten with rubbish, taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.dns import Zones
from tests.places import COUNTRIES, database
from tests.whole.gate import Gate, eventually

POLICY = """
[[rule]]
name = "NOT_FROM_THERE"
when = "client.country == 'DE'"
score = 300
"""
NOW_DUTCH = {"9.5.0.0/16": {"country": {"iso_code": "NL"}}}
WORKERS = 2


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    tmp_path.chmod(0o755)
    file = database(
        tmp_path / "country.mmdb", COUNTRIES | {"9.5.0.0/16": {"country": {"iso_code": "DE"}}}
    )
    settings = {"places.country_file": file, "worker.processes": WORKERS}
    with Zones() as dns, Gate(dns.setting, POLICY, settings=settings) as running:
        yield running


def test_a_database_is_followed_by_all_workers_and_a_broken_one_harms_nobody(
    gate: Gate, tmp_path: Path
) -> None:
    file = tmp_path / "country.mmdb"

    def refused(ip: str) -> bool:
        return gate.send(ip)[-1].startswith("554 5.7.1 Client refused")

    assert refused("9.5.1.1")
    assert not refused("9.6.1.1")
    assert len(gate.events("database loaded")) == WORKERS
    whole = file.read_bytes()
    file.write_bytes(whole[:200])  # copied over, and cut short
    eventually(lambda: len(gate.events("database refused, the old one stays")) == WORKERS)
    assert all(refused("9.5.1.1") for _ in range(4))
    file.unlink()
    assert refused("9.5.1.1")
    database(file, NOW_DUTCH)
    eventually(lambda: len(gate.events("database loaded")) == 2 * WORKERS)
    assert not any(refused("9.5.1.1") for _ in range(4))
    assert not gate.events("fault")


def test_the_journal_knows_where_a_message_came_from(gate: Gate) -> None:
    reply = gate.send("9.6.1.1")[-1]
    assert reply.startswith("250")
    reply = gate.send("2001:db8::1")[-1]
    queue_id = reply.rsplit(" ", 1)[-1]

    def told() -> bool:
        lines = gate.oborona.run("explain", "-v", queue_id).stdout.splitlines()
        return any("client.country" in line and "RU" in line for line in lines)

    eventually(told, every_s=0.5)
