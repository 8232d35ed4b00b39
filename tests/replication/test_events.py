"""Events are one for all machines of a site: acknowledged once PostgreSQL or the machine's spool
has them, each there once, believed once, learned from on all.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.daemon.site.departure import leave_site
from oborona.daemon.site.event_drain import EventDrain
from oborona.daemon.trainer.turn import TrainerTurn
from oborona.errors import StoreError
from oborona.feedback.events import event_route
from oborona.feedback.events.event_writer import EventWriter
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, EventReceipt, FeedbackEvent
from oborona.feedback.events.spool import FeedbackSpool
from oborona.feedback.label import LabelKind
from oborona.feedback.label_store import LabelStore
from oborona.feedback.processing.entry_witness import EntryWitness
from oborona.feedback.trainer import Trainer
from oborona.feedback.weights_file import HEADER_BYTES, WeightsFile
from oborona.feedback.weights_follower import WeightsFollower
from oborona.replication.site_lock import LockLostError
from tests.feedback.processing.scene import Journal, Scene
from tests.feedback.words import NOW, letter, mixed, settle
from tests.peers.postgresql import Postgresql
from tests.replication.cut_line import CutLine
from tests.replication.machines import dump, two_machines
from tests.replication.site_kills import KilledSite
from tests.replication.site_machine import trapped
from tests.replication.test_faults import through


@pytest.fixture
def site(tmp_path: Path, postgresql: Postgresql) -> tuple[Path, Path]:
    return two_machines(tmp_path, postgresql.address)


def take(state: Path, *events: FeedbackEvent) -> list[EventReceipt]:
    async def taken() -> list[EventReceipt]:
        async with EventWriter(state / state_files.EVENTS, clock=lambda: NOW) as taking:
            return await asyncio.gather(*map(taking.take, events))

    return asyncio.run(taken())


def keys(state: Path) -> list[bytes]:
    with EventLog(state / state_files.EVENTS) as log:
        with log.transaction():  # what others wrote is here then
            pass
        return [key for (key,) in log.rows("SELECT key FROM event ORDER BY id")]


def waiting(state: Path) -> int:
    with FeedbackSpool(state / state_files.EVENTS_SPOOL) as spool:
        return spool.waiting()


def drain(state: Path) -> None:
    with closing(EventDrain(state)) as draining:
        while draining.step():
            pass


def test_many_are_one_change_and_the_same_report_of_two_machines_is_one_event(
    site: tuple[Path, Path], postgresql: Postgresql
) -> None:
    first, second = site
    take(first, *map(trapped, range(100)))
    receipts = take(second, trapped(7), trapped(100))
    assert [receipt.new for receipt in receipts] == [False, True]
    assert len(keys(first)) == 101
    rows = postgresql.rows("SELECT count(*) FROM oborona.change WHERE store = 'events.db'")
    assert rows[0][0] < 8
    assert not (first / state_files.EVENTS_SPOOL).exists()


def test_while_the_log_is_away_events_wait_in_order_and_go_in_once(
    site: tuple[Path, Path], postgresql: Postgresql, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = site
    nameless = msgspec.structs.replace(trapped(9), key=b"")
    with CutLine(postgresql.port) as line:
        through(first, line)
        line.closed = True
        assert take(first, trapped(1), nameless) == [event_route.SPOOLED] * 2
        assert take(first, trapped(2)) == [event_route.SPOOLED]
        assert caplog.text.count("events wait in") == 1, "the second time it is known"
        assert waiting(first) == 3
        with pytest.raises(StoreError):
            drain(first)
        assert waiting(first) == 3
        take(second, trapped(2))  # somebody told both machines
        line.closed = False
        assert take(first, trapped(3)) == [event_route.SPOOLED], "behind those that wait"
        drain(first)
        assert waiting(first) == 0
        assert take(first, trapped(4))[0].id
        found = keys(first)
    assert [key for key in found if key.startswith(b"event")] == [
        b"event %d" % number for number in (2, 1, 3, 4)
    ]
    assert len(found) == 5
    assert keys(second) == found


def test_killed_between_log_and_spool_an_event_is_there_once(site: tuple[Path, Path]) -> None:
    first, _ = site
    with FeedbackSpool(first / state_files.EVENTS_SPOOL) as spool:
        spool.add([trapped(1), trapped(2)], now=NOW)
    with EventLog(first / state_files.EVENTS) as log:
        log.add([trapped(1)], now=NOW)
    drain(first)
    assert keys(first) == [b"event 1", b"event 2"]
    with EventLog(first / state_files.EVENTS) as log:
        assert log.get(2).heard == NOW


def test_a_log_that_does_not_answer_is_not_waited_for(
    site: tuple[Path, Path], postgresql: Postgresql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it does in the end is seen to be the same event."""
    first, _ = site

    async def taken() -> list[EventReceipt]:
        async with EventWriter(first / state_files.EVENTS) as taking:
            receipts = [await taking.take(trapped(1))]
            monkeypatch.setattr(event_route, "LOG_S", 0.2)  # of a log that answered until now
            line.held = True
            began = time.monotonic()
            receipts += [await taking.take(trapped(2)), await taking.take(trapped(3))]
            assert time.monotonic() - began < 2.0
            line.held = False
            return receipts

    with CutLine(postgresql.port) as line:
        through(first, line)
        assert [bool(one.id) for one in asyncio.run(taken())] == [True, False, False]
        drain(first)
        assert keys(first) == [b"event 1", b"event 2", b"event 3"]


