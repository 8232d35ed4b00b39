"""What `oborona flows status` and `oborona doctor` say of exporters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oborona.accounts.flows.loss import losses
from oborona.accounts.flows.store import ExporterWindow


def exporter_rows(windows: Sequence[ExporterWindow]) -> list[dict[str, Any]]:
    """Return what each exporter told in the last day, by its address.

    Args:
        windows: of the day, oldest first.
    """
    lost = losses(windows)
    by_exporter: dict[str, list[ExporterWindow]] = {}
    for window in windows:
        by_exporter.setdefault(window.exporter, []).append(window)
    return [
        {
            "exporter": exporter,
            "files": len(told),
            "records": sum(window.records for window in told),
            "times_wrong": sum(window.times_wrong for window in told),
            "loss": round(lost[exporter], 4),
            "lag_s": round(told[-1].lag_s, 1),
            "sampling": told[-1].sampling,
            "shared": round(max(window.shared for window in told), 3),
            "last": told[-1].start,
        }
        for exporter, told in sorted(by_exporter.items())
    ]
