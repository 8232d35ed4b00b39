"""`oborona export`: tables are shown or written, and what is missing from them is said."""

from __future__ import annotations

from pathlib import Path

import cdbx
import pytest
from click.testing import CliRunner, Result

from oborona.cli import main
from tests.cli.remembered import journal, remember


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site that has denied an address, with a journal and counters."""
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "10.toml").write_text(
        "[verdict]\nspam_score = 100\nreject_score = 200\n"
        '[[local_list]]\nname = "OUT"\naction = "deny"\nof = ["client", "sender"]\n'
        'entries = ["192.0.2.7", "198.51.100.0/24", "@bad.example"]\n'
    )
    remember(tmp_path / "state", [])
    journal(tmp_path / "state", [])
    return tmp_path


def export(site: Path, *words: str, status: int = 0, **settings: str) -> Result:
    given = {
        "paths.policy": str(site / "policy"),
        "paths.shipped_policy": "none",
        "site.name": "mx.test",
    } | {name.replace("__", "."): value for name, value in settings.items()}
    assignments = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
    found = CliRunner().invoke(
        main, ["--state", str(site / "state"), *assignments, "export", *words]
    )
    assert found.exit_code == status, (found.output, found.stderr)
    return found


def test_what_would_be_written_is_shown(site: Path) -> None:
    shown = export(site, "--dry-run", export__folder=str(site / "tables")).stdout
    assert shown.splitlines() == [
        (
            'client 192.0.2.7 verdict=deny code=554 until=0 text="5.7.1 Client refused" '
            'why="OUT 192.0.2.7"'
        ),
        (
            'network 198.51.100.0/24 verdict=deny code=554 until=0 text="5.7.1 Client '
            'refused" why="OUT 198.51.100.0/24"'
        ),
        (
            'sender *@bad.example verdict=deny code=550 until=0 text="5.7.1 Sender refused" '
            'why="OUT @bad.example"'
        ),
        "1 clients, 1 networks, 1 senders",
    ]
    assert not (site / "tables").exists()


def test_it_is_written(site: Path) -> None:
    (site / "tables").mkdir()
    said = export(site, export__folder=str(site / "tables")).stdout
    assert said == (
        f"{site}/tables: wrote oborona.sqlite, clients.ipl, clients.cdb, senders.cdb; 1 "
        f"clients, 1 networks, 1 senders\n"
    )
    table = cdbx.CDB(str(site / "tables" / "clients.cdb"))
    assert b"192.0.2.7" in table
    table.close()


def test_without_a_folder_there_is_nowhere_to_write(site: Path) -> None:
    assert "export.folder is not set" in export(site, status=2).stderr
    assert export(site, "--dry-run").stdout.endswith("1 clients, 1 networks, 1 senders\n")


def test_what_can_not_be_asked_is_said(site: Path) -> None:
    (site / "state" / "journal.db").unlink()
    found = export(site, "--dry-run", status=1)
    assert "journal.db" in found.stderr
    assert "is not in the tables" in found.stderr
    assert "client 192.0.2.7 " in found.stdout


def test_a_folder_that_can_not_be_written_is_said(site: Path) -> None:
    assert "No such file" in export(site, status=74, export__folder=str(site / "nowhere")).stderr
