"""What `oborona doctor` says of flows: whether they come, are whole, and can be believed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.accounts.flows.clickhouse_sql import columns_query
from oborona.accounts.flows.store import DAY_S, FileState, FlowStore
from oborona.accounts.flows.windows import WINDOW_S, WRONG_SHARE
from oborona.config.flows import FlowSettings
from oborona.daemon.flows.clickhouse import records_select
from oborona.daemon.flows.clickhouse_client import clickhouse_client
from oborona.desk.accounts.exporters import ExporterFigures, exporter_figures
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.errors import OboronaError, StoreError
from oborona.telemetry import status

MOST_LOSS: Final = 0.01  # of datagrams: sums below the truth by more are no sums
MOST_SHARED: Final = 0.5  # of streams that two exporters tell of: each is counted twice
ASKED_S: Final = 10.0  # that ClickHouse may take to say that it is there
MOST_AHEAD_S: Final = 30.0  # of its clock: windows wait for the clock that is behind
SLACK_S: Final = 60.0  # beside the rotation of files: a file is taken some seconds after it


def flows(context: Site) -> Iterator[CheckReport]:
    """Look at flows; nothing is said where there are to be none."""
    settings = context.loaded.settings.flows
    if settings.source == "off":
        return
    yield _process(context)
    if settings.source == "clickhouse":
        yield _clickhouse(settings)
    else:
        if settings.source == "nfdump":
            yield _program(settings)
        yield _folder(settings)
    yield from _files(context, settings)


def _process(context: Site) -> CheckReport:
    words = status.read_process(context.state, status.FlowStatus, time.time())
    if words is None:
        return CheckReport(
            "flows",
            CheckState.FAIL,
            "the process does not run: flows wait where they are",
            "systemctl start oborona-flows.service, where the units run one by one",
        )
    if words.trouble:
        return CheckReport("flows", CheckState.FAIL, f"flows wait: {words.trouble}")
    return CheckReport("flows", CheckState.OK, f"runs (pid {words.pid})")


def _program(settings: FlowSettings) -> CheckReport:
    found = shutil.which(settings.nfdump, path=f"{os.environ.get('PATH', '')}:/usr/bin")
    if found is None:
        return CheckReport(
            "nfdump", CheckState.FAIL, f"{settings.nfdump} is not there", "apt-get install nfdump"
        )
    return CheckReport("nfdump", CheckState.OK, found)


def _clickhouse(settings: FlowSettings) -> CheckReport:
    try:
        client = clickhouse_client(settings, ASKED_S)
        ahead_s = client.clock() - time.time()
        client.ask(columns_query(records_select(settings.records)), lambda _line: None)
    except OboronaError as error:
        return CheckReport("clickhouse", CheckState.FAIL, str(error))
    if abs(ahead_s) > MOST_AHEAD_S:
        return CheckReport(
            "clickhouse",
            CheckState.WARN,
            f"its clock is {abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'} ours: "
            "windows wait for whichever is behind",
            "timedatectl",
        )
    return CheckReport(
        "clickhouse", CheckState.OK, f"{settings.url} has what {settings.records} asks for"
    )


def _folder(settings: FlowSettings) -> CheckReport:
    folder = Path(settings.folder)
    try:
        number = sum(1 for _ in folder.iterdir())
    except OSError as error:
        return CheckReport("flow files", CheckState.FAIL, f"{folder}: {error.strerror}")
    return CheckReport("flow files", CheckState.OK, f"{folder}: {number} files and folders")


def _files(context: Site, settings: FlowSettings) -> Iterator[CheckReport]:
    now = time.time()
    try:
        with FlowStore(context.state / state_files.FLOWS, make=False) as store:
            files = store.files(now - DAY_S)
            exporters = exporter_figures(store.exporters(int(now - DAY_S)))
    except StoreError as error:
        yield CheckReport("flows counted", CheckState.WARN, str(error))
        return
    damaged = [file for file in files if file.state is FileState.DAMAGED]
    if damaged:
        yield CheckReport(
            "flows counted",
            CheckState.WARN,
            f"{len(damaged)} files of the last day could not be read, the last {damaged[0].name}: "
            f"{damaged[0].why}",
        )
    taken = [file for file in files if file.state is FileState.TAKEN]
    if not taken:
        yield CheckReport(
            "flows counted",
            CheckState.WARN,
            "no file was counted in the last day: does the collector write any?",
        )
        return
    age_s = now - taken[0].taken
    asks = settings.source == "clickhouse"
    every_s = WINDOW_S + settings.settle_s if asks else settings.rotation_s
    late = age_s > 2 * every_s + SLACK_S
    yield CheckReport(
        "flows counted",
        CheckState.WARN if late else CheckState.OK,
        f"{len(taken)} files in the last day, the last {age_s:.0f} s ago",
    )
    for row in exporters:
        yield exporter_report(row)


def exporter_report(row: ExporterFigures) -> CheckReport:
    """Return what there is to say of one exporter.

    Args:
        row: what it told.
    """
    name = f"exporter {row.exporter}"
    if not row.records:
        return CheckReport(
            name,
            CheckState.WARN,
            "no record of SMTP from our networks: none was sent, its template has not come yet, or "
            "site.networks lacks them",
        )
    if row.loss > MOST_LOSS:
        return CheckReport(
            name,
            CheckState.WARN,
            f"{row.loss:.1%} of its datagrams were lost: a larger receive buffer (nfcapd -B)",
        )
    if row.times_wrong > WRONG_SHARE * row.records:
        return CheckReport(
            name,
            CheckState.WARN,
            f"{row.times_wrong} of {row.records} records have times that can't be right: "
            "streams at once are not told. softflowd exports IPFIX with -A milli",
        )
    if row.shared > MOST_SHARED:
        return CheckReport(
            name,
            CheckState.WARN,
            f"{row.shared:.0%} of its streams came from another exporter, too, and count twice: "
            "name one of both in flows.exporters",
        )
    if row.sampling > 1:
        return CheckReport(
            name,
            CheckState.OK,
            f"samples 1 packet in {row.sampling}: packets and octets are scaled, streams and "
            "destinations are not told",
        )
    return CheckReport(
        name, CheckState.OK, f"{row.records} records, {row.lag_s:.0f} s after their end"
    )
