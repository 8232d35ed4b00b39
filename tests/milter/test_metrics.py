"""Metrics as Prometheus reads them, as the page says, and as the alerts that ship name them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from oborona.begun import Record
from oborona.feedback.word import Kind, State
from oborona.milter.metric_table import (
    INTAKE_METRICS,
    METRICS,
    POLICY_METRICS,
    READER_METRICS,
    SECOND_METRICS,
    SERVICE_METRICS,
    STORE_METRICS,
    TRAINER_METRICS,
)
from oborona.milter.metrics import exposition
from oborona.milter.reader.frames import Outcome, Task
from oborona.milter.resolver.stats import Stats
from oborona.milter.status import (
    EngineStatus,
    IntakeStatus,
    ListStatus,
    PolicyStatus,
    ProcessStatus,
    ReaderStatus,
    Refusal,
    SecondStatus,
    ServiceStatus,
    Status,
    TrainerStatus,
)
from oborona.policy.signatures import Flag
from oborona.types import Action, Mode, Stage

EXPOSITION = Path(__file__).with_name("exposition")
STORES = {"journal.db": Record(mark="ab", since=0.0, lost="was gone", lost_at=1.8e9, off="")}
EVERY = {
    one.name
    for one in (
        *METRICS,
        *READER_METRICS,
        *POLICY_METRICS,
        *TRAINER_METRICS,
        *INTAKE_METRICS,
        *SECOND_METRICS,
        *SERVICE_METRICS,
        *STORE_METRICS,
    )
}
SERVICE = ServiceStatus(
    name="worker-0",
    pid=1,
    time=1_800_000_000.0,
    processes={
        "worker-0": ProcessStatus(serves=True, starts=3, deaths=2, hung=1),
        "keeper": ProcessStatus(serves=False, starts=1),
    },
)
POLICY = PolicyStatus(
    pid=7,
    time=1_800_000_000.0,
    version="abc",
    since=1_799_999_000.0,
    changes=3,
    refusals=2,
    seconds=0.25,
    late=(1,),
    refused=Refusal(problem="unknown fact", file="a.toml", line=3),
    refused_at=1_799_999_900.0,
)
TRAINER = TrainerStatus(
    pid=8,
    time=1_800_000_000.0,
    version="1.20",
    changed=1_799_999_990.0,
    learned={"spam": 7, "ham": 9},
    words={"queued spam": 4, "learned ham": 9},
    relearning=0.5,
    events={"complaint sieve believed": 7},
    events_waiting=2,
    events_trouble="no room",
)
INTAKE = IntakeStatus(
    pid=11,
    time=1_800_000_000.0,
    events={"sieve complaint new": 7, "mailbox read dropped": 2},
    refused={"http unauthorized": 3},
    trouble="no room",
)
SECOND = SecondStatus(
    pid=12,
    time=1_800_000_000.0,
    looked={"glanced": 40, "decided": 3},
    moves={"moved": 2, "seen": 1},
    waiting=1,
    paused=True,
    alerts={"webhook sent": 2, "mail failed": 1},
    trouble="no room",
)
READER = ReaderStatus(
    pid=9,
    time=1_800_000_000.0,
    outcomes={"look done": 7, "read stopped": 1, "read known": 4},
    seconds={"look": 0.5, "read": 12.25},
    started={"look": 1, "read": 2},
    waiting={"look": 0, "read": 3},
    processes={"look": 1, "read": 2},
)
ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "etc/prometheus/oborona.rules"


def status(worker: int, *, healthy: bool = True) -> Status:
    return Status(
        worker=worker,
        pid=100 + worker,
        time=1_800_000_000.0,
        policy="abc",
        verdicts={"connect reject": 2, "content accept": 5 + worker},
        doors={"exim answered": 8, "spamd too-large": 1},
        busy=6,
        results={"spf pass": 3},
        dns={"questions": 40, "sent": 30, "timeouts": 1},
        pictures={"look done": 7, "read late": 1},
        late={"found": 3, "dropped": 1},
        late_waiting=2,
        signatures={"live": 40, "shadow": 2, "expired": 1, "broken": 0},
        signature_hits={"spam live": 5, "ham shadow": 1},
        signatures_stale=not healthy,
        persons={"kept": 7, "read": 2, "failed": 0},
        persons_known=3,
        traps={"new": 4, "failed": 1},
        pins={"good": 1, "unknown": 0, "poor": 0, "bad": 2},
        pins_stale=not healthy,
        deliveries={"accept 2xx": 7, "unjudged 4xx": 1},
        next_hop={"connect lost": 1},
        model="1.20",
        model_wrong=not healthy,
        final="0a1b2c" if healthy else "",
        final_wrong="" if healthy else "cut short",
        rules={"MASS_TEXT live": 4, "NEW_ONE shadow": 2},
        would={"accept spam": 1},
        scans={"0.002": 3, "0.005": 1, "inf": 1},
        scan_seconds=31.5,
        engines={
            "rspamd": EngineStatus(
                away=True, since=0.0, why="no answer", outcomes={"answered": 7, "timeout": 5}, seconds=25.5
            )
        },
        lists={
            "ZEN": ListStatus(
                state="healthy" if healthy else "sick",
                since=0.0,
                why='it "said"\n\\nothing',
                asked=9,
                listed=2,
                unanswered=3,
            )
        },
    )


def families(
    statuses: Sequence[Status],
    reader: ReaderStatus | None = None,
    policy: PolicyStatus | None = None,
    trainer: TrainerStatus | None = None,
    intake: IntakeStatus | None = None,
    second: SecondStatus | None = None,
    stores: Mapping[str, Record] = MappingProxyType({}),
    services: Sequence[ServiceStatus] = (),
) -> dict[str, Metric]:
    said = exposition(statuses, reader, policy, trainer, intake, second, stores, services).decode()
    return {one.name: one for one in text_string_to_metric_families(said)}


def samples(
    statuses: Sequence[Status],
    reader: ReaderStatus | None = None,
    policy: PolicyStatus | None = None,
    trainer: TrainerStatus | None = None,
    intake: IntakeStatus | None = None,
    second: SecondStatus | None = None,
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
    assert (found["oborona_dns_list_healthy", "0 ZEN"], found["oborona_dns_list_healthy", "1 ZEN"]) == (1, 0)
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
    assert found["oborona_scan_seconds_bucket", "0 +Inf"] == found["oborona_scan_seconds_count", "0"] == 5
    assert found["oborona_scan_seconds_sum", "0"] == 31.5
    outcomes = {
        outcome: found["oborona_dns_list_questions_total", f"0 ZEN {outcome}"]
        for outcome in ("listed", "unanswered", "unlisted")
    }
    assert outcomes == {"listed": 2, "unanswered": 3, "unlisted": 4}


def test_prometheus_reads_what_the_reader_says() -> None:
    found = samples([], READER)
    assert found["oborona_reader_up", ""] == 1
    assert found["oborona_reader_pictures_total", "stopped read"] == 1
    assert found["oborona_reader_seconds_total", "read"] == 12.25
    assert found["oborona_reader_started_total", "read"] == 2
    assert found["oborona_reader_waiting", "read"] == 3
    assert found["oborona_reader_processes", "look"] == 1


def test_prometheus_reads_what_the_trainer_says() -> None:
    found = samples([], trainer=TRAINER)
    assert found["oborona_trainer_up", ""] == 1
    assert found["oborona_model_words", "spam queued"] == 4
    assert found["oborona_model_learned", "ham"] == 9
    assert found["oborona_model_changed_seconds", ""] == 1_799_999_990.0
    assert found["oborona_model_relearning", ""] == 1
    assert found["oborona_events_decided_total", "believed sieve complaint"] == 7
    assert found["oborona_events_waiting", ""] == 2
    assert found["oborona_events_trouble", ""] == 1


def test_prometheus_reads_what_the_intake_says() -> None:
    found = samples([], intake=INTAKE)
    assert found["oborona_intake_up", ""] == 1
    assert found["oborona_intake_events_total", "new sieve complaint"] == 7
    assert found["oborona_intake_events_total", "dropped mailbox read"] == 2
    assert found["oborona_intake_refused_total", "http unauthorized"] == 3
    assert found["oborona_intake_stuck", ""] == 1


def test_prometheus_reads_what_the_second_look_says() -> None:
    found = samples([], second=SECOND)
    assert found["oborona_recheck_up", ""] == 1
    assert found["oborona_recheck_messages_total", "decided"] == 3
    assert found["oborona_recheck_moves_total", "seen"] == 1
    assert found["oborona_recheck_paused", ""] == found["oborona_recheck_stuck", ""] == 1
    assert found["oborona_alerts_total", "webhook sent"] == 2


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
    }


def test_every_metric_has_its_kind_help_labels_and_a_sample() -> None:
    read = families([status(3)], READER, POLICY, TRAINER, INTAKE, SECOND, STORES, [SERVICE])
    assert read.keys() == EVERY
    for one in (
        *METRICS,
        *READER_METRICS,
        *POLICY_METRICS,
        *TRAINER_METRICS,
        *INTAKE_METRICS,
        *SECOND_METRICS,
        *SERVICE_METRICS,
        *STORE_METRICS,
    ):
        family = read[one.name]
        assert family.type == one.kind
        assert family.documentation == one.help
        assert family.samples, one.name
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == {*one.labels, *(("worker",) if one in METRICS else ())}


def test_the_whole_text_is_what_it_was() -> None:
    """Dashboards and alerts of every site stand on names, labels, types and order."""
    stores = STORES | {"personal.db": Record(mark="cd", since=0.0, off="is damaged")}
    workers = [status(0), status(1, healthy=False), status(10)]
    text = exposition(workers, READER, POLICY, TRAINER, INTAKE, SECOND, stores, [SERVICE])
    assert text.decode() == (EXPOSITION / "all.prom").read_text()
    assert exposition([]).decode() == (EXPOSITION / "none.prom").read_text()


def test_where_no_worker_runs_there_are_metrics_without_values() -> None:
    read = families([])
    assert read.keys() == EVERY
    assert not any(family.samples for family in read.values())


def test_a_store_that_was_lost_or_is_off_is_told() -> None:
    off = {"personal.db": Record(mark="cd", since=0.0, off="is damaged")}
    read = families([], stores=STORES | off)
    found = {
        (one.name, sample.labels["store"]): sample.value for one in read.values() for sample in one.samples
    }
    assert found == {
        ("oborona_store_lost_seconds", "journal.db"): 1.8e9,
        ("oborona_store_lost_seconds", "personal.db"): 0.0,
        ("oborona_store_off", "journal.db"): 0.0,
        ("oborona_store_off", "personal.db"): 1.0,
    }


def test_a_list_that_was_not_probed_yet_is_not_healthy() -> None:
    unknown = Status(
        worker=0, pid=1, time=0.0, policy="", lists={"NEW": ListStatus(state="unknown", since=0.0)}
    )
    assert samples([unknown])["oborona_dns_list_healthy", "0 NEW"] == 0


def test_the_page_has_every_metric_under_the_name_that_prometheus_sees() -> None:
    page = (ROOT / "docs/operate/monitoring.md").read_text()
    for one in (
        *METRICS,
        *READER_METRICS,
        *POLICY_METRICS,
        *TRAINER_METRICS,
        *INTAKE_METRICS,
        *SECOND_METRICS,
        *SERVICE_METRICS,
        *STORE_METRICS,
    ):
        name = f"{one.name}_total" if one.counts else one.name
        (line,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert one.help in line
        assert all(f"`{label}`" in line for label in one.labels)
        assert ("`worker`" in line) == (one in METRICS)


SELECTOR = re.compile(r"\b(oborona_\w+)(?:\{([^}]*)\})?")
VALUES = {
    "stage": {stage.value for stage in Stage},
    "action": {action.value for action in Action},
    "event": set(Stats.__struct_fields__),
    "outcome": {
        *("listed", "unlisted", "unanswered", "dropped", "failed", "busy", "broken", "unauthorized"),
        *Outcome,
    },
    "task": set(Task),
    "flag": set(Flag),
    "mode": set(Mode),
    "state": set(State),
    "kind": set(Kind),
}


ALERTS = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_alerts_that_ship_name_what_there_is(alert: dict[str, object]) -> None:
    labels = {
        (f"{one.name}_total" if one.counts else one.name): {
            *one.labels,
            *(("worker",) if one in METRICS else ()),
        }
        for one in (
            *METRICS,
            *READER_METRICS,
            *POLICY_METRICS,
            *TRAINER_METRICS,
            *INTAKE_METRICS,
            *SECOND_METRICS,
            *SERVICE_METRICS,
            *STORE_METRICS,
        )
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
        word for words in re.findall(r"\bby\s*\(([^)]*)\)", expression) for word in re.findall(r"\w+", words)
    }
    assert all(grouped <= labels[name] for name, _ in named)
    summary = str(alert["annotations"])
    assert set(re.findall(r"\$labels\.(\w+)", summary)) <= grouped


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_alerts_add_up_what_may_not_be_there_yet(alert: dict[str, object]) -> None:
    expression = str(alert["expr"])  # to Prometheus a number and a series that never began are no series
    for part in re.split(r"\s\+\s", expression) if " + " in expression else ():
        assert "or vector(0))" in part, part
