"""When a process is started again, and how its end is told."""

import os
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.errors import (
    ConfigError,
    OboronaError,
    PolicyError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreVersion,
)
from oborona.milter.child import exit_status
from oborona.milter.restart import (
    FIRST_DELAY_S,
    MAX_DELAY_S,
    STEADY_S,
    deaths_in_row,
    how_it_ended,
    restart_delay_s,
)


def test_delays_grow_to_their_limit() -> None:
    assert [restart_delay_s(deaths) for deaths in range(1, 11)] == [0, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]


@given(st.integers(min_value=0))
def test_no_count_gives_a_delay_out_of_range(deaths: int) -> None:
    delay = restart_delay_s(deaths)
    assert delay == 0 or FIRST_DELAY_S <= delay <= MAX_DELAY_S
    assert delay <= restart_delay_s(deaths + 1)


def test_only_a_life_of_a_minute_starts_the_count_again() -> None:
    assert deaths_in_row(0, 0.0) == 1
    assert deaths_in_row(5, STEADY_S - 0.001) == 6
    assert deaths_in_row(5, STEADY_S) == 1


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
def test_only_what_would_end_the_same_way_is_final(error: OboronaError, before: int, after: int) -> None:
    assert exit_status(error, served=False) == before
    assert exit_status(error, served=True) == after
