"""`oborona doctor` and the exported tables: there and fresh, there and old, not there, not
wanted.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from oborona.cli.context import CliContext
from oborona.config import ExportSettings
from oborona.daemon.exporter.files import NETWORKS, ExportFiles, export_tables
from oborona.desk.doctor.export import export
from oborona.desk.doctor.report import CheckState


@pytest.mark.parametrize(
    ("age_s", "state"), [(0, CheckState.OK), (230, CheckState.OK), (250, CheckState.FAIL)]
)
def test_tables_that_nobody_keeps_up_are_told(
    tmp_path: Path, age_s: float, state: CheckState
) -> None:
    ExportFiles(ExportSettings(folder=str(tmp_path))).write(export_tables({}, {}))
    at = time.time() - age_s
    os.utime(tmp_path / NETWORKS, (at, at))
    (report,) = export(CliContext(None, None, (f"export.folder={tmp_path}",)))
    assert report.state is state
    assert str(tmp_path) in report.words


def test_tables_that_are_not_there_are_told(tmp_path: Path) -> None:
    (report,) = export(CliContext(None, None, (f"export.folder={tmp_path}",)))
    assert report.state is CheckState.FAIL
    assert "No such file" in report.words


def test_where_there_are_to_be_none_nothing_is_said() -> None:
    assert list(export(CliContext(None, None, ()))) == []
