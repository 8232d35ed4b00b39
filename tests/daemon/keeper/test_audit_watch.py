"""The keeper notes the end of the audit log and drops its oldest rows, also where nobody acts."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from oborona import secret, state_files
from oborona.audit.reader import AuditQuery, AuditReader
from oborona.audit.row import ActOutcome, AuditRow, RowKind
from oborona.audit.site_key import audit_key
from oborona.audit.store import AuditStore
from oborona.daemon.keeper.audit_watch import DAY_US, AuditWatch

NOW = 1_795_862_400.0


@pytest.fixture
def state(tmp_path: Path) -> Path:
    secret.make(tmp_path)
    return tmp_path


def act(state: Path, at: float, about: str) -> None:
    row = AuditRow(
        number=0, kind=RowKind.BEGUN, at=int(at * 1e6), act="lists.add", about=about, way="page"
    )
    ended = AuditRow(number=0, kind=RowKind.ENDED, at=row.at, act=row.act, outcome=ActOutcome.DONE)
    with AuditStore(state / state_files.AUDIT, audit_key(state)) as store:
        store.end(row, store.begin(row, 400 * DAY_US), ended)


def checkpoints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line.getMessage() for line in caplog.records if "checkpoint" in line.getMessage()]


@pytest.mark.asyncio
async def test_the_end_is_told_when_it_is_a_new_one(
    state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    watch = AuditWatch(state, 400, lambda: NOW)
    await watch.step()  # there is no log
    assert checkpoints(caplog) == []
    assert not (state / state_files.AUDIT).exists()
    act(state, NOW, "a")
    for _ in range(3):
        await watch.step()
    assert len(checkpoints(caplog)) == 1
    act(state, NOW, "b")
    await watch.step()
    assert len(checkpoints(caplog)) == 2
    with AuditReader(state / state_files.AUDIT) as reader:
        report = reader.verify(audit_key(state))
    end = f"{report.end.number}:{report.end.hash.hex()}"
    assert end in str(vars(caplog.records[-1]))
    assert report.faults == ()


@pytest.mark.asyncio
async def test_old_rows_go_though_nobody_acts(state: Path) -> None:
    for day in range(10):
        act(state, NOW + day * 86_400, str(day))
    clock = [NOW + 400 * 86_400]
    watch = AuditWatch(state, 400, lambda: clock[0])
    await watch.step()
    clock[0] += 5 * 86_400
    for _ in range(3):
        await watch.step()
    with AuditReader(state / state_files.AUDIT) as reader:
        left = [one.about for one in reader.acts(AuditQuery(), 100)]
        report = reader.verify(audit_key(state))
    assert left == ["9", "8", "7", "6", "5"]
    assert (report.faults, report.dropped) == ((), 10)
    clock[0] += 4000 * 86_400  # all of it is too old
    for _ in range(5):
        await watch.step()
    with AuditReader(state / state_files.AUDIT) as reader:
        assert reader.acts(AuditQuery(), 100) == []
        assert reader.verify(audit_key(state)).faults == ()


@pytest.mark.asyncio
async def test_a_damaged_log_is_told_and_ends_nothing(
    state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (state / state_files.AUDIT).write_bytes(b"x" * 5000)
    watch = AuditWatch(state, 400, lambda: NOW)
    await watch.step()
    await watch.step()
    told = [line for line in caplog.records if "not noted" in line.getMessage()]
    assert len(told) == 1


@pytest.mark.asyncio
async def test_an_end_that_was_taken_off_is_written_down(state: Path) -> None:
    act(state, NOW, "a")
    with (
        AuditStore(state / state_files.AUDIT, audit_key(state)) as store,
        store.transaction() as db,
    ):
        db.execute("DELETE FROM audit WHERE number = 2")
    await AuditWatch(state, 400, lambda: NOW).step()
    with AuditReader(state / state_files.AUDIT) as reader:
        assert any("says of the end" in fault for fault in reader.verify(audit_key(state)).faults)
