"""Limits on flows over the processes: routers tell, the flow process counts, the keeper judges."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Final

import pytest

from oborona import state_files
from oborona.accounts.account import AccountNetwork, AccountRecord, AccountState, NetworkRole
from oborona.accounts.incidents.incident import Incident
from oborona.accounts.incidents.store import IncidentStore
from tests.accounts.flows.captured_smtp import SmtpSession, write_pcap
from tests.daemon.flows.counted_flows import taken, wait
from tests.peers.nfcapd import Nfcapd
from tests.peers.oborona import Oborona

RULES: Final = """
[[account_test]]
name = "ALL"
when = "incidents.spam_month >= 0"
penalty = 90
say = "everybody"

[[flow_limit]]
name = "STREAMS"
each = "address"
count = "streams"
window = "hour"
limit = 100

[[flow_limit]]
name = "OCTETS"
each = "address"
count = "octets"
window = "hour"
limit = 1000000000
"""


def started(tmp_path: Path, source: str, exporters: str) -> Oborona:
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy/10.toml").write_text(RULES)
    (tmp_path / "flows").mkdir()
    daemon = Oborona(
        {
            "flows.source": source,
            "flows.folder": tmp_path / "flows",
            "flows.look_s": 0.1,
            "flows.exporters": exporters,
            "site.networks": "192.0.2.0/24 10.0.0.0/8",
            "inspector.mode": "live",
            "paths.policy": tmp_path / "policy",
            "worker.processes": 1,
            "reader.enabled": False,
        }
    )
    daemon.start()
    accounts = [
        ("joe", "192.0.2.5/32", NetworkRole.HOST),
        ("ann", "192.0.2.6/32", NetworkRole.HOST),
        ("relay", "192.0.2.7/32", NetworkRole.RELAY),
        ("inner", "10.0.0.0/8", NetworkRole.HOST),
    ]
    with IncidentStore(daemon.state / state_files.ACCOUNTS) as store:
        store.put(
            [
                AccountRecord(
                    id=name,
                    logins=(name,),
                    since=time.time() - 90 * 86_400,
                    networks=(AccountNetwork(network=network, role=role),),
                )
                for name, network, role in accounts
            ],
            by="anna",
            now=time.time(),
        )
    return daemon


def incidents(daemon: Oborona) -> list[Incident]:
    with IncidentStore(daemon.state / state_files.ACCOUNTS, make=False) as store:
        return sorted(store.incidents(), key=lambda one: one.account)


def state_of(daemon: Oborona, account: str) -> AccountState:
    with IncidentStore(daemon.state / state_files.ACCOUNTS, make=False) as store:
        found = store.find(account)
        assert found is not None
        return found.state(time.time())


def put_json(folder: Path, streams: dict[str, int], *, sampling: int = 1) -> None:
    now = time.time_ns()
    lines = [
        json.dumps(
            {
                "time_received_ns": now, "time_flow_start_ns": now - 10**9,
                "time_flow_end_ns": now, "sampler_address": "203.0.113.1", "bytes": 100_000,
                "packets": 100, "src_addr": address, "dst_addr": f"198.51.100.{number % 200}",
                "proto": "TCP", "src_port": 1024 + number, "dst_port": 25, "tcp_flags": 27,
                "sampling_rate": sampling,
            }
        )
        for address, most in streams.items()
        for number in range(most)
    ]  # fmt: skip
    fresh = folder / ".one"
    fresh.write_text("\n".join(lines) + "\n")
    fresh.rename(folder / "one.json")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of nfcapd: 150 streams of 192.0.2.5 and 192.0.2.7 each, of 192.0.2.6 some."""
    folder = tmp_path_factory.mktemp("collected")
    begin = time.time() - 10
    sessions = [
        SmtpSession(f"192.0.2.{host}", f"198.51.100.{n}", 2000 + n, begin, 1, [100, 900])
        for host, most in ((5, 150), (6, 20), (7, 150))
        for n in range(1, most + 1)
    ]
    write_pcap(folder / "smtp.pcap", sessions)
    with Nfcapd(folder) as collector:
        collector.export(folder / "smtp.pcap", "-v", "9", "-A", "milli")
    (file,) = collector.files()
    return file


def test_who_is_over_is_an_incident_and_banned_but_for_relays(
    tmp_path: Path, collected: Path
) -> None:
    daemon = started(tmp_path, "nfdump", "127.0.0.1")
    try:
        shutil.copy(collected, tmp_path / "flows" / collected.name)
        wait(lambda: len(incidents(daemon)) == 2)
        joe, relay = incidents(daemon)
        assert (joe.account, joe.metric, joe.value, joe.most) == ("joe", "flow.streams", 150, 100)
        assert (joe.address, joe.line, joe.limit) == ("192.0.2.5", "ban", "STREAMS")
        assert joe.evidence["destinations"] == 150
        assert (relay.account, relay.line) == ("relay", "duty")
        assert state_of(daemon, "joe") is AccountState.BANNED
        assert state_of(daemon, "ann") is AccountState.OPEN
        assert state_of(daemon, "relay") is AccountState.OPEN
        shown = daemon.run("incident", "show", str(joe.id)).stdout
        assert "flow.streams" in shown
        assert "192.0.2.5" in shown
    finally:
        daemon.stop()


def test_of_a_source_whose_loss_nobody_knows_there_are_incidents_and_no_bans(
    tmp_path: Path,
) -> None:
    daemon = started(tmp_path, "jsonl", "203.0.113.1")
    try:
        put_json(tmp_path / "flows", {"192.0.2.5": 150, "192.0.2.6": 90, "10.0.0.5": 500})
        wait(lambda: len(incidents(daemon)) == 1)
        (joe,) = incidents(daemon)
        assert (joe.account, joe.line) == ("joe", "ban")
        assert "doubt" in joe.evidence
        assert state_of(daemon, "joe") is AccountState.OPEN
    finally:
        daemon.stop()


def test_what_is_sampled_is_judged_by_packets_and_octets_alone(tmp_path: Path) -> None:
    daemon = started(tmp_path, "jsonl", "203.0.113.1")
    try:
        put_json(tmp_path / "flows", {"192.0.2.5": 150, "192.0.2.6": 5}, sampling=1000)
        wait(lambda: taken(daemon) == ["one.json"])
        wait(lambda: bool(incidents(daemon)))
        (joe,) = incidents(daemon)
        assert (joe.account, joe.limit, joe.value) == ("joe", "OCTETS", 150 * 100_000 * 1000)
        assert joe.evidence["streams"] is None
        assert joe.evidence["destinations"] is None
    finally:
        daemon.stop()
