"""The keeper tries limits on flows on each window that is new, once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from oborona import state_files
from oborona.accounts.account import AccountNetwork, AccountRecord
from oborona.accounts.excess import Excess
from oborona.accounts.flows.store import (
    ExporterWindow,
    FileState,
    FlowFile,
    FlowStore,
    SourceWindow,
)
from oborona.accounts.store.accounts import AccountStore
from oborona.daemon.keeper.flow_limit_watch import PASSED, FlowLimitWatch
from oborona.daemon.keeper.policy_in_force import PolicyInForce
from oborona.eventlog.export.flows import FlowLog
from tests.eventlog.worlds import HASHER

NOW: Final = 1_795_000_030.0
START: Final = 1_794_999_960
LIMIT: Final = """
[[flow_limit]]
name = "STREAMS"
each = "address"
count = "streams"
window = "hour"
limit = 100
"""


class FlowSite:
    """A state folder that the flow process fills, and the watch of its keeper."""

    def __init__(self, folder: Path) -> None:
        self.state = folder
        self.heard: list[Excess] = []
        self.policy = folder / "policy.d"
        self.policy.mkdir()
        (self.policy / "10.toml").write_text(LIMIT)
        self.watch = FlowLimitWatch(
            folder,
            PolicyInForce(folder, self.policy),
            self,
            named=True,
            clock=lambda: NOW,
        )

    def take(self, excess: Excess) -> None:
        """Take an excess, as its spool does."""
        self.heard.append(excess)

    def told(self, start: int, streams: int, *, failures: int = 0) -> None:
        """Have the flow process take a file."""
        with FlowStore(self.state / state_files.FLOWS) as store:
            store.take(
                FlowFile(name=f"f{start}", size=1, state=FileState.TAKEN, taken=NOW),
                [
                    SourceWindow(
                        start=start,
                        address="192.0.2.5",
                        packets=1,
                        octets=1,
                        streams=streams,
                        at_once=1,
                        destinations=1,
                        refused=0,
                        sampled=False,
                    )
                ],
                [
                    ExporterWindow(
                        start=start,
                        exporter="203.0.113.1",
                        records=streams,
                        flows=streams,
                        datagrams=100,
                        failures=failures,
                        times_wrong=0,
                        lag_s=1.0,
                        shared=0.0,
                        sampling=1,
                    )
                ],
            )

    def import_joe(self) -> None:
        """Have a source tell that the machine is Joe's."""
        joe = AccountRecord(
            id="joe", logins=("joe",), networks=(AccountNetwork(network="192.0.2.0/29"),)
        )
        with AccountStore(self.state / state_files.ACCOUNTS) as store:
            store.put([joe], by="anna", now=NOW)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[FlowSite]:
    made = FlowSite(tmp_path)
    yield made
    made.watch.close()


async def test_each_window_is_tried_once(site: FlowSite) -> None:
    await site.watch.step()  # nothing there yet
    site.import_joe()
    site.told(START - 120, 60)
    await site.watch.step()
    assert site.heard == []
    before = PASSED.value("STREAMS", "live")
    site.told(START - 60, 60)
    await site.watch.step()
    await site.watch.step()
    (excess,) = site.heard
    assert (excess.account, excess.address, excess.value, excess.shadow) == (
        "joe",
        "192.0.2.5",
        120,
        False,
    )
    site.told(START, 10)
    await site.watch.step()
    assert [one.value for one in site.heard] == [120, 130]
    assert PASSED.value("STREAMS", "live") == before + 2
    log = FlowLog(site.state / state_files.FLOWS, HASHER)
    rows = log.table(0, log.last_place(0, NOW + 1)).to_pylist()
    assert [row["limits"] for row in rows] == [None, "STREAMS", "STREAMS"]
    site.told(START + 3600, 1000)  # of a clock that runs ahead
    await site.watch.step()
    assert len(site.heard) == 2


async def test_what_is_lost_on_the_way_makes_no_ban(site: FlowSite) -> None:
    site.import_joe()
    site.told(START, 200, failures=2)
    await site.watch.step()
    (excess,) = site.heard
    assert excess.shadow
    assert "doubt" in excess.evidence


async def test_an_address_of_nobody_is_logged_alone(
    site: FlowSite, caplog: pytest.LogCaptureFixture
) -> None:
    site.told(START, 200)
    with caplog.at_level(logging.INFO):
        await site.watch.step()
    assert site.heard == []
    assert "flow limit" in [record.message for record in caplog.records]


async def test_trouble_is_said_once_and_over(
    site: FlowSite, caplog: pytest.LogCaptureFixture
) -> None:
    site.import_joe()
    flows = site.state / state_files.FLOWS
    flows.write_bytes(b"no file of flows" * 300)
    for _ in range(3):
        await site.watch.step()
    flows.unlink()
    site.told(START, 200)
    await site.watch.step()
    assert len(site.heard) == 1
    messages = [record.message for record in caplog.records]
    assert messages.count("limits on flows wait") == 1
    assert messages.count("limits on flows are tried again") == 1
