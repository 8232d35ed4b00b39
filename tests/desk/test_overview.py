"""The first page: a day beside the same day of last week, what has changed, what needs a person."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec

from oborona import state_files
from oborona.desk.asks.overview import Overview, OverviewQuestion, read_overview
from oborona.feedback.events import schema as event_file
from oborona.metrics import MetricsSnapshot
from oborona.telemetry import status
from oborona.telemetry.alert import CampaignSighting
from tests.desk.desk_site import CALLER, WEEK_S, DeskSite, draw


def read(state: Path) -> Overview:
    return read_overview(DeskSite(state), CALLER, OverviewQuestion())


def sighting(name: str, hour: int) -> CampaignSighting:
    return CampaignSighting(
        name=name, time=1.0, subject="Your parcel", sender="a@b.example", client="192.0.2.1",
        hour=hour, ips=96, complaints=12, traps=3, verdict="spam",
    )  # fmt: skip


def test_a_new_site_has_an_overview(tmp_path: Path) -> None:
    overview = read(tmp_path)
    assert overview.missing == ["charts: there are none yet"]
    assert overview.bars == []
    msgspec.json.encode(overview)


def test_bars_lie_beside_those_of_last_week(tmp_path: Path) -> None:
    draw(
        tmp_path,
        {"verdicts/content/accept": 7, "verdicts/content/spam": 1, "rules/live/SAME": 9},
        ago=WEEK_S,
    )
    draw(
        tmp_path,
        {
            "verdicts/content/accept": 20,
            "verdicts/content/reject": 2,
            "verdicts/connect/reject": 3,
            "verdicts/recipient/tempfail": 4,
            "rules/live/SAME": 9,
            "rules/live/MASS_TEXT": 412,
            "rules/shadow/TRIAL": 99,
            "events/complaint/believed": 5,
            "events/complaint/refused": 1,
            "events/pardon/believed": 2,
            "moves/moved": 8,
        },
    )
    overview = read(tmp_path)
    sums = {bars.kind: (sum(bars.values), sum(bars.before)) for bars in overview.bars}
    assert sums == {
        "refused-at-door": (7, 0), "refused": (2, 0), "junk": (0, 1), "inbox": (20, 7),
    }  # fmt: skip
    assert all(len(bars.values) == len(bars.before) == 144 for bars in overview.bars)
    assert [one.rule for one in overview.rules] == ["MASS_TEXT"]
    assert sum(overview.events.complaints) == 6
    assert sum(overview.events.pardons) == 2
    assert len(overview.events.pardons) == 24
    assert overview.moves == {"moved": 8}
    assert overview.missing == []


def test_waves_are_the_largest_sightings_of_all_workers(tmp_path: Path) -> None:
    for worker, campaigns in enumerate(
        ((sighting("a", 5), sighting("b", 900)), (sighting("a", 70),))
    ):
        status.write_status(
            tmp_path,
            status.WorkerStatus(
                worker=worker,
                pid=1,
                time=time.time(),
                metrics=MetricsSnapshot(),
                policy="p",
                campaigns=campaigns,
            ),
        )
    assert [(one.name, one.hour) for one in read(tmp_path).waves] == [("b", 900), ("a", 70)]


def test_campaigns_of_which_both_is_said_need_a_person(tmp_path: Path) -> None:
    now = time.time()
    path = tmp_path / state_files.EVENTS
    event_file.SHARED.open(path).close()
    with closing(sqlite3.connect(path)) as db, db:
        for campaign in (1, 2, 3, 4):
            last = now - (9e5 if campaign == 4 else 60)
            db.execute(
                "INSERT INTO campaign (id, first, last) VALUES (?, ?, ?)", (campaign, last, last)
            )
        db.executemany(
            "INSERT INTO campaign_person VALUES (?, ?, ?, 1, ?, ?, ?, 0, 0, 0, '')",
            [
                (1, "ann", "complaint", now, now, 1.0),
                (1, "bob", "pardon", now, now, 1.0),
                (1, "cid", "complaint", now, now, 1.0),
                (2, "ann", "complaint", now, now, 1.0),
                (2, "bob", "pardon", now, now, 0.0),
                (3, "ann", "pardon", now, now, 1.0),
                (4, "ann", "complaint", now - 9e5, now - 9e5, 1.0),
                (4, "bob", "pardon", now - 9e5, now - 9e5, 1.0),
            ],
        )
    (found,) = read(tmp_path).needs.contested
    assert (found.campaign, found.complainers, found.pardoners) == (1, 2, 1)


def test_a_store_that_is_damaged_hides_nothing_else(tmp_path: Path) -> None:
    draw(tmp_path, {"verdicts/content/accept": 20})
    for name in (state_files.EVENTS, state_files.SIGNATURES, state_files.AUDIT):
        (tmp_path / name).write_bytes(b"no store" * 1000)
    overview = read(tmp_path)
    assert len(overview.missing) == 3
    assert all("is damaged" in text for text in overview.missing)
    assert sum(overview.bars[-1].values) == 20


def test_moves_that_have_stopped_need_a_person(tmp_path: Path) -> None:
    metrics = MetricsSnapshot(values={"oborona_recheck_paused": [((), 1)]})
    status.write_status(tmp_path, status.RecheckStatus(pid=1, time=time.time(), metrics=metrics))
    assert read(tmp_path).needs.paused
