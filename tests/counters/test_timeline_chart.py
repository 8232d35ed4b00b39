"""The time-line in a terminal."""

from __future__ import annotations

import re

import pytest

from oborona.counters.timeline_chart import number, picture
from oborona.counters.window import Timeline

NOON = 20_000 * 86_400 + 43_200.0
EMPTY = [0] * 6


def line(buckets: dict[int, int], days: dict[int, int], metric: int = 0) -> Timeline:
    def row(amount: int) -> list[int]:
        return [amount if place == metric else 0 for place in range(6)]

    return Timeline(
        buckets=[row(buckets.get(place, 0)) for place in range(144)],
        days=[row(days.get(place, 0)) for place in range(14)],
    )


def test_the_picture_of_a_burst() -> None:
    shown = picture(line({143: 8, 142: 4, 71: 1}, {13: 13, 0: 1}), NOON, "8:00ab", width=200)
    assert shown == (
        "8:00ab\n\n"
        "day to 2024-10-04 12:10 UTC, 10 minutes a bar\n"
        f"seen       {' ' * 71}▁{' ' * 70}▄█      13 ^8\n"
        f"           12:10{' ' * 134}12:10\n\n"
        "14 days to 2024-10-04\n"
        f"seen       ▁▁▁▁{' ' * 48}████      14 ^13\n"
        f"           21 Sep{' ' * 44}04 Oct\n"
    )


def test_metrics_that_counted_nothing_have_no_line() -> None:
    shown = picture(line({0: 1}, {0: 1}, metric=5), NOON, "")
    assert re.findall(r"^(\w+) .*\^", shown, re.MULTILINE) == ["traps", "traps"]
    assert picture(line({}, {}), NOON, "").count("nothing") == 2


@pytest.mark.parametrize("width", [60, 61, 80, 100, 143, 144, 200, 500])
def test_no_line_is_wider_than_asked_and_totals_stay_true(width: int) -> None:
    full = Timeline(buckets=[[2**62, 10, 0, 0, 0, 1]] * 144, days=[[2**63 - 1] * 6] * 14)
    shown = picture(full, NOON, "x" * 1000, width=width)
    assert max(map(len, shown.splitlines())) <= width
    assert "1440 ^" in shown
    assert "144 ^" in shown


def test_what_is_not_zero_is_seen_beside_a_peak() -> None:
    shown = picture(line({0: 1, 143: 10**9}, {13: 1}), NOON, "", width=200)
    assert "seen       ▁" in shown


def test_a_title_cannot_drive_the_terminal() -> None:
    assert picture(line({}, {}), NOON, "a\x1b[31m\nb\x07").splitlines()[0] == "a?[31m?b?"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999_999, "999999"),
        (1_000_000, "1.0 M"),
        (12_345_678_901, "12.3 G"),
        (2**63 - 1, "9.2 E"),
    ],
)
def test_numbers_are_exact_below_a_million(count: int, text: str) -> None:
    assert number(count) == text


def test_a_terminal_too_narrow_or_a_broken_line_is_refused() -> None:
    with pytest.raises(ValueError, match="60 columns"):
        picture(line({}, {}), NOON, "", width=59)
    with pytest.raises(ValueError, match="144 buckets"):
        picture(Timeline(buckets=[EMPTY], days=[EMPTY] * 14), NOON, "")
