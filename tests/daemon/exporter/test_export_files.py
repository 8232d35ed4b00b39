"""Tables as files: whole at every moment, whose they are told to be, and the same in each form."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from ipaddress import ip_network
from pathlib import Path

import cdbx
import pytest

from oborona.config import ExportSettings
from oborona.daemon.exporter.files import (
    CLIENTS,
    NETWORKS,
    SENDERS,
    SQLITE,
    ExportFiles,
    ExportTables,
    export_tables,
)
from oborona.daemon.exporter.row import ALLOW, ExportRow, deny_row
from oborona.errors import StoreError

ROUNDS = 40
ALL = {SQLITE, CLIENTS, NETWORKS, SENDERS}


def some(number: int, mark: str = "x") -> ExportTables:
    """Tables of so many rows, all with one mark."""
    rows = {
        ip_network(f"9.0.{one >> 8}.{one & 255}"): deny_row("Client", mark) for one in range(number)
    }
    return export_tables(
        rows | {ip_network("9.1.0.0/16"): ExportRow(ALLOW, mark)},
        {"ann@a.example": ExportRow(ALLOW, mark)},
    )


def selected(folder: Path, what: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{folder / SQLITE}?mode=ro", uri=True)) as db:
        return db.execute(what).fetchall()


def test_all_forms_hold_the_same(tmp_path: Path) -> None:
    wanted = export_tables(
        {
            ip_network("192.0.2.7"): deny_row("Client", "why", until=5),
            ip_network("2001:db8::7"): ExportRow(ALLOW, "why"),
            ip_network("::102:304"): ExportRow(ALLOW, "as the system writes it"),
            ip_network("192.0.0.0/16"): ExportRow(ALLOW, "wide"),
            ip_network("192.0.2.0/24"): deny_row("Client", "narrow"),
        },
        {"юля@a.example": deny_row("Sender", "L"), "*@a.example": ExportRow(ALLOW, "L")},
    )
    assert set(ExportFiles(ExportSettings(folder=str(tmp_path))).write(wanted)) == ALL
    assert {one.name for one in tmp_path.iterdir()} == ALL, "nothing else is left"
    assert selected(tmp_path, "SELECT * FROM client ORDER BY address") == [
        ("192.0.2.7", "deny", 554, "5.7.1 Client refused", "why", 5),
        ("2001:db8::7", "allow", 0, "", "why", 0),
        ("::1.2.3.4", "allow", 0, "", "as the system writes it", 0),
    ]
    assert selected(tmp_path, "SELECT address, verdict FROM sender ORDER BY address") == [
        ("*@a.example", "allow"),
        ("юля@a.example", "deny"),
    ]
    with closing(cdbx.CDB(str(tmp_path / CLIENTS))) as clients:
        assert len(clients) == 3
        assert (
            clients[b"192.0.2.7"]
            == b'verdict=deny code=554 until=5 text="5.7.1 Client refused" why="why"'
        )
    with closing(cdbx.CDB(str(tmp_path / SENDERS))) as senders:
        assert "юля@a.example".encode() in senders
    lines = (tmp_path / NETWORKS).read_text().splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["# Written by Oborona; changes do not last.", "192.0.2.0/24", "192.0.0.0/16"]  # fmt: skip


def test_tables_without_a_row_are_tables(tmp_path: Path) -> None:
    assert (
        set(ExportFiles(ExportSettings(folder=str(tmp_path))).write(export_tables({}, {}))) == ALL
    )
    assert selected(tmp_path, "SELECT count(*) FROM client") == [(0,)]
    with closing(cdbx.CDB(str(tmp_path / CLIENTS))) as clients:
        assert len(clients) == 0


def test_what_is_the_same_is_not_written_again_but_is_known_to_be_fresh(tmp_path: Path) -> None:
    files = ExportFiles(ExportSettings(folder=str(tmp_path)))
    files.write(some(3))
    before = (tmp_path / CLIENTS).stat()
    os.utime(tmp_path / CLIENTS, (1, 1))
    assert files.write(some(3)) == []
    after = (tmp_path / CLIENTS).stat()
    assert after.st_ino == before.st_ino
    assert after.st_mtime > 1
    (tmp_path / NETWORKS).unlink()
    assert files.write(some(3)) == [NETWORKS], "what somebody took away comes again"
    assert set(files.write(some(4))) == {SQLITE, CLIENTS}


def test_files_may_be_read_by_whom_the_settings_and_the_folder_name(tmp_path: Path) -> None:
    mask = os.umask(0o077)
    try:
        if os.geteuid() == 0:
            os.chown(tmp_path, -1, 12_345)
            tmp_path.chmod(0o2750)
        ExportFiles(ExportSettings(folder=str(tmp_path), mode="0640")).write(some(1))
    finally:
        os.umask(mask)
    found = {(one.stat().st_mode & 0o7777, one.stat().st_gid) for one in tmp_path.iterdir()}
    assert found == {(0o640, 12_345 if os.geteuid() == 0 else os.getgid())}


def test_a_folder_that_is_not_there_is_told_and_what_was_written_stays(tmp_path: Path) -> None:
    files = ExportFiles(ExportSettings(folder=str(tmp_path / "tables")))
    with pytest.raises(StoreError, match="No such file"):
        files.write(some(1))
    (tmp_path / "tables").mkdir()
    assert set(files.write(some(1))) == ALL
    # where the next one would be written
    (tmp_path / "tables" / f".{CLIENTS}.{os.getpid()}").mkdir()
    with pytest.raises(StoreError):
        files.write(some(2))
    with closing(cdbx.CDB(str(tmp_path / "tables" / CLIENTS))) as clients:
        assert len(clients) == 1


def test_a_reader_sees_the_whole_of_before_or_the_whole_of_now(tmp_path: Path) -> None:
    """Each set of tables has one mark and a number of rows that goes with it.

    A mixture would show.
    """
    files = ExportFiles(ExportSettings(folder=str(tmp_path)))
    files.write(some(200, "a"))
    done = threading.Event()
    seen: set[tuple[int, str]] = set()
    broken: list[object] = []

    def read() -> None:
        try:
            while not done.is_set():
                rows = selected(
                    tmp_path, "SELECT DISTINCT why, (SELECT count(*) FROM client) FROM client"
                )
                with closing(cdbx.CDB(str(tmp_path / CLIENTS))) as clients:
                    marks = {
                        value.rpartition(b'why="')[2] for value in (clients[key] for key in clients)
                    }
                    of_cdb = (len(clients), len(marks))
                lines = (tmp_path / NETWORKS).read_text().splitlines()
                seen.update((count, why) for why, count in rows)  # type: ignore[misc]
                if len(rows) != 1 or of_cdb not in {(200, 1), (300, 1)} or len(lines) != 2:
                    broken.append((rows, of_cdb, lines))
        except Exception as error:  # noqa: BLE001 - told by the test
            broken.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(ROUNDS):
        files.write(some(200, "a") if number % 2 else some(300, "b"))
    done.set()
    reader.join()
    assert broken == []
    assert seen <= {(200, "a"), (300, "b")}
    assert seen
