"""Metrics as a process counts them, and as another one reads its snapshot."""

from __future__ import annotations

import threading

import msgspec
import pytest

from oborona.metrics import Counter, Gauge, Histogram, MetricRegistry, MetricsSnapshot


@pytest.fixture
def registry() -> MetricRegistry:
    return MetricRegistry()


def read_back(registry: MetricRegistry) -> MetricsSnapshot:
    """Return the snapshot as the reader of the file has it."""
    return msgspec.json.decode(msgspec.json.encode(registry.snapshot()), type=MetricsSnapshot)


def test_what_was_counted_is_read_by_the_labels_it_was_counted_under(
    registry: MetricRegistry,
) -> None:
    traps = Counter("traps", "Messages to traps.", ("outcome",), registry)
    verdicts = Counter("verdicts", "Verdicts.", ("stage", "action"), registry)
    busy = Counter("busy", "Put off.", (), registry)
    for outcome in ("new", "known", "new"):
        traps.inc(outcome)
    verdicts.inc("content", "of two words")
    busy.inc(by=0.5)
    snapshot = read_back(registry)
    assert traps.samples(snapshot) == {("known",): 1, ("new",): 2} == traps.values
    assert verdicts.of(snapshot, "content", "of two words") == 1
    assert verdicts.of(snapshot, "connect", "reject") == 0
    assert busy.of(snapshot) == 0.5


def test_only_what_has_no_labels_is_there_before_it_was_counted(registry: MetricRegistry) -> None:
    Counter("busy", "Put off.", (), registry)
    Counter("traps", "Messages to traps.", ("outcome",), registry)
    assert read_back(registry) == MetricsSnapshot(values={"busy": [((), 0)]})


def test_whole_numbers_stay_whole(registry: MetricRegistry) -> None:
    """`oborona doctor` prints them."""
    words, when = Gauge("words", "", (), registry), Gauge("when", "", (), registry)
    words.set(4)
    when.set(1_800_000_000.25)
    snapshot = read_back(registry)
    assert f"{words.of(snapshot)} {when.of(snapshot)}" == "4 1800000000.25"


def test_a_gauge_is_what_was_set_last(registry: MetricRegistry) -> None:
    pins = Gauge("pins", "Overrides.", ("flag",), registry)
    pins.set(3, "bad")
    pins.set(1, "bad")
    assert pins.values == {("bad",): 1}


def test_a_function_is_asked_at_each_snapshot_and_tells_all_values(
    registry: MetricRegistry,
) -> None:
    waiting: dict[tuple[str], int] = {("read",): 1}
    gauge = Gauge("waiting", "Pictures that wait.", ("task",), registry)
    gauge.set(9, "of before")
    gauge.set_function(lambda: waiting)
    assert gauge.samples(read_back(registry)) == {("read",): 1}
    waiting[("read",)] = 2
    waiting[("look",)] = 0
    assert read_back(registry).values["waiting"] == [(("look",), 0), (("read",), 2)]


@pytest.mark.parametrize(
    ("value", "step"), [(0.0, 0), (0.001, 0), (0.0011, 1), (0.01, 1), (0.02, 2), (float("inf"), 2)]
)
def test_an_observation_is_in_the_first_step_that_is_not_below_it(
    registry: MetricRegistry, value: float, step: int
) -> None:
    seconds = Histogram("seconds", "Of scans.", (), (0.001, 0.01), registry)
    seconds.observe(value)
    counts = [0, 0, 0]
    counts[step] = 1
    assert registry.snapshot().histograms == {"seconds": [((), counts, value)]}


def test_a_histogram_is_read_with_its_sum(registry: MetricRegistry) -> None:
    seconds = Histogram("seconds", "Of scans.", (), (0.001, 0.01), registry)
    for value in (0.0, 0.5, 99.0):
        seconds.observe(value)
    assert read_back(registry).histograms == {"seconds": [((), [1, 0, 2], 99.5)]}


def test_a_histogram_has_a_series_for_each_combination_of_labels(registry: MetricRegistry) -> None:
    seconds = Histogram("seconds", "Of stages.", ("door", "stage"), (1.0,), registry)
    assert read_back(registry).histograms == {}
    seconds.observe(2.0, "milter", "content")
    seconds.observe(0.5, "http", "content")
    seconds.observe(0.25, "milter", "content")
    assert read_back(registry).histograms == {
        "seconds": [(("http", "content"), [1, 0], 0.5), (("milter", "content"), [1, 1], 2.25)]
    }


def test_a_forked_process_begins_at_zero(registry: MetricRegistry) -> None:
    counter = Counter("counter", "", ("label",), registry)
    gauge = Gauge("gauge", "", (), registry)
    seconds = Histogram("seconds", "", (), (1.0,), registry)
    fresh = registry.snapshot()
    counter.inc("a")
    gauge.set_function(lambda: {(): 5})
    seconds.observe(0.5)
    registry.begin()
    assert registry.snapshot() == fresh


def test_a_name_is_declared_once(registry: MetricRegistry) -> None:
    Counter("traps", "Messages to traps.", (), registry)
    with pytest.raises(ValueError, match="traps is declared twice"):
        Gauge("traps", "Others.", (), registry)


def test_a_metric_that_an_older_process_did_not_write_is_zero(registry: MetricRegistry) -> None:
    assert Gauge("newer", "", ("flag",), registry).of(MetricsSnapshot(), "bad") == 0


def test_a_snapshot_may_be_taken_while_threads_count(registry: MetricRegistry) -> None:
    counter, done = Counter("counter", "", ("label",), registry), threading.Event()

    def count() -> None:
        for number in range(20_000):
            counter.inc(str(number))
        done.set()

    thread = threading.Thread(target=count)
    thread.start()
    sizes = [len(registry.snapshot().values.get("counter", ()))]
    while not done.is_set():
        sizes.append(len(registry.snapshot().values.get("counter", ())))
    thread.join()
    assert sizes == sorted(sizes)
