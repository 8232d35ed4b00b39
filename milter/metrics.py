"""What the workers say of themselves, as metrics in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from oborona.begun import Record
from oborona.milter.metric_table import (
    INTAKE_METRICS,
    METRICS,
    POLICY_METRICS,
    READER_METRICS,
    SECOND_METRICS,
    SERVICE_METRICS,
    STORE_METRICS,
    TRAINER_METRICS,
    Description,
)
from oborona.milter.status import (
    SCAN_S,
    IntakeStatus,
    PolicyStatus,
    ReaderStatus,
    SecondStatus,
    ServiceStatus,
    Status,
    TrainerStatus,
)

HEALTHY: Final = "healthy"


def exposition(
    statuses: Sequence[Status],
    reader: ReaderStatus | None = None,
    policy: PolicyStatus | None = None,
    trainer: TrainerStatus | None = None,
    intake: IntakeStatus | None = None,
    second: SecondStatus | None = None,
    stores: Mapping[str, Record] = MappingProxyType({}),
    services: Sequence[ServiceStatus] = (),
) -> bytes:
    """Return the metrics of all workers, of all processes by their supervisors, of the reader, the policy's publisher, the trainer, the intake and the second look if they run, and of the stores, as text."""
    registry = CollectorRegistry()
    registry.register(_Collected(statuses))
    registry.register(_OfServices(services))
    registry.register(_OfReader(reader))
    registry.register(_OfPolicy(policy))
    registry.register(_OfTrainer(trainer))
    registry.register(_OfIntake(intake))
    registry.register(_OfSecond(second))
    registry.register(_OfStores(stores))
    return generate_latest(registry)


class _OfServices:
    def __init__(self, services: Sequence[ServiceStatus]) -> None:
        self._services = services

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its samples."""
        for described in SERVICE_METRICS:
            kind = CounterMetricFamily if described.counts else GaugeMetricFamily
            metric = kind(described.name, described.help, labels=described.labels)
            for service in self._services:
                for process, said in sorted(service.processes.items()):
                    value: int = getattr(said, described.name.removeprefix("oborona_process_"))
                    metric.add_metric((process,), value)
            yield metric


class _OfReader:
    def __init__(self, status: ReaderStatus | None) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its samples."""
        for described in READER_METRICS:
            kind = CounterMetricFamily if described.counts else GaugeMetricFamily
            metric = kind(described.name, described.help, labels=described.labels)
            if self._status is not None:
                for labels, value in sorted(_reader_samples(described.name, self._status)):
                    metric.add_metric(labels, value)
            yield metric


class _OfPolicy:
    def __init__(self, status: PolicyStatus | None) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its sample."""
        for described in POLICY_METRICS:
            kind = CounterMetricFamily if described.counts else GaugeMetricFamily
            metric = kind(described.name, described.help)
            if self._status is not None:
                metric.add_metric((), _policy_value(described.name, self._status))
            yield metric


class _OfTrainer:
    def __init__(self, status: TrainerStatus | None) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its samples."""
        for described in TRAINER_METRICS:
            kind = CounterMetricFamily if described.counts else GaugeMetricFamily
            metric = kind(described.name, described.help, labels=described.labels)
            if self._status is not None:
                for labels, value in sorted(_trainer_samples(described.name, self._status)):
                    metric.add_metric(labels, value)
            yield metric


class _OfIntake:
    def __init__(self, status: IntakeStatus | None) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its samples."""
        for described in INTAKE_METRICS:
            kind = CounterMetricFamily if described.counts else GaugeMetricFamily
            metric = kind(described.name, described.help, labels=described.labels)
            if self._status is not None:
                for labels, value in sorted(_intake_samples(described.name, self._status)):
                    metric.add_metric(labels, value)
            yield metric


class _OfStores:
    def __init__(self, stores: Mapping[str, Record]) -> None:
        self._stores = stores

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with a sample of each store."""
        lost, off = (GaugeMetricFamily(one.name, one.help, labels=one.labels) for one in STORE_METRICS)
        for store, record in self._stores.items():
            lost.add_metric((store,), record.lost_at)
            off.add_metric((store,), float(bool(record.off)))
        yield from (lost, off)


