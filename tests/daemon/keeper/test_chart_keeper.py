"""The keeper draws charts: of what the processes say, of the journal, and asleep while nothing
moves.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import closing
from pathlib import Path

import pytest

from oborona import state_files
from oborona.daemon.keeper.chart_keeper import ASLEEP_S, EVERY_S, ChartKeeper
from oborona.ident import first_id_at
from oborona.journal import schema as journal_file
from oborona.metrics import MetricsSnapshot, Value
from oborona.stores.charts.reader import ChartReader, ChartStep
from oborona.stores.charts.schema import TEN_S
from oborona.stores.charts.sources import SCAN_METRIC, SOURCES
from oborona.telemetry.metric_table import described_metrics
from oborona.telemetry.status import (
    ReaderStatus,
    RecheckStatus,
    TrainerStatus,
    WorkerStatus,
    write_status,
)

NOW = 1_800_000_000.0
STEPS = next(
    one.steps for one in described_metrics()["worker"] if one.name == "oborona_scan_seconds"
)


class ChartedSite:
    """A state folder, its keeper of charts, and a clock."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.now = NOW
        journal_file.prepare(state / state_files.JOURNAL)
        self.keeper = ChartKeeper(state, lambda: self.now)
        self.ids = 0

    def again(self) -> None:
        """Another keeper takes over."""
        self.keeper.close()
        self.keeper = ChartKeeper(self.state, lambda: self.now)

    def say(self, accepted: int, *, worker: int = 0, pid: int = 1, late: int = 0) -> None:
        """Have a worker write its status."""
        metrics = snapshot(
            oborona_verdicts=[(("content", "accept"), accepted), (("connect", "reject"), 1)],
            oborona_rule_hits=[(("MASS_TEXT", "live"), accepted)],
            oborona_late_waiting=[((), late)],
        )
        metrics.histograms["oborona_scan_seconds"] = [((), [accepted] + [0] * len(STEPS), 0.1)]
        write_status(
            self.state,
            WorkerStatus(worker=worker, pid=pid, time=self.now, metrics=metrics, policy="p"),
        )

    def journal(self, *recipients: str, verdict: str = "accept", at: float) -> None:
        """Write a message into the journal."""
        self.ids += 1
        named = "[" + ",".join(f'"{one}"' for one in recipients) + "]"
        with closing(journal_file.open_writer(self.state / state_files.JOURNAL)) as db:
            db.execute(
                "INSERT INTO verdict (id, time, verdict, score, line, decided_by, partial,"
                " policy_version, size, client_ip, helo, sender, login, recipients, subject, rules)"
                " VALUES (?, ?, ?, 0, 0, '', 0, '', 0, '', '', '', '', ?, '', '')",
                (first_id_at(at) + self.ids, at, verdict, named),
            )

    def look(self, after: float = 20.0) -> None:
        """Take a look, some seconds later."""
        self.now += after
        self.keeper.look()

    def total(self, name: str) -> int:
        """Return the sum of a series."""
        with ChartReader(self.state / state_files.CHARTS) as reader:
            values = reader.values([name], ChartStep.TEN_MINUTES, 0, 1 << 40)
        return sum(values.get(name, {}).values())


def snapshot(**values: list[tuple[tuple[str, ...], Value]]) -> MetricsSnapshot:
    return MetricsSnapshot(values=values, histograms={})


@pytest.fixture
def site(tmp_path: Path) -> ChartedSite:
    made = ChartedSite(tmp_path)
    made.look(0)
    return made


def test_what_workers_count_is_summed(site: ChartedSite) -> None:
    site.say(3)
    site.say(4, worker=1, pid=2)
    site.look()
    site.say(5)
    site.look()
    assert site.total("verdicts/content/accept") == 9
    assert site.total("verdicts/connect/reject") == 2
    assert site.total("rules/live/MASS_TEXT") == 9
    assert site.total(f"scans/{STEPS[0]}") == 9


