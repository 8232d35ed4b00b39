"""All metrics of a site, from what its processes say of themselves and from its stores.

For `oborona metrics` and for GET /metrics.
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from oborona import __version__, store_birth
from oborona.daemon.store_figures import look_at_stores
from oborona.metrics import Gauge
from oborona.telemetry.metrics import collected
from oborona.telemetry.status import (
    EventLogStatus,
    FlowStatus,
    IntakeStatus,
    PolicyStatus,
    ReaderStatus,
    RecheckStatus,
    TrainerStatus,
    read_process,
    read_services,
    read_workers,
)

BUILD: Final = Gauge(
    "oborona_build_info",
    "1 for the version that tells this, and its Python.",
    ("version", "python"),
)


def collect_metrics(state: Path, now: float) -> CollectorRegistry:
    """Return the metrics of what runs on a state folder, and of its stores.

    Args:
        state: folder; need not be there.
        now: Unix seconds.

    Raises:
        StoreError: what processes say can't be read.
    """
    site = look_at_stores(state, now)
    site.values[BUILD.name] = [((__version__, platform.python_version()), 1)]
    return collected(
        read_workers(state, now),
        read_process(state, ReaderStatus, now),
        read_process(state, PolicyStatus, now),
        read_process(state, TrainerStatus, now),
        read_process(state, IntakeStatus, now),
        read_process(state, RecheckStatus, now),
        store_birth.read_records(state),
        read_services(state, now),
        read_process(state, FlowStatus, now),
        read_process(state, EventLogStatus, now),
        site,
    )
