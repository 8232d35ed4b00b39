"""What exporters of flows told in the last day, and how much of it was lost."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from oborona.accounts.flows.loss import losses
from oborona.accounts.flows.store import ExporterWindow


class ExporterFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What an exporter told in the last day."""

    exporter: str
    files: int
    records: int
    times_wrong: int
    loss: float  # share of datagrams, 0..1
    lag_s: float
    sampling: int
    shared: float  # share of streams that another exporter tells of, too
    last: int  # Unix seconds


def exporter_figures(windows: Sequence[ExporterWindow]) -> list[ExporterFigures]:
    """Return what each exporter told, in the order of their addresses.

    Args:
        windows: of the day, oldest first.
    """
    lost = losses(windows)
    by_exporter: dict[str, list[ExporterWindow]] = {}
    for window in windows:
        by_exporter.setdefault(window.exporter, []).append(window)
    return [
        ExporterFigures(
            exporter=exporter,
            files=len(told),
            records=sum(window.records for window in told),
            times_wrong=sum(window.times_wrong for window in told),
            loss=round(lost[exporter], 4),
            lag_s=round(told[-1].lag_s, 1),
            sampling=told[-1].sampling,
            shared=round(max(window.shared for window in told), 3),
            last=told[-1].start,
        )
        for exporter, told in sorted(by_exporter.items())
    ]
