"""The table of all metrics, as `make docs` writes it: who reads it loads nothing that counts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from oborona.metrics import Labels

TABLE: Final = Path(__file__).with_name("metrics.json")


class MetricDescription(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A metric as it is printed."""

    name: str
    kind: str  # counter, gauge, histogram
    help: str
    labels: Labels = ()
    steps: tuple[float, ...] = ()  # of a histogram


def described_metrics() -> dict[str, tuple[MetricDescription, ...]]:
    """Return the metrics of each kind of process, in the order in which they are printed.

    The modules that declare them take a second to import; the file that `make docs` writes of them
    is read in a millisecond.
    """
    return msgspec.json.decode(TABLE.read_bytes(), type=dict[str, tuple[MetricDescription, ...]])