class _OfSecond:
    def __init__(self, status: SecondStatus | None) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its samples."""
        for described in SECOND_METRICS:
            kind = CounterMetricFamily if described.counts else GaugeMetricFamily
            metric = kind(described.name, described.help, labels=described.labels)
            if self._status is not None:
                for labels, value in sorted(_second_samples(described.name, self._status)):
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
                if isinstance(metric, HistogramMetricFamily):
                    metric.add_metric((str(status.worker),), _steps(status), status.scan_seconds)
                    continue
                for labels, value in sorted(_samples(described.name, status)):
                    metric.add_metric((str(status.worker), *labels), value)
            yield metric


def _steps(status: Status) -> list[tuple[str, float]]:
    """Return how many scans took no longer than each step."""
    steps, so_far = [], 0
    for step in (*map(str, SCAN_S), "inf"):
        so_far += status.scans.get(step, 0)
        steps.append(("+Inf" if step == "inf" else step, float(so_far)))
    return steps


def _family(
    described: Description, labels: tuple[str, ...]
) -> CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily:
    if described.steps:
        return HistogramMetricFamily(described.name, described.help, labels=labels)
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


def _trainer_samples(name: str, status: TrainerStatus) -> Iterator[tuple[tuple[str, ...], float]]:
    match name:
        case "oborona_trainer_up":
            yield (), 1
        case "oborona_model_words":
            for key, number in status.words.items():
                yield tuple(key.split(" ", 1)), number
        case "oborona_model_learned":
            for kind, number in status.learned.items():
                yield (kind,), number
        case "oborona_model_changed_seconds":
            yield (), status.changed
        case "oborona_model_relearning":
            yield (), int(status.relearning is not None)
        case "oborona_events_decided":
            for key, number in status.events.items():
                yield tuple(key.split()), number
        case "oborona_events_waiting":
            yield (), status.events_waiting
        case "oborona_events_trouble":
            yield (), int(bool(status.events_trouble))


def _intake_samples(name: str, status: IntakeStatus) -> Iterator[tuple[tuple[str, ...], float]]:
    match name:
        case "oborona_intake_up":
            yield (), 1
        case "oborona_intake_events":
            for key, count in status.events.items():
                yield tuple(key.split(" ", 2)), count
        case "oborona_intake_refused":
            for key, count in status.refused.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_intake_stuck":
            yield (), int(bool(status.trouble))


def _second_samples(name: str, status: SecondStatus) -> Iterator[tuple[tuple[str, ...], float]]:
    match name:
        case "oborona_recheck_up":
            yield (), 1
        case "oborona_recheck_messages":
            for outcome, count in status.looked.items():
                yield (outcome,), count
        case "oborona_recheck_moves":
            for outcome, count in status.moves.items():
                yield (outcome,), count
        case "oborona_alerts":
            for key, count in status.alerts.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_recheck_waiting":
            yield (), status.waiting
        case "oborona_recheck_paused":
            yield (), int(status.paused)
        case "oborona_recheck_stuck":
            yield (), int(bool(status.trouble))


def _policy_value(name: str, status: PolicyStatus) -> float:
    match name:
        case "oborona_policy_wrong":
            return int(status.refused is not None)
        case "oborona_policy_stuck":
            return int(bool(status.trouble))
        case "oborona_policy_since_seconds":
            return status.since
        case "oborona_policy_changes":
            return status.changes
        case "oborona_policy_refusals":
            return status.refusals
        case "oborona_policy_refused_at_seconds":
            return status.refused_at
        case "oborona_policy_change_seconds":
            return status.seconds
        case _:
            return len(status.late)


def _samples(name: str, status: Status) -> Iterator[tuple[tuple[str, ...], float]]:
    match name:
        case "oborona_up":
            yield (), 1
        case "oborona_verdicts":
            for key, count in status.verdicts.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_door":
            for key, count in status.doors.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_busy":
            yield (), status.busy
        case "oborona_set_apart":
            yield (), status.set_apart
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
        case "oborona_model_wrong":
            yield (), int(status.model_wrong)
        case "oborona_final_wrong":
            yield (), int(bool(status.final_wrong))
        case "oborona_final_info":
            if status.final:
                yield (status.final,), 1
        case "oborona_persons":
            yield (), status.persons_known
        case "oborona_person_looks":
            for outcome, count in status.persons.items():
                yield (outcome,), count
        case "oborona_contacts_learned":
            yield (), status.contacts
        case "oborona_traps":
            for outcome, count in status.traps.items():
                yield (outcome,), count
        case "oborona_persons_stale":
            yield (), int(status.persons_stale)
        case "oborona_deliveries":
            for key, count in status.deliveries.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_next_hop_trouble":
            for key, count in status.next_hop.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_signatures_stale":
            yield (), int(status.signatures_stale)
        case "oborona_pins":
            for flag, number in status.pins.items():
                yield (flag,), number
        case "oborona_pins_stale":
            yield (), int(status.pins_stale)
        case "oborona_rule_hits":
            for key, count in status.rules.items():
                yield tuple(key.rsplit(" ", 1)), count
        case "oborona_would":
            for key, count in status.would.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_policy_info":
            yield (status.policy,), 1
        case "oborona_authentication":
            for key, count in status.results.items():
                yield tuple(key.split(" ", 1)), count
        case "oborona_dns":
            for event, count in status.dns.items():
                yield (event,), count
        case "oborona_dns_list_healthy":
            for listed, one in status.lists.items():
                yield (listed,), int(one.state == HEALTHY)
        case "oborona_engine_away":
            for engine, how in status.engines.items():
                yield (engine,), int(how.away)
        case "oborona_engine_questions":
            for engine, how in status.engines.items():
                for outcome, count in how.outcomes.items():
                    yield (engine, outcome), count
        case "oborona_engine_seconds":
            for engine, how in status.engines.items():
                yield (engine,), how.seconds
        case "oborona_dns_list_questions":
            for listed, one in status.lists.items():
                yield (listed, "listed"), one.listed
                yield (listed, "unanswered"), one.unanswered
                yield (listed, "unlisted"), one.asked - one.listed - one.unanswered
