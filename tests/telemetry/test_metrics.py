"""Metrics as Prometheus reads them, as the page says, and as the alerts that ship name them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
import yaml
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from oborona.accounts import followed_accounts
from oborona.accounts.limits import report as limit_report
from oborona.daemon import listeners as entrances
from oborona.daemon import metric_collection, store_figures, supervised_process, worker
from oborona.daemon.alarm import alarm
from oborona.daemon.flows import follower as flows
from oborona.daemon.intake import event_sink as intake_desk
from oborona.daemon.intake import service as intake
from oborona.daemon.keeper import account_actions, address_watch, flow_limit_watch, recheck
from oborona.daemon.keeper import journal as keeping
from oborona.daemon.metric_catalogue import described_metrics
from oborona.daemon.publisher import reporter as policy
from oborona.daemon.reader import connection, late_reader
from oborona.daemon.reader import picture_queue as reader_desk
from oborona.daemon.reader import pool as reader_pool
from oborona.daemon.reader import service as reader
from oborona.daemon.reader.wire import PictureOutcome, ReaderTask
from oborona.daemon.site import move_share
from oborona.daemon.site import watch as site_watch
from oborona.daemon.trainer import process as believing
from oborona.daemon.trainer import trainer
from oborona.doors import login_recorder
from oborona.doors.delivery import handover
from oborona.doors.http import logins
from oborona.eventlog import log_metrics as event_logs
from oborona.feedback.label import LabelKind, LabelState
from oborona.feedback.processing import event_processor
from oborona.metrics import REGISTRY, MetricsSnapshot
from oborona.policy.signatures import SignatureFlag
from oborona.recheck.engine import loop as recheck_loop
from oborona.recheck.engine import mover
from oborona.resolver import stats
from oborona.resolver.stats import ResolverStats
from oborona.session import bounces, concurrency_limit, verdict_metrics
from oborona.session import dnsbl as lists
from oborona.session import traps as trapping
from oborona.session.engines import engine
from oborona.store_birth import StoreBirthRecord
from oborona.stores import content_model, final_model
from oborona.stores.persons import follower as persons
from oborona.stores.pins import follower as pins
from oborona.stores.signatures import follower as signatures
from oborona.telemetry.metrics import NOTHING
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
from oborona.types import Action, RuleMode, Stage
from tests.telemetry.scraped import exposition

EXPOSITION = Path(__file__).with_name("exposition")
STORES = {
    "journal.db": StoreBirthRecord(mark="ab", since=0.0, lost="was gone", lost_at=1.8e9, off="")
}
SITE = MetricsSnapshot(
    values={
        store_figures.BYTES.name: [(("journal.db",), 4096), (("index",), 8192)],
        store_figures.FREE.name: [((), 1 << 34)],
        store_figures.COUNTERS_BEHIND.name: [((), 0.5)],
        store_figures.COUNTERS_WAITING.name: [((), 300)],
        metric_collection.BUILD.name: [(("1.2.3", "3.11.2"), 1)],
    }
)
EVERY = {one.name: one for told in described_metrics().values() for one in told}


def counted(count: Callable[[], None]) -> MetricsSnapshot:
    """Return what a process tells that has just counted this."""
    REGISTRY.begin()
    count()
    return REGISTRY.snapshot()


def count_flows() -> None:
    flows.UP.set(1)
    flows.FILES.inc("taken", by=9)
    flows.FILES.inc("damaged")
    flows.RECORDS.inc("192.0.2.1", by=1200)
    flows.LINES_WRONG.inc(by=3)
    flows.TIMES_WRONG.inc("192.0.2.1", by=4)
    flows.LAG.set(42.5)
    flows.LOSS.replace({("192.0.2.1",): 0.02})
    flows.TROUBLE.set(False)


def count_event_logs() -> None:
    event_logs.UP.set(1)
    event_logs.count_checked("feedback", 40, {"DUPLICATE": 3, "TOO_FAST": 1}, 12.5)
    event_logs.WAITING.set(2, "feedback")
    event_logs.count_pass("feedback", 5, 1)
    event_logs.ASIDE.set(1, "clicks")
    event_logs.TROUBLE.set(False, "feedback")


def count_service() -> None:
    supervised_process.SERVES.replace({("worker-0",): True, ("keeper",): False})
    for name, starts, deaths, hung in (("worker-0", 3, 2, 1), ("keeper", 1, 0, 0)):
        supervised_process.STARTS.inc(name, by=starts)
        supervised_process.DEATHS.inc(name, by=deaths)
        supervised_process.HUNG.inc(name, by=hung)
    supervised_process.MEMORY.replace({("worker-0",): 120_000_000, ("keeper",): 60_000_000})
    supervised_process.FILES.replace({("worker-0",): 40, ("keeper",): 12})
    supervised_process.CPU.replace({("worker-0",): 12.5, ("keeper",): 0.25})


def count_policy() -> None:
    policy.WRONG.set(1)
    policy.SINCE.set(1_799_999_000.0)
    policy.CHANGES.inc(by=3)
    policy.REFUSALS.inc(by=2)
    policy.REFUSED_AT.set(1_799_999_900.0)
    policy.SECONDS.set(0.25)
    policy.LATE.set(1)


def count_trainer() -> None:
    trainer.UP.set(1)
    trainer.WORDS.replace({("queued", "spam"): 4, ("learned", "ham"): 9})
    trainer.LEARNED.set(7, "spam")
    trainer.LEARNED.set(9, "ham")
    trainer.CHANGED.set(1_799_999_990.0)
    trainer.RELEARNING.set(1)
    trainer.FINAL_TRAINED.set(1_799_999_000.0)
    trainer.FINAL_FAILED.set(0)
    trainer.FINAL_RESULT.replace({("better",): 1})
    event_processor.DECIDED.inc("complaint", "sieve", "believed", by=7)
    believing.WAITING.set(2)
    believing.AGE.set(7.5)
    believing.TROUBLE.set(1)


def count_intake() -> None:
    intake.UP.set(1)
    intake_desk.EVENTS.inc("sieve", "complaint", "new", by=7)
    intake_desk.EVENTS.inc("mailbox", "read", "dropped", by=2)
    intake_desk.REFUSED.inc("http", "unauthorized", by=3)
    intake_desk.STUCK.set(1)


def count_recheck() -> None:
    recheck.UP.set(1)
    recheck_loop.MESSAGES.inc("glanced", by=40)
    recheck_loop.MESSAGES.inc("decided", by=3)
    mover.MADE.inc("moved", by=2)
    mover.MADE.inc("seen")
    move_share.TAKEN.inc(by=3)
    move_share.SHARED.set_function(lambda: {("here",): 2, ("elsewhere",): 1, ("nobody",): 0})
    recheck_loop.WAITING.set(1)
    recheck_loop.PAUSED.set(1)
    alarm.ALERTS.inc("webhook", "sent", by=2)
    alarm.ALERTS.inc("mail", "failed")
    recheck.STUCK.set(1)
    account_actions.INCIDENTS.inc("recipients", "duty", by=2)
    account_actions.INCIDENTS.inc("flow.streams", "ban")
    address_watch.LISTED.set_function(lambda: {("SPAMHAUS_ZEN",): 2})
    address_watch.WATCHED.set_function(lambda: {(): 1024})
    flow_limit_watch.PASSED.inc("FLOW_STREAMS", "shadow", by=4)
    keeping.BEHIND.set_function(lambda: {("index",): 0.0, ("search",): 12.5})
    site_watch.AWAY.set_function(lambda: {(): 4.5})
    site_watch.BEHIND.set_function(lambda: {("personal.db",): 3})
    site_watch.STUCK.set_function(lambda: {("personal.db",): 0})
    site_watch.POLICY.set_function(lambda: {(): 1})
    site_watch.MODELS.set_function(lambda: {(): 0})
    site_watch.SPOOLED.set_function(lambda: {(): 12.0})


def count_reader() -> None:
    reader.UP.set(1)
    reader_desk.PICTURES.inc("look", "done", by=7)
    reader_desk.PICTURES.inc("read", "stopped")
    reader_desk.PICTURES.inc("read", "known", by=4)
    for task, seconds, started, waiting, processes in (
        ("look", 0.5, 1, 0, 1),
        ("read", 12.25, 2, 3, 2),
    ):
        reader_pool.SECONDS.inc(task, by=seconds)
        reader_pool.STARTED.inc(task, by=started)
        reader_desk.WAITING.set(waiting, task)
        reader_desk.PROCESSES.set(processes, task)


NOW = 1_800_000_000.0
SERVICE = ServiceStatus(name="worker-0", pid=1, time=NOW, metrics=counted(count_service))
POLICY = PolicyStatus(pid=7, time=NOW, version="abc", metrics=counted(count_policy))
TRAINER = TrainerStatus(pid=8, time=NOW, metrics=counted(count_trainer))
INTAKE = IntakeStatus(pid=11, time=NOW, metrics=counted(count_intake))
SECOND = RecheckStatus(pid=12, time=NOW, metrics=counted(count_recheck))
FLOWS = FlowStatus(pid=13, time=NOW, metrics=counted(count_flows))
EVENT_LOGS = EventLogStatus(pid=14, time=NOW, metrics=counted(count_event_logs))
READER = ReaderStatus(pid=9, time=NOW, metrics=counted(count_reader))
ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "etc/prometheus/oborona.rules"
SOURCES = [
    path
    for folder in ("milter", "counters", "policy", "reputation", "src/oborona")
    for path in (ROOT / folder).glob("**/*.py")
]


def count_worker(number: int, *, healthy: bool) -> None:
    worker.UP.set(1)
    worker.POLICY.set(1, "abc")
    verdict_metrics.VERDICTS.inc("connect", "reject", by=2)
    verdict_metrics.VERDICTS.inc("content", "accept", by=5 + number)
    verdict_metrics.REFUSED.inc("connect", "ZEN", by=2)
    verdict_metrics.OUTGOING.inc("hold", by=1 + number)
    limit_report.LIMITS.inc("HOURLY", "hold", "shadow", by=3 + number)
    bounces.BOUNCES.inc("unknown user", by=2 + number)
    logins.FAILED.inc("password", by=4 + number)
    login_recorder.LOST.inc(by=number)
    entrances.DOOR.inc("exim", "answered", by=8)
    entrances.DOOR.inc("spamd", "too-large")
    concurrency_limit.BUSY.inc(by=6)
    verdict_metrics.AUTHENTICATION.inc("spf", "pass", by=3)
    stats.DNS.set_function(lambda: {("questions",): 40, ("sent",): 30, ("timeouts",): 1})
    connection.PICTURES.inc("look", "done", by=7)
    connection.PICTURES.inc("read", "late")
    late_reader.LATE.inc("found", by=3)
    late_reader.LATE.inc("dropped")
    late_reader.WAITING.set(2)
    late_reader.AGE.set(3.25)
    signatures.SIGNATURES.replace({("live",): 40, ("shadow",): 2, ("expired",): 1, ("broken",): 0})
    signatures.HITS.inc("spam", "live", by=5)
    signatures.HITS.inc("ham", "shadow")
    signatures.STALE.set(not healthy)
    persons.LOOKS.set_function(lambda: {("kept",): 7, ("read",): 2, ("failed",): 0})
    persons.PERSONS.set(3)
    trapping.TRAPS.inc("new", by=4)
    trapping.TRAPS.inc("failed")
    pins.PINS.replace({("good",): 1, ("unknown",): 0, ("poor",): 0, ("bad",): 2})
    pins.STALE.set(not healthy)
    followed_accounts.BANS.replace({("banned",): 2, ("limited",): 1})
    followed_accounts.STALE.set(not healthy)
    handover.DELIVERIES.inc("accept", "2xx", by=7)
    handover.DELIVERIES.inc("unjudged", "4xx")
    handover.NEXT_HOP.inc("connect", "lost")
    content_model.WRONG.set(not healthy)
    final_model.INFO.replace({("0a1b2c",): 1} if healthy else {})
    final_model.SHIPPED_INFO.replace({("c0ffee", "unproved"): 1} if healthy else {})
    final_model.WRONG.set(not healthy)
    verdict_metrics.RULE_HITS.inc("MASS_TEXT", "live", by=4)
    verdict_metrics.RULE_HITS.inc("NEW_ONE", "shadow", by=2)
    verdict_metrics.WOULD.inc("accept", "spam")
    for took_s in (1.5 / 1024, 1.5 / 1024, 1.5 / 1024, 4 / 1024, 31.5 - 8.5 / 1024):
        verdict_metrics.SCAN_SECONDS.observe(took_s)
    verdict_metrics.STAGE_SECONDS.observe(0.0015, "milter", "connect")
    verdict_metrics.STAGE_SECONDS.observe(0.5, "milter", "content")
    verdict_metrics.STAGE_SECONDS.observe(60.0, "http", "content")
    engine.IS_AWAY.set(1, "rspamd")
    engine.QUESTIONS.inc("rspamd", "answered", by=7)
    engine.QUESTIONS.inc("rspamd", "timeout", by=5)
    engine.SECONDS.inc("rspamd", by=25.5)
    lists.HEALTHY.set(healthy, "ZEN")
    for outcome, times in (("listed", 2), ("unanswered", 3), ("unlisted", 4)):
        lists.QUESTIONS.inc("ZEN", outcome, by=times)


def status(number: int, *, healthy: bool = True) -> WorkerStatus:
    metrics = counted(lambda: count_worker(number, healthy=healthy))
    return WorkerStatus(worker=number, pid=100 + number, time=NOW, policy="abc", metrics=metrics)


def families(
    statuses: Sequence[WorkerStatus],
    reader: ReaderStatus | None = None,
    policy: PolicyStatus | None = None,
    trainer: TrainerStatus | None = None,
    intake: IntakeStatus | None = None,
    second: RecheckStatus | None = None,
    stores: Mapping[str, StoreBirthRecord] = MappingProxyType({}),
    services: Sequence[ServiceStatus] = (),
    flow_status: FlowStatus | None = None,
    log_status: EventLogStatus | None = None,
    site: MetricsSnapshot = NOTHING,
) -> dict[str, Metric]:
    said = exposition(
        statuses,
        reader,
        policy,
        trainer,
        intake,
        second,
        stores,
        services,
        flow_status,
        log_status,
        site,
    ).decode()
    return {one.name: one for one in text_string_to_metric_families(said)}


def samples(
    statuses: Sequence[WorkerStatus],
    reader: ReaderStatus | None = None,
    policy: PolicyStatus | None = None,
    trainer: TrainerStatus | None = None,
    intake: IntakeStatus | None = None,
    second: RecheckStatus | None = None,
) -> dict[tuple[str, str], float]:
    """Return the values by name and labels, those of the worker first."""
    return {
        (
            sample.name,
            " ".join(sample.labels[label] for label in sorted(sample.labels, key=_order)),
        ): sample.value
        for family in families(statuses, reader, policy, trainer, intake, second).values()
        for sample in family.samples
    }


def _order(label: str) -> tuple[bool, str]:
    return label != "worker", label


def test_prometheus_reads_every_value() -> None:
    found = samples([status(0), status(1, healthy=False)])
    assert found["oborona_up", "0"] == found["oborona_up", "1"] == 1
    assert found["oborona_verdicts_total", "0 reject connect"] == 2
    assert found["oborona_verdicts_total", "1 accept content"] == 6
    assert found["oborona_door_total", "0 exim answered"] == 8
    assert found["oborona_door_total", "1 spamd too-large"] == 1
    assert found["oborona_busy_total", "1"] == 6
    assert found["oborona_authentication_total", "0 spf pass"] == 3
    assert found["oborona_policy_info", "0 abc"] == 1
    assert found["oborona_dns_total", "0 timeouts"] == 1
    assert (
        found["oborona_dns_list_healthy", "0 ZEN"],
        found["oborona_dns_list_healthy", "1 ZEN"],
    ) == (1, 0)
    assert found["oborona_pictures_total", "0 late read"] == 1
    assert found["oborona_late_total", "1 dropped"] == 1
    assert found["oborona_late_waiting", "1"] == 2
    assert (found["oborona_model_wrong", "0"], found["oborona_model_wrong", "1"]) == (0, 1)
    assert (found["oborona_final_wrong", "0"], found["oborona_final_wrong", "1"]) == (0, 1)
    assert found["oborona_final_info", "0 0a1b2c"] == 1
    assert ("oborona_final_info", "1 ") not in found
    assert found["oborona_rule_hits_total", "0 shadow NEW_ONE"] == 2
    assert found["oborona_would_total", "1 accept spam"] == 1
    assert found["oborona_scan_seconds_bucket", "0 0.001"] == 0
    assert found["oborona_scan_seconds_bucket", "0 0.003"] == 3
    assert found["oborona_scan_seconds_bucket", "0 0.005"] == 4
    assert (
        found["oborona_scan_seconds_bucket", "0 +Inf"]
        == found["oborona_scan_seconds_count", "0"]
        == 5
    )
    assert found["oborona_scan_seconds_sum", "0"] == 31.5
    outcomes = {
        outcome: found["oborona_dns_list_questions_total", f"0 ZEN {outcome}"]
        for outcome in ("listed", "unanswered", "unlisted")
    }
    assert outcomes == {"listed": 2, "unanswered": 3, "unlisted": 4}


@pytest.mark.parametrize(
    ("process", "told"),
    [
        (
            {"reader": READER},
            {
                ("oborona_reader_up", ""): 1,
                ("oborona_reader_pictures_total", "stopped read"): 1,
                ("oborona_reader_seconds_total", "read"): 12.25,
                ("oborona_reader_started_total", "read"): 2,
                ("oborona_reader_waiting", "read"): 3,
                ("oborona_reader_processes", "look"): 1,
            },
        ),
        (
            {"trainer": TRAINER},
            {
                ("oborona_trainer_up", ""): 1,
                ("oborona_model_words", "spam queued"): 4,
                ("oborona_model_learned", "ham"): 9,
                ("oborona_model_changed_seconds", ""): 1_799_999_990.0,
                ("oborona_model_relearning", ""): 1,
                ("oborona_events_decided_total", "believed sieve complaint"): 7,
                ("oborona_events_waiting", ""): 2,
                ("oborona_events_trouble", ""): 1,
            },
        ),
        (
            {"intake": INTAKE},
            {
                ("oborona_intake_up", ""): 1,
                ("oborona_intake_events_total", "new sieve complaint"): 7,
                ("oborona_intake_events_total", "dropped mailbox read"): 2,
                ("oborona_intake_refused_total", "http unauthorized"): 3,
                ("oborona_intake_stuck", ""): 1,
            },
        ),
        (
            {"second": SECOND},
            {
                ("oborona_recheck_up", ""): 1,
                ("oborona_recheck_messages_total", "decided"): 3,
                ("oborona_recheck_moves_total", "seen"): 1,
                ("oborona_recheck_paused", ""): 1,
                ("oborona_recheck_stuck", ""): 1,
                ("oborona_alerts_total", "webhook sent"): 2,
            },
        ),
    ],
    ids=["reader", "trainer", "intake", "recheck"],
)
def test_prometheus_reads_what_a_process_says(
    process: dict[str, Any], told: dict[tuple[str, str], float]
) -> None:
    found = samples([], **process)
    assert {name: found[name] for name in told} == told


def test_prometheus_reads_what_the_publisher_of_the_policy_says() -> None:
    found = samples([], policy=POLICY)
    said = {name: value for (name, _), value in found.items()}
    assert said == {
        "oborona_policy_wrong": 1,
        "oborona_policy_stuck": 0,
        "oborona_policy_since_seconds": 1_799_999_000,
        "oborona_policy_changes_total": 3,
        "oborona_policy_refusals_total": 2,
        "oborona_policy_refused_at_seconds": 1_799_999_900,
        "oborona_policy_change_seconds": 0.25,
        "oborona_policy_late_workers": 1,
    }


def test_a_supervisor_says_how_its_processes_are() -> None:
    found = families([], services=[SERVICE])
    said = {
        (sample.name, sample.labels["process"]): sample.value
        for family in found.values()
        for sample in family.samples
    }
    assert said == {
        ("oborona_process_serves", "worker-0"): 1,
        ("oborona_process_serves", "keeper"): 0,
        ("oborona_process_starts_total", "worker-0"): 3,
        ("oborona_process_starts_total", "keeper"): 1,
        ("oborona_process_deaths_total", "worker-0"): 2,
        ("oborona_process_deaths_total", "keeper"): 0,
        ("oborona_process_hung_total", "worker-0"): 1,
        ("oborona_process_hung_total", "keeper"): 0,
        ("oborona_process_memory_bytes", "worker-0"): 120_000_000,
        ("oborona_process_memory_bytes", "keeper"): 60_000_000,
        ("oborona_process_open_files", "worker-0"): 40,
        ("oborona_process_open_files", "keeper"): 12,
        ("oborona_process_cpu_seconds_total", "worker-0"): 12.5,
        ("oborona_process_cpu_seconds_total", "keeper"): 0.25,
    }


def test_every_metric_has_its_kind_help_labels_and_a_sample() -> None:
    read = families(
        [status(3)],
        READER,
        POLICY,
        TRAINER,
        INTAKE,
        SECOND,
        STORES,
        [SERVICE],
        FLOWS,
        EVENT_LOGS,
        SITE,
    )
    assert list(read) == list(EVERY), "in this order"
    for name, one in EVERY.items():
        family = read[name]
        assert (family.type, family.documentation) == (one.kind, one.help)
        assert family.samples, name
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(one.labels)


DECLARED = re.compile(
    r'^[A-Z_]+: Final = (?:Counter|Gauge|Histogram)\(\s*"(oborona_\w+)"', re.MULTILINE
)


def test_every_metric_is_declared_once_at_the_top_of_a_module() -> None:
    """And printed: what nobody can look up is not worth counting."""
    declared = [name for path in SOURCES for name in DECLARED.findall(path.read_text())]
    assert sorted(declared) == sorted(EVERY)


def test_a_histogram_of_a_version_with_other_steps_is_left_out() -> None:
    older = msgspec.structs.replace(
        status(0),
        metrics=MetricsSnapshot(
            histograms={verdict_metrics.SCAN_SECONDS.name: [((), [1, 2], 0.5)]}
        ),
    )
    assert not families([older])["oborona_scan_seconds"].samples


def test_the_whole_text_is_what_it_was() -> None:
    """Dashboards and alerts of every site stand on names, labels, types and order."""
    stores = STORES | {"personal.db": StoreBirthRecord(mark="cd", since=0.0, off="is damaged")}
    workers = [status(0), status(1, healthy=False), status(10)]
    text = exposition(
        workers, READER, POLICY, TRAINER, INTAKE, SECOND, stores, [SERVICE], FLOWS, EVENT_LOGS, SITE
    )
    assert text.decode() == (EXPOSITION / "all.prom").read_text()
    assert exposition([]).decode() == (EXPOSITION / "none.prom").read_text()


def test_a_process_that_has_just_begun_says_what_it_did() -> None:
    """A series that is there from the start has a rate from the start."""

    def begin() -> None:
        for up in (
            worker.UP,
            reader.UP,
            trainer.UP,
            intake.UP,
            recheck.UP,
            flows.UP,
            event_logs.UP,
        ):
            up.set(1)
        worker.POLICY.set(1, "p")

    fresh = counted(begin)
    text = exposition(
        [WorkerStatus(worker=0, pid=1, time=NOW, policy="p", metrics=fresh)],
        ReaderStatus(pid=1, time=NOW, metrics=fresh),
        PolicyStatus(pid=1, time=NOW, version="p", metrics=fresh),
        TrainerStatus(pid=1, time=NOW, metrics=fresh),
        IntakeStatus(pid=1, time=NOW, metrics=fresh),
        RecheckStatus(pid=1, time=NOW, metrics=fresh),
        services=[ServiceStatus(name="w", pid=1, time=NOW, metrics=fresh)],
        flows=FlowStatus(pid=1, time=NOW, metrics=fresh),
        event_logs=EventLogStatus(pid=1, time=NOW, metrics=fresh),
    )
    assert text.decode() == (EXPOSITION / "fresh.prom").read_text()


def test_where_no_worker_runs_there_are_metrics_without_values() -> None:
    read = families([])
    assert list(read) == list(EVERY)
    assert not any(family.samples for family in read.values())


def test_a_store_that_was_lost_or_is_off_is_told() -> None:
    off = {"personal.db": StoreBirthRecord(mark="cd", since=0.0, off="is damaged")}
    read = families([], stores=STORES | off)
    found = {
        (one.name, sample.labels["store"]): sample.value
        for one in read.values()
        for sample in one.samples
    }
    assert found == {
        ("oborona_store_lost_seconds", "journal.db"): 1.8e9,
        ("oborona_store_lost_seconds", "personal.db"): 0.0,
        ("oborona_store_off", "journal.db"): 0.0,
        ("oborona_store_off", "personal.db"): 1.0,
    }


def test_the_page_has_every_metric_under_the_name_that_prometheus_sees() -> None:
    page = (ROOT / "docs/operate/monitoring.md").read_text()
    for one in EVERY.values():
        name = f"{one.name}_total" if one.kind == "counter" else one.name
        (line,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert one.help in line
        assert all(f"`{label}`" in line for label in one.labels)


SELECTOR = re.compile(r"\b(oborona_\w+)(?:\{([^}]*)\})?")
VALUES = {
    "where": {"here", "elsewhere", "nobody"},
    "stage": {stage.value for stage in Stage},
    "action": {action.value for action in Action},
    "event": set(ResolverStats.__struct_fields__),
    "outcome": {
        *(
            "listed",
            "unlisted",
            "unanswered",
            "dropped",
            "failed",
            "busy",
            "broken",
            "unauthorized",
        ),
        *PictureOutcome,
    },
    "task": set(ReaderTask),
    "flag": set(SignatureFlag),
    "mode": set(RuleMode),
    "state": set(LabelState),
    "kind": set(LabelKind),
    "le": {str(step) for step in verdict_metrics.STAGE_SECONDS.steps},
}


ALERTS = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_alerts_that_ship_name_what_there_is(alert: dict[str, object]) -> None:
    labels = {
        f"{one.name}_total" if one.kind == "counter" else one.name: set(one.labels)
        for one in EVERY.values()
    } | {
        f"{one.name}{part}": {*one.labels, "le"}
        for one in EVERY.values()
        if one.kind == "histogram"
        for part in ("_bucket", "_count", "_sum")
    }
    expression = str(alert["expr"])
    named = SELECTOR.findall(expression)
    assert named
    for name, matchers in named:
        assert name in labels, name
        for label, value in re.findall(r'(\w+)\s*=~?\s*"([^"]*)"', matchers):
            assert label in labels[name]
            assert set(value.split("|")) <= VALUES[label], value
    grouped = {
        word
        for words in re.findall(r"\bby\s*\(([^)]*)\)", expression)
        for word in re.findall(r"\w+", words)
    }
    assert all(grouped <= labels[name] for name, _ in named)
    summary = str(alert["annotations"])
    assert set(re.findall(r"\$labels\.(\w+)", summary)) <= grouped


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_alerts_add_up_what_may_not_be_there_yet(alert: dict[str, object]) -> None:
    # to Prometheus a number and a series that never began are no series
    expression = str(alert["expr"])
    for part in re.split(r"\s\+\s", expression) if " + " in expression else ():
        assert "or vector(0))" in part, part
