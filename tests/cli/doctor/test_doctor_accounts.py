"""What `oborona doctor` says of accounts."""

from __future__ import annotations

from pathlib import Path

from oborona import state_files
from oborona.accounts.account import AccountBlock, AccountRecord, AccountState
from oborona.accounts.store.accounts import AccountStore
from oborona.cli.context import CliContext
from oborona.desk.doctor.accounts import accounts
from oborona.desk.doctor.report import CheckState


def test_it_tells_how_many_are_stopped_and_a_damaged_file(tmp_path: Path) -> None:
    context = CliContext(None, tmp_path, ())
    assert list(accounts(context)) == [], "nobody has accounts here"
    path = tmp_path / state_files.ACCOUNTS
    with AccountStore(path) as store:
        store.put([AccountRecord(id="joe", logins=("joe",))], by="anna", now=1.0)
        (report,) = accounts(context)
        assert (report.state, report.words.endswith(": none is stopped")) == (CheckState.OK, True)
        ban = AccountBlock(account="joe", state=AccountState.BANNED, until=0.0, why="x")
        store.block(ban, now=1.0)
        (report,) = accounts(context)
        assert report.words.endswith(": 1 banned")
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    (report,) = accounts(context)
    assert report.state is CheckState.FAIL
