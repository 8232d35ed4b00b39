"""Events of many doors at once: acknowledged when they are on the disk, refused with a reason,
never lost in between.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from oborona import state_files
from oborona.errors import StoreBusy, StoreError
from oborona.feedback.events import event_writer as module
from oborona.feedback.events.event_writer import EventWriter
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, EventReceipt, FeedbackEvent
from tests.feedback.words import NOW

ROOT: Final = Path(__file__).resolve().parents[3]
PROGRAM: Final = Path(__file__).with_name("taking_program.py")


def event(number: int, *, key: bytes = b"") -> FeedbackEvent:
    return FeedbackEvent(
        what=EventKind.READ, way=EventChannel.MAILBOX, time=NOW, ident=number, key=key
    )


async def test_many_at_once_are_one_transaction_and_each_has_its_receipt(tmp_path: Path) -> None:
    transactions = []

    class Counted(EventLog):
        def add(self, events: list[FeedbackEvent], *, now: float) -> list[EventReceipt]:  # type: ignore[override] # a list it is
            transactions.append(len(events))
            return super().add(events, now=now)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "EventLog", Counted)
        async with EventWriter(tmp_path / state_files.EVENTS) as taking:
            receipts = await asyncio.gather(*(taking.take(event(number)) for number in range(700)))
            assert taking.taken == 700
    assert sorted(one.id for one in receipts) == list(range(1, 701))
    assert sum(transactions) == 700
    assert len(transactions) <= 4
    with EventLog(tmp_path / state_files.EVENTS) as log:
        assert [log.get(one.id).ident for one in receipts] == list(range(700))


async def test_the_same_report_handed_in_by_two_doors_is_written_once(tmp_path: Path) -> None:
    async with EventWriter(tmp_path / state_files.EVENTS) as taking:
        found = await asyncio.gather(*(taking.take(event(1, key=b"k")) for _ in range(5)))
    assert {one.id for one in found} == {1}
    assert sum(one.new for one in found) == 1


async def test_a_file_that_cannot_be_written_is_said_and_tried_again(tmp_path: Path) -> None:
    path = tmp_path / state_files.EVENTS
    path.write_bytes(b"no database" * 1000)
    async with EventWriter(path) as taking:
        with pytest.raises(StoreError, match="is damaged"):
            await taking.take(event(1))
        assert taking.refused == 1
        path.unlink()
        assert await taking.take(event(2)) == EventReceipt(1, new=True)


async def test_who_gives_up_holds_nobody_else_up(tmp_path: Path) -> None:
    async with EventWriter(tmp_path / state_files.EVENTS) as taking:
        gone = asyncio.create_task(taking.take(event(1)))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert (await taking.take(event(2))).new


async def test_a_log_that_another_process_holds_is_busy_and_nothing_waits_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.2)
    monkeypatch.setattr(module, "WAITING", 3)
    with EventLog(tmp_path / state_files.EVENTS) as other, other.transaction():
        async with EventWriter(tmp_path / state_files.EVENTS) as taking:
            found = await asyncio.gather(
                *(taking.take(event(number)) for number in range(20)), return_exceptions=True
            )
            assert all(isinstance(one, StoreBusy) for one in found)
            other._db.execute("ROLLBACK")
            other._db.execute("BEGIN")
            monkeypatch.setattr(module, "PATIENCE_S", 30.0)
            assert (await taking.take(event(99))).new


async def test_after_the_end_nothing_is_taken_and_all_that_waited_is_written(
    tmp_path: Path,
) -> None:
    taking = EventWriter(tmp_path / state_files.EVENTS)
    async with taking:
        waiting = [asyncio.create_task(taking.take(event(number))) for number in range(50)]
        await asyncio.sleep(0)
    found = await asyncio.gather(*waiting)
    assert sorted(one.id for one in found) == list(range(1, 51))
    with pytest.raises(StoreError, match="no more events"):
        await taking.take(event(1))


def test_what_was_acknowledged_before_kill_9_is_there_once(tmp_path: Path) -> None:
    acknowledged: dict[int, str] = {}
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(tmp_path / state_files.EVENTS)],
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "PATH": ""},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                ident, name = line.split()
                assert int(ident) not in acknowledged
                acknowledged[int(ident)] = name
                if len(acknowledged) % 400 == 0:
                    process.kill()
                    break
            for line in process.stdout:  # what it had said before it was gone
                if line.endswith("\n"):
                    ident, name = line.split()
                    acknowledged[int(ident)] = name
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
    with EventLog(tmp_path / state_files.EVENTS) as log:
        there = dict(log.rows("SELECT id, message_id FROM event"))
        copies = log.rows("SELECT count(*) FROM raw")[0][0]
    assert len(acknowledged) >= 1200
    assert acknowledged.items() <= there.items()
    assert copies == len(there)
