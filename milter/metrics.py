"""What the workers say of themselves, as metrics in the format of Prometheus; docs/monitoring.md is written from `METRICS`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from oborona.milter.status import Status

HEALTHY: Final = "healthy"


class Description(NamedTuple):
    """One metric."""

    name: str
    help: str
    labels: tuple[str, ...]
    counts: bool  # only grows


METRICS: Final = (
    Description("oborona_up", "1 for each worker that runs.", (), counts=False),
    Description("oborona_verdicts", "Verdicts by stage and action.", ("stage", "action"), counts=True),
    Description(
        "oborona_policy_wrong",
        "1 while the policy files are refused and the old policy stays.",
        (),
        counts=False,
    ),
    Description(
        "oborona_authentication",
        "Results of authentication, of each DKIM signature one.",
        ("method", "result"),
        counts=True,
    ),
    Description("oborona_dns", "What the resolver did, by kind of event.", ("event",), counts=True),
    Description(
        "oborona_dns_list_healthy",
        "1 while the worker trusts a DNS list; at 0 the list counts nothing.",
        ("list",),
        counts=False,
    ),
    Description(
        "oborona_dns_list_questions", "Questions to a DNS list by outcome.", ("list", "outcome"), counts=True
    ),
)
"""Each has the label `worker` first: a worker that is started again begins at zero."""


def exposition(statuses: Sequence[Status]) -> bytes:
    """Return the metrics of all workers as text."""
    registry = CollectorRegistry()
    registry.register(_Collected(statuses))
    return generate_latest(registry)


class _Collected:
    def __init__(self, statuses: Sequence[Status]) -> None:
        self._statuses = statuses

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its samples."""
        for described in METRICS:
            family = CounterMetricFamily if described.counts else GaugeMetricFamily
            metric = family(described.name, described.help, labels=("worker", *described.labels))
            for status in self._statuses:
                for labels, value in sorted(_samples(described.name, status)):
                    metric.add_metric((str(status.worker), *labels), value)
            yield metric


def _samples(name: str, status: Status) -> Iterator[tuple[tuple[str, ...], float]]:
    match name:
        case "oborona_up":
            yield (), 1
        case "oborona_verdicts":
            for key, count in status.verdicts.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_policy_wrong":
            yield (), int(status.policy_wrong)
        case "oborona_authentication":
            for key, count in status.results.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_dns":
            for event, count in status.dns.items():
                yield (event,), count
        case "oborona_dns_list_healthy":
            for listed, one in status.lists.items():
                yield (listed,), int(one.state == HEALTHY)
        case "oborona_dns_list_questions":
            for listed, one in status.lists.items():
                yield (listed, "listed"), one.listed
                yield (listed, "unanswered"), one.unanswered
                yield (listed, "unlisted"), one.asked - one.listed - one.unanswered
