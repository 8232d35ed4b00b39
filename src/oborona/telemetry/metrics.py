"""The metrics of all processes, in the text format of Prometheus.

Each metric is declared by the module that counts it; `metric_catalogue` has their order, and the
table that is read here is written from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from oborona.metrics import REGISTRY, Counter, Gauge, Histogram, Labels, MetricsSnapshot
from oborona.store_birth import StoreBirthRecord
from oborona.telemetry.metric_table import MetricDescription, described_metrics
from oborona.telemetry.status import (
    EventLogStatus,
    FlowStatus,
    IntakeStatus,
    PolicyStatus,
    ReaderStatus,
    RecheckStatus,
    ServiceStatus,
    TrainerStatus,
    WorkerStatus,
)

NOTHING: Final = MetricsSnapshot()
LOST: Final = Gauge(
    "oborona_store_lost_seconds",
    (
        "When a store was found gone, empty, damaged or another site's and was begun anew, "
        "Unix seconds; 0: it never was."
    ),
    ("store",),
)
OFF: Final = Gauge(
    "oborona_store_off",
    "1 where a store could not be used at the last start and was left as it is.",
    ("store",),
)


def collected(
    workers: Sequence[WorkerStatus],
    reader: ReaderStatus | None = None,
    policy: PolicyStatus | None = None,
    trainer: TrainerStatus | None = None,
    intake: IntakeStatus | None = None,
    second: RecheckStatus | None = None,
    stores: Mapping[str, StoreBirthRecord] = MappingProxyType({}),
    services: Sequence[ServiceStatus] = (),
    flows: FlowStatus | None = None,
    event_logs: EventLogStatus | None = None,
    site: MetricsSnapshot = NOTHING,
) -> CollectorRegistry:
    """Return the metrics of all processes, and of the stores, for any format of Prometheus.

    A metric of a process that does not run stands there without values.
    `site`: what files of the state folder tell.
    """
    LOST.replace({(store,): record.lost_at for store, record in stores.items()})
    OFF.replace({(store,): bool(record.off) for store, record in stores.items()})
    snapshots: dict[str, list[tuple[Labels, MetricsSnapshot]]] = {
        "worker": [((str(worker.worker),), worker.metrics) for worker in workers],
        "service": [((), service.metrics) for service in services],
        "store": [((), REGISTRY.snapshot())],
        "site": [((), site)],
    }
    for process, status in (
        ("reader", reader),
        ("policy", policy),
        ("trainer", trainer),
        ("intake", intake),
        ("recheck", second),
        ("flows", flows),
        ("eventlog", event_logs),
    ):
        snapshots[process] = [] if status is None else [((), status.metrics)]
    registry = CollectorRegistry()
    for process, described in described_metrics().items():
        registry.register(_ProcessMetrics(described, snapshots[process]))
    return registry


class _ProcessMetrics:
    """What processes of one kind say.

    Args:
        described: their metrics.
        snapshots: each with the values of the labels that all its metrics begin with.
    """

    def __init__(
        self,
        described: Sequence[MetricDescription],
        snapshots: Sequence[tuple[Labels, MetricsSnapshot]],
    ) -> None:
        self._described = described
        self._snapshots = snapshots

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its samples."""
        for described in self._described:
            if described.kind == Histogram.kind:
                yield self._histogram(described)
                continue
            kind = CounterMetricFamily if described.kind == Counter.kind else GaugeMetricFamily
            metric = kind(described.name, described.help, labels=described.labels)
            for lead, snapshot in self._snapshots:
                for labels, value in snapshot.values.get(described.name, ()):
                    metric.add_metric((*lead, *labels), value)
            yield metric

    def _histogram(self, described: MetricDescription) -> HistogramMetricFamily:
        metric = HistogramMetricFamily(described.name, described.help, labels=described.labels)
        ends = (*map(str, described.steps), "+Inf")
        for lead, snapshot in self._snapshots:
            for labels, counts, total in snapshot.histograms.get(described.name, ()):
                if len(counts) == len(ends):  # else it is of another version
                    buckets = list(zip(ends, accumulate(counts), strict=True))
                    metric.add_metric((*lead, *labels), buckets, total)
        return metric
