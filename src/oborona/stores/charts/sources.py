"""Which metrics have charts, and under which names.

    GROUP/LABEL/…/LABEL     verdicts/content/reject   rules/live/MASS_TEXT   queues/events

The last label alone may have many values: what a group has no room for is summed as GROUP/…/other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from oborona.metrics import MetricsSnapshot

OTHER: Final = "other"
BEYOND_STEPS: Final = "more"  # the last step of a histogram
DOMAINS: Final = "domains"
"""Recipients' domains by verdict, of the journal."""
BYTES: Final = "bytes"
"""How large the stores are."""
ROOM: Final = {"rules": 2000, "refusals": 500, "dns-lists": 200, DOMAINS: 500}
"""Series of a group, of domains for each verdict; a hundred of others."""
OTHER_ROOM: Final = 100
MOST_COUNT: Final = 1 << 53  # JSON keeps no larger ones whole
MOST_NAME: Final = 100  # letters of a label


class ChartSource(NamedTuple):
    """A metric that has charts."""

    group: str
    metric: str
    labels: tuple[str, ...]  # of the metric, in its order
    shown: tuple[str, ...]  # of these, in the order of the series' name
    process: str = "worker"
    only: str = ""  # value of the first label; empty = any
    queue: bool = False  # a number of now, whose largest is kept; else a counter


SOURCES: Final = (
    ChartSource("verdicts", "oborona_verdicts", ("stage", "action"), ("stage", "action")),
    ChartSource("refusals", "oborona_refused", ("stage", "by"), ("stage", "by")),
    ChartSource("rules", "oborona_rule_hits", ("rule", "mode"), ("mode", "rule")),
    ChartSource("would", "oborona_would", ("action", "would"), ("action", "would")),
    ChartSource(
        "dns-lists", "oborona_dns_list_questions", ("list", "outcome"), ("outcome", "list")
    ),
    ChartSource("doors", "oborona_door", ("door", "outcome"), ("door", "outcome")),
    ChartSource("outgoing", "oborona_outgoing", ("outcome",), ("outcome",)),
    ChartSource(
        "events",
        "oborona_events_decided",
        ("what", "way", "decision"),
        ("what", "decision"),
        "trainer",
    ),
    ChartSource("moves", "oborona_recheck_moves", ("outcome",), ("outcome",), "recheck"),
    ChartSource("queues/late-pictures", "oborona_late_waiting", (), (), queue=True),
    ChartSource("queues/pictures", "oborona_reader_waiting", ("task",), ("task",), "reader", queue=True),
    ChartSource("queues/recheck", "oborona_recheck_waiting", (), (), "recheck", queue=True),
    ChartSource("queues/events", "oborona_events_waiting", (), (), "trainer", queue=True),
    ChartSource(
        "queues/words", "oborona_model_words", ("state", "kind"), (), "trainer", "queued", queue=True
    ),
)  # fmt: skip
SCANS: Final = "scans"
SCAN_METRIC: Final = "oborona_scan_seconds"


def room_of(name: str) -> tuple[str, int]:
    """Return what a series shares room with, and how many series have room there."""
    group = name.partition("/")[0]
    return (parent_of(name) if group == DOMAINS else group), ROOM.get(group, OTHER_ROOM)


def parent_of(name: str) -> str:
    """Return a name without its last label."""
    return name.rpartition("/")[0]


def other_of(name: str) -> str:
    """Return the series in which one is summed that there is no room for."""
    return f"{parent_of(name)}/{OTHER}"


def series_name(*labels: str) -> str:
    """Return the name of a series; what would not be one label is made one."""
    return "/".join(_label(label) for label in labels)


def _label(label: str) -> str:
    if label.isalnum() and len(label) <= MOST_NAME:
        return label
    plain = "".join(letter if letter.isprintable() else "_" for letter in label[:MOST_NAME])
    return plain.replace("/", "_") or "_"


def counts_of(
    snapshot: MetricsSnapshot, process: str, steps: Mapping[str, tuple[float, ...]]
) -> dict[str, int]:
    """Return what a process has counted, by series.

    Args:
        snapshot: what it says.
        process: kind of process.
        steps: ends of each histogram's steps.
    """
    counts: dict[str, int] = {}
    for name, value in _values(snapshot, process, queues=False):
        counts[name] = counts.get(name, 0) + value
    told = next((counted for _, counted, _ in snapshot.histograms.get(SCAN_METRIC, ())), [])
    ends = steps.get(SCAN_METRIC, ())
    if len(told) == len(ends) + 1:  # else it is of another version
        for end, count in zip((*map(str, ends), BEYOND_STEPS), told, strict=True):
            if count:
                counts[series_name(SCANS, end)] = count
    return counts


def queues_of(snapshot: MetricsSnapshot, process: str) -> dict[str, int]:
    """Return how much waits, as a process says, by series."""
    queues: dict[str, int] = {}
    for name, value in _values(snapshot, process, queues=True):
        queues[name] = queues.get(name, 0) + value
    return queues


def _values(snapshot: MetricsSnapshot, process: str, *, queues: bool) -> Iterator[tuple[str, int]]:
    for source in SOURCES:
        if source.process != process or source.queue != queues:
            continue
        for labels, value in snapshot.values.get(source.metric, ()):
            if len(labels) != len(source.labels) or (source.only and labels[0] != source.only):
                continue
            named = dict(zip(source.labels, labels, strict=True))
            shown = [_label(named[label]) for label in source.shown]
            yield "/".join((source.group, *shown)), min(max(0, int(value)), MOST_COUNT)
