"""The ask about flows of SMTP: whether they are counted, and whose machines sent most."""

from __future__ import annotations

import time
from typing import Annotated, Final

import msgspec

from oborona import state_files
from oborona.accounts.flows.store import DAY_S, FlowFile, FlowStore, SourceWindow
from oborona.desk.accounts.exporters import ExporterFigures, exporter_figures
from oborona.desk.call import ask
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.telemetry import status as process_status

SHOWN: Final = 10  # files
HOUR_S: Final = 3600


class FlowsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Of how many hours back sources are asked for, and how many of them."""

    hours: Annotated[int, msgspec.Meta(ge=1, le=24)] = 1
    most: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 20


class FlowFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Whether flows are counted, the last files, and the busiest minutes of our machines."""

    runs: bool
    trouble: str
    files: tuple[FlowFile, ...]
    exporters: tuple[ExporterFigures, ...]
    sources: tuple[SourceWindow, ...]


@ask("flows.status", Right.ACCOUNT_SEE)
def show_flows(site: Site, _caller: Caller, asked: FlowsQuestion) -> FlowFigures:
    """Return whether flows are counted, what each exporter lost, and the busiest minutes."""
    now = time.time()
    runs = process_status.read_process(site.state, process_status.FlowStatus, now)
    with FlowStore(site.state / state_files.FLOWS, make=False) as store:
        files = store.files(now - DAY_S)
        exporters = store.exporters(int(now - DAY_S))
        windows = store.windows(int(now - asked.hours * HOUR_S))
    return FlowFigures(
        runs=runs is not None,
        trouble="" if runs is None else runs.trouble,
        files=tuple(files[:SHOWN]),
        exporters=tuple(exporter_figures(exporters)),
        sources=tuple(windows[: asked.most]),
    )
