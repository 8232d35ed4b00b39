"""When a process is started again, and how its end is told."""

import math
import os
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from oborona.daemon.child import READY, ProcessJob, exit_status
from oborona.daemon.restart import (
    ALONE_S,
    FIRST_DELAY_S,
    MAX_DELAY_S,
    PACE_S,
    fruitless_in_row,
    how_it_ended,
    restart_delay_s,
)
from oborona.daemon.supervised_process import SupervisedProcess
from oborona.errors import (
    ConfigError,
    OboronaError,
    PolicyError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreVersion,
)


def test_delays_of_who_never_served_grow_to_their_limit() -> None:
    delays = [restart_delay_s(deaths, 0.2, alone=False) for deaths in range(1, 11)]
    assert delays == [0, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]


@given(st.integers(min_value=1), st.floats(0, 1e9))
def test_no_count_gives_a_delay_out_of_range(deaths: int, lived_s: float) -> None:
    delay = restart_delay_s(deaths, lived_s, alone=False)
    assert delay == 0 or FIRST_DELAY_S <= delay <= MAX_DELAY_S
    assert delay <= restart_delay_s(deaths + 1, lived_s, alone=False)
    assert restart_delay_s(deaths, lived_s, alone=True) == min(delay, ALONE_S)


@given(st.integers(0, 100), st.floats(0, 1e9), st.booleans())
def test_who_served_is_not_held_back(before: int, lived_s: float, alone: bool) -> None:
    fruitless = fruitless_in_row(before, served=True)
    assert restart_delay_s(fruitless, lived_s, alone=alone) == max(0, PACE_S - lived_s)


def test_only_a_life_of_use_ends_the_count() -> None:
    assert fruitless_in_row(5, served=False) == 6
    assert fruitless_in_row(5, served=True) == 0


class Site(RuleBasedStateMachine):
    """Workers that start, serve and die as chance will have it, restarted by the law.

    Time goes on in steps.

    Invariant: while nobody serves, whoever does not run is due within `ALONE_S` of the last death,
    so that the site is never without a worker that is being started for longer than that; and
    nobody is started oftener than the law allows.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.last_death = self.now
        self.workers: list[SupervisedProcess] = []

    @initialize(number=st.integers(1, 4))
    def begin(self, number: int) -> None:
        for each in range(number):
            job = ProcessJob(name=f"worker-{each}", run=lambda _ready: 0)
            self.workers.append(SupervisedProcess(job=job))
        self.pass_on(0.0)

    def pass_on(self, seconds: float) -> None:
        """Let time go by, and start who is due, as the supervisor does."""
        until = self.now + seconds
        while True:
            idle = [worker for worker in self.workers if not worker.pid]
            first = min(
                ((self.due(worker), index) for index, worker in enumerate(idle)), default=None
            )
            if first is None or first[0] > until:
                break
            self.now = max(self.now, first[0])
            worker = idle[first[1]]
            worker.begins(1.0, self.now)
            worker.pid = 1
        self.now = until

    def due(self, worker: SupervisedProcess) -> float:
        return worker.due(alone=not any(one.serves for one in self.workers))

    @rule(seconds=st.floats(0, 100))
    def wait(self, seconds: float) -> None:
        self.pass_on(seconds)

    @rule(which=st.integers(0, 3))
    def serves(self, which: int) -> None:
        worker = self.workers[which % len(self.workers)]
        if worker.pid:
            worker.heard = READY

    @rule(which=st.integers(0, 3))
    def dies(self, which: int) -> None:
        worker = self.workers[which % len(self.workers)]
        if worker.pid:
            worker.ends(self.now)
            self.last_death = self.now
            self.pass_on(0.0)

    @invariant()
    def somebody_is_being_started(self) -> None:
        if any(worker.pid for worker in self.workers) or not self.workers:
            return
        assert self.now <= self.last_death + ALONE_S
        assert min(map(self.due, self.workers)) <= self.last_death + ALONE_S

    @invariant()
    def nobody_waits_longer_than_a_mail_server(self) -> None:
        for worker in self.workers:
            if not worker.pid and worker.ended > -math.inf:
                assert self.due(worker) - worker.ended <= MAX_DELAY_S


TestSite = Site.TestCase
TestSite.settings = settings(max_examples=150, stateful_step_count=40)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "exited with status 0"),
        (78 << 8, "exited with status 78"),
        (signal.SIGKILL, "was killed by SIGKILL"),
        (signal.SIGSEGV | 0x80, "was killed by SIGSEGV, core dumped"),
        (signal.SIGRTMIN + 1, f"was killed by signal {signal.SIGRTMIN + 1}"),
    ],
)
def test_an_end_in_words(status: int, words: str) -> None:
    assert how_it_ended(status) == words


@pytest.mark.parametrize(
    ("error", "before", "after"),
    [
        (StoreBusy(""), os.EX_CONFIG, os.EX_CONFIG),
        (StoreVersion(""), os.EX_CONFIG, os.EX_CONFIG),
        (ConfigError(""), os.EX_CONFIG, os.EX_TEMPFAIL),
        (PolicyError(""), os.EX_CONFIG, os.EX_TEMPFAIL),
        (StoreFull(""), os.EX_TEMPFAIL, os.EX_TEMPFAIL),
        (StoreError(""), os.EX_TEMPFAIL, os.EX_TEMPFAIL),
    ],
)
def test_only_what_would_end_the_same_way_is_final(
    error: OboronaError, before: int, after: int
) -> None:
    assert exit_status(error, served=False) == before
    assert exit_status(error, served=True) == after
