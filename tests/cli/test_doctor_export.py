"""`oborona doctor` and the exported tables: there and fresh, there and old, not there, not
wanted.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from oborona.cli.asked import Asked
from oborona.cli.doctor_export import export
from oborona.cli.report import State
from oborona.config import Export
from oborona.daemon.exporter.files import NETWORKS, Files, tables


@pytest.mark.parametrize(("age_s", "state"), [(0, State.OK), (230, State.OK), (250, State.FAIL)])
def test_tables_that_nobody_keeps_up_are_told(tmp_path: Path, age_s: float, state: State) -> None:
    Files(Export(folder=str(tmp_path))).write(tables({}, {}))
    at = time.time() - age_s
    os.utime(tmp_path / NETWORKS, (at, at))
    (report,) = export(Asked(None, None, (f"export.folder={tmp_path}",)))
    assert report.state is state
    assert str(tmp_path) in report.words


def test_tables_that_are_not_there_are_told(tmp_path: Path) -> None:
    (report,) = export(Asked(None, None, (f"export.folder={tmp_path}",)))
    assert report.state is State.FAIL
    assert "No such file" in report.words


def test_where_there_are_to_be_none_nothing_is_said() -> None:
    assert list(export(Asked(None, None, ()))) == []
