"""Numbers as people read them, and ramps between two lines."""

import pytest

from oborona.reputation.judgement.judge import ramp, steps
from oborona.reputation.judgement.phrases import percent, some, times


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (some(1, "traps"), "1 trap"),
        (some(0, "traps"), "0 traps"),
        (some(4000, "complaints"), "4,000 complaints"),
        (percent(0), "0 %"),
        (percent(0.001), "under 1 %"),
        (percent(0.967), "97 %"),
        (percent(0.9999), "over 99 %"),
        (percent(1), "100 %"),
        (times(1.26), "1.3 times"),
        (times(40.4), "40 times"),
        (times(12_345), "12,345 times"),
    ],
)
def test_words(said: str, expected: str) -> None:
    assert said == expected


def test_ramps_begin_and_end_where_they_say() -> None:
    assert [ramp(value, 1, 3) for value in (0, 1, 2, 3, 9)] == [0, 0, 0.5, 1, 1]
    assert [steps(value, 3, 48) for value in (0, 3, 12, 48, 1000)] == [0, 0, 0.5, 1, 1]
