"""How much of what an exporter sent was lost, by the sequence numbers that nfcapd misses.

nfcapd counts failures of some exporters' sequences though nothing was lost (softflowd's IPFIX
counts records where nfcapd expects datagrams).  So an exporter's rate is held against its own quiet
rate: that of the quietest fifth of the last day's files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from oborona.accounts.flows.store import ExporterWindow

LATEST: Final = 5  # files that the loss of now is made of
QUIET_AT: Final = 0.2  # of the files in order of their rates
LEAST_FILES: Final = 10  # before anything is known of an exporter's quiet rate


def losses(windows: Iterable[ExporterWindow]) -> dict[str, float]:
    """Return the share of datagrams that each exporter has lost lately, 0 to 1.

    Args:
        windows: of the last day, oldest first, any number of exporters.
    """
    by_exporter: dict[str, list[ExporterWindow]] = {}
    for window in windows:
        by_exporter.setdefault(window.exporter, []).append(window)
    return {name: _loss(told) for name, told in by_exporter.items()}


def _loss(told: list[ExporterWindow]) -> float:
    latest = told[-LATEST:]
    lost = sum(window.failures for window in latest)
    seen = sum(window.datagrams for window in latest)
    rate = lost / (lost + seen) if lost else 0.0
    if len(told) < LEAST_FILES:
        return rate
    rates = sorted(
        window.failures / (window.failures + window.datagrams) if window.failures else 0.0
        for window in told
    )
    return max(0.0, rate - rates[int(len(rates) * QUIET_AT)])
