"""Excesses of one account, limit and metric that follow one another within the window of the first:
one incident has them all, so they are judged together.

Who sends ten messages a second over a limit is ten excesses a second, and one write in each batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oborona.accounts.excess import WINDOWS_S, Excess


class ExcessRun:
    """Some of them.

    Attributes:
        first: that came; it has the evidence.
        times: how many they are.
        last: Unix seconds, of the latest.
        value: the largest.
    """

    def __init__(self, first: Excess) -> None:
        self.first = first
        self.times = 1
        self.last = first.at
        self.value = first.value

    def has(self, excess: Excess) -> bool:
        """Whether an excess of the same account, limit and metric belongs to it."""
        same = excess.window == self.first.window
        return same and abs(excess.at - self.first.at) <= WINDOWS_S[excess.window]

    def add(self, excess: Excess) -> None:
        """Take one in."""
        self.times += 1
        self.last = max(self.last, excess.at)
        self.value = max(self.value, excess.value)


class ExcessRuns:
    """Runs in the order in which they began.

    Args:
        excesses: in the order in which they came, each as of `check_excess`.
    """

    def __init__(self, excesses: Iterable[Excess] = ()) -> None:
        self._runs: list[ExcessRun] = []
        self._latest: dict[tuple[str, ...], ExcessRun] = {}
        for excess in excesses:
            self.add(excess)

    def __iter__(self) -> Iterator[ExcessRun]:
        return iter(self._runs)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._runs)

    def add(self, excess: Excess) -> None:
        """Take one more."""
        key = excess.account.lower(), excess.limit, excess.metric
        run = self._latest.get(key)
        if run is not None and run.has(excess):
            run.add(excess)
        else:
            self._latest[key] = run = ExcessRun(excess)
            self._runs.append(run)