def test_who_leaves_takes_what_waits_with_him(site: tuple[Path, Path]) -> None:
    first, _ = site
    with FeedbackSpool(first / state_files.EVENTS_SPOOL) as spool:
        spool.add([trapped(1)], now=NOW)
    leave_site(first)
    assert keys(first) == [b"event 1"]


def test_a_damaged_event_stops_none_behind_it(
    site: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    first, _ = site
    with FeedbackSpool(first / state_files.EVENTS_SPOOL) as spool:
        spool.add([trapped(1), trapped(2), trapped(3)], now=NOW)
        with spool.transaction() as db:
            db.execute("UPDATE waiting SET event = x'00ff' WHERE id = 1")
            db.execute("UPDATE waiting SET event = substr(event, 1, 20) WHERE id = 2")
    drain(first)
    assert keys(first) == [b"event 3"]
    assert "2 events are damaged" in caplog.text


@pytest.fixture
def scene(site: tuple[Path, Path]) -> Iterator[Scene]:
    made = Scene(site[0])
    yield made
    made.close()


def test_who_decides_hears_of_mail_that_came_through_another_machine(
    scene: Scene, site: tuple[Path, Path]
) -> None:
    raw = letter(1, LabelKind.SPAM)
    scene.known_person("ann@b.example")
    scene.deliver(7, raw, "ann@b.example")
    elsewhere = Journal()
    elsewhere.known, scene.journal.known = scene.journal.known, {}
    complaint = scene.say(EventKind.COMPLAINT, "ann@b.example", ident=7, raw=raw)
    read = scene.say(
        EventKind.READ, "ann@b.example", way=EventChannel.MAILBOX, message_id="spam.1@a.example"
    )
    scene.run()
    assert scene.log.get(complaint).decided is None, "it waits for who knows the message"
    with EventLog(site[1] / state_files.EVENTS) as log:
        with log.transaction():
            pass
        witness = EntryWitness(log, elsewhere)
        assert witness.step()
        assert not witness.step()
    with scene.log.transaction():
        pass
    scene.run()
    found = scene.log.get(complaint)
    assert found.counts
    assert found.own
    assert scene.log.get(read).ident == 7


def test_who_lost_the_turn_writes_nothing(site: tuple[Path, Path], postgresql: Postgresql) -> None:
    first, _ = site
    with TrainerTurn(first) as turn, EventLog(first / state_files.EVENTS) as log:
        turn.hold(log)
        until = time.monotonic() + 10
        while not turn.is_mine():
            assert time.monotonic() < until
            time.sleep(0.02)
        log.add([trapped(1)], now=NOW)
        postgresql.rows("UPDATE oborona.lock SET fence = fence + 1")  # another has had it
        with pytest.raises(LockLostError):
            log.add([trapped(2)], now=NOW)
    assert keys(first) == [b"event 1"]


def test_all_machines_learn_the_same_and_another_goes_on_from_there(
    site: tuple[Path, Path],
) -> None:
    first, second = site
    words = mixed(40)
    with LabelStore(first / state_files.FEEDBACK) as labels:
        labels.add(words[:30], now=NOW)
    training = settle(Trainer(first, kept=1000, retention_s=1e9, clock=lambda: NOW))
    _bring(second)
    follower = WeightsFollower(second, kept=1000, clock=lambda: NOW)
    _settled(follower)
    with LabelStore(first / state_files.FEEDBACK) as labels:
        labels.add(words[30:], now=NOW)
    settle(training)
    training.close()
    _bring(second)
    _settled(follower)
    assert _weights(first) == _weights(second)
    other = settle(
        Trainer(second, kept=1000, retention_s=1e9, begun=follower.taken(), clock=lambda: NOW)
    )
    assert (other.header.spam, other.header.ham) == (20, 20)
    assert _weights(first) == _weights(second)
    other.close()
    _bring(first)
    assert dump(first, state_files.FEEDBACK) == dump(second, state_files.FEEDBACK)


def _weights(state: Path) -> bytes:
    return WeightsFile(state / state_files.WEIGHTS).image()[HEADER_BYTES:]


def _settled(follower: WeightsFollower) -> None:
    while follower.step():
        pass


def _bring(state: Path) -> None:
    with LabelStore(state / state_files.FEEDBACK) as labels, labels.transaction():
        pass


def test_faults_lose_no_event_and_none_is_believed_twice(tmp_path: Path) -> None:
    with Postgresql() as own, ExitStack() as stack:
        site = KilledSite(tmp_path, own, 7, stack)
        site.run(["killed", "cut", "postgresql"])


def test_one_alone_loads_nothing_of_it() -> None:
    code = (
        "import sys, oborona.daemon.trainer.trainer, oborona.daemon.intake.service\n"
        "assert not {'psycopg', 'oborona.replication.replica'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