def test_another_keeper_goes_on_where_the_last_one_was(site: ChartedSite) -> None:
    site.say(3)
    site.look()
    site.again()
    site.look(0)
    assert site.total("verdicts/content/accept") == 3
    site.say(8)
    site.again()
    site.look()
    site.say(2, pid=9)
    site.look()
    assert site.total("verdicts/content/accept") == 10


def test_what_other_processes_say_is_charted(site: ChartedSite) -> None:
    events = snapshot(
        oborona_events_decided=[
            (("complaint", "imap", "believed"), 2),
            (("complaint", "http", "believed"), 3),
            (("pardon", "imap", "refused"), 1),
        ],
        oborona_events_waiting=[((), 4)],
        oborona_model_words=[(("queued", "spam"), 5), (("learned", "ham"), 9)],
    )
    moves = snapshot(oborona_recheck_moves=[(("moved",), 6)], oborona_recheck_waiting=[((), 1)])
    pictures = snapshot(oborona_reader_waiting=[(("look",), 2), (("read",), 7)])
    write_status(site.state, TrainerStatus(pid=1, time=site.now, metrics=events))
    write_status(site.state, RecheckStatus(pid=2, time=site.now, metrics=moves))
    write_status(site.state, ReaderStatus(pid=3, time=site.now, metrics=pictures))
    site.look(5)
    assert {name: site.total(name) for name in ("events/complaint/believed", "events/pardon/refused", "moves/moved", "queues/events", "queues/words", "queues/recheck", "queues/pictures/read")} == {
        "events/complaint/believed": 5, "events/pardon/refused": 1, "moves/moved": 6, "queues/events": 4, "queues/words": 5, "queues/recheck": 1, "queues/pictures/read": 7,
    }  # fmt: skip


def test_every_metric_that_has_a_chart_is_told_with_these_labels() -> None:
    described = described_metrics()
    for source in SOURCES:
        one = next(one for one in described[source.process] if one.name == source.metric)
        labels = one.labels[1:] if source.process == "worker" else one.labels
        assert labels == source.labels
        assert set(source.shown) <= set(source.labels)
        assert one.kind == ("gauge" if source.queue else "counter")
    assert SCAN_METRIC in {one.name for one in described["worker"]}


