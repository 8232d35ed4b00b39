"""Which process tells which metrics, in the order in which `oborona metrics` prints them.

A metric is declared where it is counted; this module points there.  `make docs` writes from it the
table that `oborona metrics` reads, and docs/operate/monitoring.md.  A part that several processes
have is listed under the one whose figures are printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from oborona.accounts import followed_accounts
from oborona.accounts.limits import report as limit_report
from oborona.daemon import (
    listeners,
    metric_collection,
    store_figures,
    supervised_process,
    worker,
)
from oborona.daemon.alarm import alarm
from oborona.daemon.flows import follower as flows
from oborona.daemon.intake import event_sink
from oborona.daemon.intake import service as intake
from oborona.daemon.keeper import (
    account_actions,
    address_watch,
    flow_limit_watch,
    journal,
    recheck,
)
from oborona.daemon.publisher import reporter as policy
from oborona.daemon.reader import connection, late_reader, picture_queue
from oborona.daemon.reader import pool as reader_pool
from oborona.daemon.reader import service as reader
from oborona.daemon.site import move_share
from oborona.daemon.site import watch as site_watch
from oborona.daemon.trainer import process as trainer_process
from oborona.daemon.trainer import trainer
from oborona.doors import login_recorder
from oborona.doors.delivery import handover
from oborona.doors.http import logins
from oborona.eventlog import log_metrics as event_logs
from oborona.feedback.processing import event_processor
from oborona.metrics import Histogram, MetricFamily
from oborona.recheck.engine import loop as recheck_loop
from oborona.recheck.engine import mover
from oborona.resolver import stats
from oborona.session import bounces, concurrency_limit, dnsbl, traps, verdict_metrics
from oborona.session.engines import engine
from oborona.session.quarantine import scan_tracker
from oborona.stores import content_model, final_model
from oborona.stores.persons import contacts
from oborona.stores.persons import follower as persons
from oborona.stores.pins import follower as pins
from oborona.stores.signatures import follower as signatures
from oborona.telemetry import metrics
from oborona.telemetry.metric_table import MetricDescription

OF_WORKER: Final = (
    worker.UP,
    verdict_metrics.VERDICTS,
    verdict_metrics.REFUSED,
    verdict_metrics.OUTGOING,
    limit_report.LIMITS,
    bounces.BOUNCES,
    logins.FAILED,
    login_recorder.LOST,
    listeners.DOOR,
    concurrency_limit.BUSY,
    scan_tracker.SET_APART,
    verdict_metrics.RULE_HITS,
    verdict_metrics.WOULD,
    verdict_metrics.SCAN_SECONDS,
    verdict_metrics.STAGE_SECONDS,
    worker.POLICY,
    verdict_metrics.AUTHENTICATION,
    stats.DNS,
    dnsbl.HEALTHY,
    dnsbl.QUESTIONS,
    engine.IS_AWAY,
    engine.QUESTIONS,
    engine.SECONDS,
    handover.DELIVERIES,
    handover.NEXT_HOP,
    connection.PICTURES,
    late_reader.LATE,
    late_reader.WAITING,
    late_reader.AGE,
    signatures.SIGNATURES,
    signatures.HITS,
    content_model.WRONG,
    final_model.WRONG,
    final_model.INFO,
    final_model.SHIPPED_INFO,
    persons.PERSONS,
    persons.LOOKS,
    contacts.LEARNED,
    traps.TRAPS,
    persons.STALE,
    signatures.STALE,
    pins.PINS,
    pins.STALE,
    followed_accounts.BANS,
    followed_accounts.STALE,
)
OF_SERVICE: Final = (
    supervised_process.SERVES,
    supervised_process.STARTS,
    supervised_process.DEATHS,
    supervised_process.HUNG,
    supervised_process.MEMORY,
    supervised_process.FILES,
    supervised_process.CPU,
)
OF_READER: Final = (
    reader.UP,
    picture_queue.PICTURES,
    reader_pool.SECONDS,
    reader_pool.STARTED,
    picture_queue.WAITING,
    picture_queue.PROCESSES,
)
OF_POLICY: Final = (
    policy.WRONG,
    policy.STUCK,
    policy.SINCE,
    policy.CHANGES,
    policy.REFUSALS,
    policy.REFUSED_AT,
    policy.SECONDS,
    policy.LATE,
)
OF_TRAINER: Final = (
    trainer.UP,
    trainer.WORDS,
    trainer.LEARNED,
    trainer.CHANGED,
    trainer.RELEARNING,
    trainer.FINAL_TRAINED,
    trainer.FINAL_FAILED,
    trainer.FINAL_RESULT,
    event_processor.DECIDED,
    trainer_process.WAITING,
    trainer_process.AGE,
    trainer_process.TROUBLE,
)
OF_INTAKE: Final = (intake.UP, event_sink.EVENTS, event_sink.REFUSED, event_sink.STUCK)
OF_RECHECK: Final = (
    recheck.UP,
    recheck_loop.MESSAGES,
    mover.MADE,
    alarm.ALERTS,
    recheck_loop.WAITING,
    recheck_loop.PAUSED,
    recheck.STUCK,
    account_actions.INCIDENTS,
    address_watch.LISTED,
    address_watch.WATCHED,
    flow_limit_watch.PASSED,
    journal.BEHIND,
    site_watch.AWAY,
    site_watch.BEHIND,
    site_watch.STUCK,
    site_watch.POLICY,
    site_watch.MODELS,
    site_watch.SPOOLED,
    move_share.SHARED,
    move_share.TAKEN,
)
OF_FLOWS: Final = (
    flows.UP,
    flows.FILES,
    flows.RECORDS,
    flows.LINES_WRONG,
    flows.TIMES_WRONG,
    flows.LAG,
    flows.LOSS,
    flows.TROUBLE,
)
OF_EVENT_LOGS: Final = (
    event_logs.UP,
    event_logs.ROWS,
    event_logs.MARKED,
    event_logs.DELAY,
    event_logs.WAITING,
    event_logs.ASIDE,
    event_logs.TROUBLE,
    event_logs.REVISED,
    event_logs.PERSONS,
)

CATALOGUE: Final[Mapping[str, Sequence[MetricFamily]]] = MappingProxyType(
    {
        "worker": OF_WORKER,
        "service": OF_SERVICE,
        "reader": OF_READER,
        "policy": OF_POLICY,
        "trainer": OF_TRAINER,
        "intake": OF_INTAKE,
        "recheck": OF_RECHECK,
        "flows": OF_FLOWS,
        "eventlog": OF_EVENT_LOGS,
        "store": (metrics.LOST, metrics.OFF),
        "site": (
            store_figures.BYTES,
            store_figures.FREE,
            store_figures.COUNTERS_BEHIND,
            store_figures.COUNTERS_WAITING,
            metric_collection.BUILD,
        ),
    }
)
"""By what tells them: a machine has one of each but workers and services.

Of stores their records and files tell, which are read by who prints them
(`metric_collection`).
"""
_LEAD: Final = MappingProxyType({"worker": ("worker",)})
"""Labels before a metric's own: which of the processes says so."""


def described_metrics() -> dict[str, list[MetricDescription]]:
    """Return all metrics as they are printed."""
    return {
        process: [_described(family, _LEAD.get(process, ())) for family in families]
        for process, families in CATALOGUE.items()
    }


def _described(family: MetricFamily, lead: tuple[str, ...]) -> MetricDescription:
    return MetricDescription(
        name=family.name,
        kind=family.kind,
        help=family.help,
        labels=(*lead, *family.labels),
        steps=family.steps if isinstance(family, Histogram) else (),
    )


def metrics_json() -> str:
    """Return metrics.json, a line for each metric."""
    processes = [
        f'"{process}": [\n'
        + ",\n".join(msgspec.json.encode(family).decode() for family in families)
        + "\n]"
        for process, families in described_metrics().items()
    ]
    return "{\n" + ",\n".join(processes) + "\n}\n"
