"""What `oborona doctor` says of the exported tables: whether they are there, and kept up to
date.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oborona.daemon.exporter.files import ALL
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site

ROUNDS: Final = 3  # that may be missed
SLACK_S: Final = 60.0  # a round takes its time


def export(context: Site) -> Iterator[CheckReport]:
    """Look at the files of the tables; nothing is said where there are to be none."""
    export_settings, now = context.loaded.settings.export, time.time()
    if not export_settings.folder:
        return
    folder = Path(export_settings.folder)
    try:
        oldest = min((folder / name).stat().st_mtime for name in ALL)
    except OSError as error:
        why = (
            f"{error.filename}: {error.strerror}; the log of the exporter, which runs beside "
            f"the keeper, says more"
        )
        yield CheckReport("tables", CheckState.FAIL, why)
        return
    age_s = max(0.0, now - oldest)
    if age_s > ROUNDS * export_settings.interval_s + SLACK_S:
        yield CheckReport(
            "tables",
            CheckState.FAIL,
            f"{folder}: not brought up to date for {age_s:.0f} s; does the keeper run?",
        )
    else:
        yield CheckReport(
            "tables", CheckState.OK, f"{folder}: brought up to date {age_s:.0f} s ago"
        )
