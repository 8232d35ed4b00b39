"""What the workers say of themselves, as metrics in the format of Prometheus; docs/monitoring.md is written from `METRICS`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from oborona.milter.status import ReaderStatus, Status

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
    Description(
        "oborona_pictures",
        "Pictures that scans handed to the reader, by task (look, read) and outcome.",
        ("task", "outcome"),
        counts=True,
    ),
    Description(
        "oborona_late",
        "Messages whose pictures were read after the answer, by what came of it; dropped: too many waited.",
        ("outcome",),
        counts=True,
    ),
    Description("oborona_late_waiting", "Messages whose pictures wait to be read.", (), counts=False),
    Description(
        "oborona_signatures",
        "Signatures that the worker holds; live and shadow are looked for, broken can't be used.",
        ("state",),
        counts=False,
    ),
    Description(
        "oborona_signature_hits", "Signatures found in messages, each once.", ("flag", "mode"), counts=True
    ),
    Description(
        "oborona_signatures_stale",
        "1 while the store of signatures can't be used and what was known stays.",
        (),
        counts=False,
    ),
)
"""Each has the label `worker` first: a worker that is started again begins at zero."""

READER_METRICS: Final = (
    Description("oborona_reader_up", "1 while the reader runs.", (), counts=False),
    Description(
        "oborona_reader_pictures",
        "Pictures by task and outcome; known: found before; shared: was being done for another message; stopped: killed at a limit.",
        ("task", "outcome"),
        counts=True,
    ),
    Description(
        "oborona_reader_seconds", "Seconds that processes of a task were busy.", ("task",), counts=True
    ),
    Description("oborona_reader_started", "Processes of a task that were started.", ("task",), counts=True),
    Description("oborona_reader_waiting", "Pictures that wait.", ("task",), counts=False),
    Description("oborona_reader_processes", "Processes of a task that run.", ("task",), counts=False),
)
"""Of the one reader of a machine."""


def exposition(statuses: Sequence[Status], reader: ReaderStatus | None = None) -> bytes:
    """Return the metrics of all workers, and of the reader if it runs, as text."""
    registry = CollectorRegistry()
    registry.register(_Collected(statuses))
    registry.register(_OfReader(reader))
    return generate_latest(registry)


class _OfReader:
    def __init__(self, status: ReaderStatus | None) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its samples."""
        for described in READER_METRICS:
            metric = _family(described, described.labels)
            if self._status is not None:
                for labels, value in sorted(_reader_samples(described.name, self._status)):
                    metric.add_metric(labels, value)
            yield metric


class _Collected:
    def __init__(self, statuses: Sequence[Status]) -> None:
        self._statuses = statuses

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its samples."""
        for described in METRICS:
            metric = _family(described, ("worker", *described.labels))
            for status in self._statuses:
                for labels, value in sorted(_samples(described.name, status)):
                    metric.add_metric((str(status.worker), *labels), value)
            yield metric


def _family(described: Description, labels: tuple[str, ...]) -> CounterMetricFamily | GaugeMetricFamily:
    family = CounterMetricFamily if described.counts else GaugeMetricFamily
    return family(described.name, described.help, labels=labels)


def _reader_samples(name: str, status: ReaderStatus) -> Iterator[tuple[tuple[str, ...], float]]:
    match name:
        case "oborona_reader_up":
            yield (), 1
        case "oborona_reader_pictures":
            for key, count in status.outcomes.items():
                yield tuple(key.split(" ", 1)), count
        case _:
            by_task: dict[str, float] = getattr(status, name.removeprefix("oborona_reader_"))
            for task, value in by_task.items():
                yield (task,), value


def _samples(name: str, status: Status) -> Iterator[tuple[tuple[str, ...], float]]:
    match name:
        case "oborona_up":
            yield (), 1
        case "oborona_verdicts":
            for key, count in status.verdicts.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_pictures":
            for key, count in status.pictures.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_late":
            for outcome, count in status.late.items():
                yield (outcome,), count
        case "oborona_late_waiting":
            yield (), status.late_waiting
        case "oborona_signatures":
            for state, number in status.signatures.items():
                yield (state,), number
        case "oborona_signature_hits":
            for key, count in status.signature_hits.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_signatures_stale":
            yield (), int(status.signatures_stale)
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
