"""Metrics: each is declared once, with its help, at the top of the module that counts it.

    TRAPS: Final = Counter("oborona_traps", "Messages to traps by outcome.", ("outcome",))
    TRAPS.inc("new")

A process counts in its own memory and writes a `MetricsSnapshot` every few seconds.
`oborona metrics` puts those of all processes together (`oborona.telemetry.metrics`).  The number of
labels is checked by mypy, not at run time.  Why this is not prometheus_client's registry:
docs/adr/0054.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import ClassVar, Final, Generic, TypeVarTuple, cast

import msgspec

Labels = tuple[str, ...]
"""The values of a metric's labels, in the order of its declaration."""
Value = int | float  # msgspec would make 3 of JSON a 3.0 of a bare `float`

Ls = TypeVarTuple("Ls")


class MetricsSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What a process has counted since it began."""

    values: dict[str, list[tuple[Labels, Value]]] = {}  # by metric
    # by metric: labels, observations in each step, and the sum of all
    histograms: dict[str, list[tuple[Labels, list[int], Value]]] = {}


class MetricFamily(ABC):
    """One metric.

    Args:
        name: without `_total`, which Prometheus adds to counters.
        help: one line for people.
        labels: names of its labels.
        registry: knows it from now on.

    Raises:
        ValueError: the registry has one of this name.
    """

    kind: ClassVar[str]

    def __init__(self, name: str, help: str, labels: Labels, registry: MetricRegistry) -> None:  # noqa: A002 - the field's word
        self.name: Final = name
        self.help: Final = help
        self.labels: Final = labels
        registry.add(self)

    @abstractmethod
    def begin(self) -> None:
        """Forget what was counted."""

    @abstractmethod
    def write(self, snapshot: MetricsSnapshot) -> None:
        """Write what was counted into a snapshot that is being made."""


class MetricRegistry:
    """The metrics of a process, in the order of their declaration."""

    def __init__(self) -> None:
        self.families: dict[str, MetricFamily] = {}

    def add(self, family: MetricFamily) -> None:
        """Take a metric.

        Raises:
            ValueError: there is one of this name.
        """
        if self.families.setdefault(family.name, family) is not family:
            raise ValueError(f"{family.name} is declared twice")

    def begin(self) -> None:
        """Begin at zero, as a process that was just forked does."""
        for family in self.families.values():
            family.begin()

    def snapshot(self) -> MetricsSnapshot:
        """Return what was counted; threads may count meanwhile."""
        snapshot = MetricsSnapshot(values={}, histograms={})
        for family in self.families.values():
            family.write(snapshot)
        return snapshot


REGISTRY: Final = MetricRegistry()
"""Of this process."""


class _Values(MetricFamily, Generic[*Ls]):
    """A metric with one value for each combination of labels; one without labels begins at 0."""

    def __init__(
        self,
        name: str,
        help: str,  # noqa: A002 - the field's word
        labels: tuple[*Ls],
        registry: MetricRegistry = REGISTRY,
    ) -> None:
        super().__init__(name, help, cast("Labels", labels), registry)
        self._values: dict[tuple[*Ls], Value] = {}
        self._function: Callable[[], Mapping[tuple[*Ls], Value]] | None = None
        self.begin()

    def begin(self) -> None:
        self._function = None
        self._values.clear()
        if not self.labels:
            cast("dict[Labels, Value]", self._values)[()] = 0

    def set_function(self, function: Callable[[], Mapping[tuple[*Ls], Value]]) -> None:
        """Have the values told by a function, which is called for each snapshot.

        Args:
            function: returns all values by their labels; for what a part keeps anyway.
        """
        self._function = function

    def replace(self, values: Mapping[tuple[*Ls], Value]) -> None:
        """Replace all values; those of a counter where others count."""
        self._values = dict(values)

    @property
    def values(self) -> dict[tuple[*Ls], Value]:
        """The values of this process, by labels."""
        return dict(self._values if self._function is None else self._function())

    def value(self, *labels: *Ls) -> Value:
        """Return a value of this process; 0 where nothing was counted."""
        return self.values.get(labels, 0)

    def write(self, snapshot: MetricsSnapshot) -> None:
        values = cast("dict[Labels, Value]", self.values)
        if values:  # JSON has a word for True
            snapshot.values[self.name] = sorted(
                (labels, value + 0) for labels, value in values.items()
            )

    def samples(self, snapshot: MetricsSnapshot) -> dict[tuple[*Ls], Value]:
        """Return the values in the snapshot of a process, by labels."""
        return cast("dict[tuple[*Ls], Value]", dict(snapshot.values.get(self.name, ())))

    def of(self, snapshot: MetricsSnapshot, *labels: *Ls) -> Value:
        """Return a value in the snapshot of a process; 0 where it is not there."""
        return self.samples(snapshot).get(labels, 0)


class Counter(_Values[*Ls]):
    """A number that only grows while its process lives."""

    kind = "counter"

    def inc(self, *labels: *Ls, by: Value = 1) -> None:
        """Add to the value of some labels."""
        values = self._values
        values[labels] = values.get(labels, 0) + by


class Gauge(_Values[*Ls]):
    """A number of now."""

    kind = "gauge"

    def set(self, value: Value, *labels: *Ls) -> None:
        """Replace the value of some labels."""
        self._values[labels] = value


class Histogram(MetricFamily, Generic[*Ls]):
    """How many observations fell into each step, for each combination of labels; one without labels
    begins at none.

    Args:
        name: of the metric.
        help: one line for people.
        labels: names of its labels.
        steps: upper ends, growing; one without an end follows them.
        registry: knows it from now on.
    """

    kind = "histogram"

    def __init__(
        self,
        name: str,
        help: str,  # noqa: A002 - the field's word
        labels: tuple[*Ls],
        steps: tuple[float, ...],
        registry: MetricRegistry = REGISTRY,
    ) -> None:
        super().__init__(name, help, cast("Labels", labels), registry)
        self.steps: Final = steps
        self._observed: dict[tuple[*Ls], list[int]] = {}
        self._sums: dict[tuple[*Ls], Value] = {}
        self.begin()

    def begin(self) -> None:
        self._observed.clear()
        self._sums.clear()
        if not self.labels:
            self._add_series(cast("tuple[*Ls]", ()))

    def _add_series(self, labels: tuple[*Ls]) -> list[int]:
        self._sums[labels] = 0
        self._observed[labels] = counts = [0] * (len(self.steps) + 1)
        return counts

    def observe(self, value: float, *labels: *Ls) -> None:
        """Count an observation in the first step that is not below it."""
        counts = self._observed.get(labels) or self._add_series(labels)
        counts[bisect_left(self.steps, value)] += 1
        self._sums[labels] += value

    def write(self, snapshot: MetricsSnapshot) -> None:
        observed = cast("dict[Labels, list[int]]", self._observed)
        sums = cast("dict[Labels, Value]", self._sums)
        if observed:
            snapshot.histograms[self.name] = sorted(
                (labels, list(counts), sums[labels]) for labels, counts in observed.copy().items()
            )