def test_domains_of_recipients_are_charted_at_their_own_time(site: ChartedSite) -> None:
    site.journal("joe@A.example", "ann@a.example", "bob@b.example", at=NOW + 1)
    site.journal("joe@a.example", verdict="spam", at=NOW + 2 + TEN_S)
    site.journal("postmaster", "x@" + "y" * 500, at=NOW + 3)
    site.look(2 * TEN_S)
    site.look()
    assert site.total("domains/accept/a.example") == 1
    assert site.total("domains/accept/b.example") == 1
    assert site.total("domains/spam/a.example") == 1
    with ChartReader(site.state / state_files.CHARTS) as reader:
        found = reader.values(["domains/spam/a.example"], ChartStep.TEN_MINUTES, 0, 1 << 40)
    assert list(found["domains/spam/a.example"]) == [int(NOW // TEN_S) + 1]


def test_a_message_is_counted_once_it_has_settled_and_once(site: ChartedSite) -> None:
    site.journal("joe@a.example", at=NOW + 1)
    site.look(5)
    assert site.total("domains/accept/a.example") == 0
    for _ in range(3):
        site.again()
        site.look(20)
    assert site.total("domains/accept/a.example") == 1


def test_a_journal_that_is_damaged_stops_no_other_chart(
    site: ChartedSite, caplog: pytest.LogCaptureFixture
) -> None:
    (site.state / state_files.JOURNAL).write_bytes(b"no journal" * 1000)
    for name in ("-wal", "-shm"):
        (site.state / f"{state_files.JOURNAL}{name}").unlink(missing_ok=True)
    site.say(3)
    site.look()
    site.look()
    assert site.total("verdicts/content/accept") == 3
    said = [record for record in caplog.records if "domains" in record.getMessage()]
    assert len(said) == 1


def test_a_damaged_file_is_set_apart_and_begun_anew(
    site: ChartedSite, caplog: pytest.LogCaptureFixture
) -> None:
    site.say(3)
    site.look()
    site.keeper.close()
    (site.state / state_files.CHARTS).write_bytes(b"no charts" * 1000)
    site.again()
    site.say(3)
    site.look()
    site.say(5)
    site.look()
    assert site.total("verdicts/content/accept") == 2
    assert len(list(site.state.glob(f"{state_files.CHARTS}.damaged-*"))) == 1
    assert "charts begin anew" in caplog.text


def test_a_store_that_cannot_be_written_is_told_once_and_tried_again(
    site: ChartedSite, caplog: pytest.LogCaptureFixture
) -> None:
    site.keeper.close()
    (site.state / state_files.CHARTS).rename(site.state / "away")
    (site.state / state_files.CHARTS).mkdir()
    (site.state / state_files.CHARTS / "x").touch()
    site.keeper = ChartKeeper(site.state / "no-such", lambda: site.now)
    site.look()
    site.look()
    assert [record.levelno for record in caplog.records].count(logging.ERROR) == 1
    site.now += EVERY_S
    assert site.keeper.due()


def test_status_files_of_strangers_stop_nothing(site: ChartedSite) -> None:
    site.say(3)
    folder = site.state / state_files.STATUS
    (folder / "worker-1.json").write_bytes(b"{")
    (folder / "worker-2.json").write_bytes(os.urandom(5000))
    (folder / "trainer.json").write_bytes(b"[" * 100_000)
    write_status(
        site.state,
        RecheckStatus(
            pid=1,
            time=site.now,
            metrics=snapshot(
                oborona_recheck_moves=[(("a", "b"), 1), (("x/../\n" * 99,), 1 << 80), (("y",), -5)]
            ),
        ),
    )
    site.look(5)
    assert site.total("verdicts/content/accept") == 3
    with ChartReader(site.state / state_files.CHARTS) as reader:
        (move,) = [one.name for one in reader.series("moves/")]
    assert move.isprintable()
    assert move.count("/") == 1


def test_nobody_is_woken_while_nothing_moves(site: ChartedSite) -> None:
    site.say(3)
    site.look()
    site.look()
    site.look()
    looks = 0
    for _ in range(3600):
        site.now += 1
        looks += site.keeper.due()
    assert looks == 0


def test_mail_wakes_it_and_falls_into_its_own_time(site: ChartedSite) -> None:
    site.say(3)
    site.look()
    site.look()
    for _ in range(7200):
        site.now += 1
        assert not site.keeper.due()
    site.journal("joe@a.example", at=site.now)
    site.say(10)
    waited = next(seconds for seconds in range(100) if site.keeper.due() or not step(site))
    assert waited <= ASLEEP_S + 1
    site.look(0)
    with ChartReader(site.state / state_files.CHARTS) as reader:
        name = "verdicts/content/accept"
        last = int(site.now // TEN_S)
        assert reader.values([name], ChartStep.TEN_MINUTES, last - 1, last)[name][last] >= 1
        found = reader.values([name], ChartStep.TEN_MINUTES, last - 1, last)[name]
    assert sum(found.values()) == 7


def step(site: ChartedSite) -> bool:
    site.now += 1
    return True


def test_while_mail_comes_it_looks_once_a_minute(site: ChartedSite) -> None:
    looks = 0
    for second in range(600):
        site.now += 1
        if second % 10 == 0:
            site.journal("joe@a.example", at=site.now)
        site.say(second)
        if site.keeper.due():
            site.keeper.look()
            looks += 1
    assert 9 <= looks <= 11


async def test_it_runs_until_it_is_cancelled(tmp_path: Path) -> None:
    site = ChartedSite(tmp_path)
    site.say(1)
    running = asyncio.create_task(site.keeper.run())
    async with asyncio.timeout(30):
        while not (tmp_path / state_files.CHARTS).exists():  # noqa: ASYNC110 - of another thread
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await asyncio.to_thread(site.keeper.close)
