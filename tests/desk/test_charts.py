"""Charts as they are asked for, and as `oborona chart` prints them."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from oborona import state_files
from oborona.cli import main
from oborona.desk.asks.charts import (
    ChartKind,
    ChartQuestion,
    SeriesQuestion,
    list_series,
    read_charts,
)
from oborona.desk.call import CALLS, CallError
from oborona.errors import StoreAbsent, StoreError
from oborona.people.rights import Right
from oborona.stores.charts.reader import ChartStep
from tests.desk.desk_site import CALLER, DeskSite, draw

COUNTS = {"verdicts/content/accept": 40, "verdicts/content/spam": 2, "rules/live/MASS_TEXT": 7}


@pytest.fixture
def site(tmp_path: Path) -> DeskSite:
    draw(tmp_path, COUNTS, events=3)
    return DeskSite(tmp_path)


def chart(state: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["--state", str(state), "chart", *words])


def test_a_group_and_a_name_can_be_asked_for(site: DeskSite) -> None:
    asked = ChartQuestion(series=["verdicts", "rules/live/MASS_TEXT", "rules/live/MASS", "no"])
    found = read_charts(site, CALLER, asked)
    assert {line.name: line.total for line in found.series} == COUNTS
    assert found.unknown == ["rules/live/MASS", "no"]
    assert (found.step, found.times) in ((600, 144), (600, 145))
    assert all(len(line.values) == found.times for line in found.series)
    assert found.first % 600 == 0
    assert found.first + found.times * 600 >= time.time() - 1


def test_what_waits_is_not_known_where_nobody_looked(site: DeskSite) -> None:
    (line,) = read_charts(site, CALLER, ChartQuestion(series=["queues"])).series
    assert (line.kind, line.total) == (ChartKind.MOST, 3)
    assert {value for value in line.values if value is not None} == {3}
    assert line.values[0] is None


def test_days_are_of_utc(site: DeskSite) -> None:
    found = read_charts(site, CALLER, ChartQuestion(series=["verdicts"], step=ChartStep.DAY))
    assert found.step == 86_400
    assert found.first % 86_400 == 0
    assert 30 <= found.times <= 31
    assert found.begins is not None
    assert found.begins <= time.time()


@pytest.mark.parametrize(
    "asked",
    [
        ChartQuestion(series=[]),
        ChartQuestion(series=["a"] * 1000),
        ChartQuestion(series=["a"], since=5.0, until=5.0),
        ChartQuestion(series=["a"], since=-5.0),
        ChartQuestion(series=["a"], until=float("inf")),
        ChartQuestion(series=["a"], since=float("nan"), until=9.0),
        ChartQuestion(series=["verdicts"], since=1.0, until=2e9),
    ],
)
def test_what_is_no_question_is_told(site: DeskSite, asked: ChartQuestion) -> None:
    with pytest.raises(CallError):
        read_charts(site, CALLER, asked)


@pytest.mark.parametrize("name", ["%", "_", "'", "/", "", "\0", "\ud800", "x" * 10_000, "rules/%"])
def test_hostile_names_find_nothing_of_others(site: DeskSite, name: str) -> None:
    found = read_charts(
        site, CALLER, ChartQuestion(series=[name.encode("utf-8", "replace").decode()])
    )
    assert found.series == []


def test_the_series_that_there_are_are_listed(site: DeskSite) -> None:
    listed = list_series(site, CALLER, SeriesQuestion())
    assert [one.name for one in listed.series] == sorted([*COUNTS, "queues/events"])
    assert listed.summed == []
    assert [one.name for one in list_series(site, CALLER, SeriesQuestion(prefix="rules/")).series] == ["rules/live/MASS_TEXT"]  # fmt: skip


def test_a_site_without_charts_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreAbsent, match="no charts yet"):
        read_charts(DeskSite(tmp_path), CALLER, ChartQuestion(series=["a"]))
    told = chart(tmp_path, "verdicts")
    assert told.exit_code != 0
    assert "no charts yet" in told.stderr


def test_a_damaged_file_is_told(site: DeskSite) -> None:
    (site.state / state_files.CHARTS).write_bytes(b"no charts" * 1000)
    with pytest.raises(StoreError, match="is damaged"):
        read_charts(site, CALLER, ChartQuestion(series=["a"]))


def test_both_asks_need_the_right_to_see_the_status() -> None:
    import oborona.desk.calls  # noqa: F401

    for name in ("charts.read", "charts.series", "status.read", "overview.read"):
        assert CALLS[name].needs == (Right.STATUS,)
        assert not CALLS[name].acts


def test_bars_are_printed_the_largest_first(site: DeskSite) -> None:
    told = chart(site.state, "verdicts", "no/such")
    assert told.exit_code == 0, told.output
    first, *lines = told.stdout.splitlines()
    assert first.endswith((" UTC, 20 minutes a bar", " UTC, 30 minutes a bar"))
    assert [line.split()[0] for line in lines[:2]] == [
        "verdicts/content/accept", "verdicts/content/spam",
    ]  # fmt: skip
    assert lines[0].rstrip().endswith("40 ^40")
    assert lines[2] == "there is no series no/such"
    assert max(map(len, lines)) <= 140


def test_the_names_are_printed(site: DeskSite) -> None:
    assert chart(site.state).stdout.splitlines() == sorted([*COUNTS, "queues/events"])


def test_json_is_the_answer(site: DeskSite) -> None:
    told = msgspec.json.decode(chart(site.state, "rules", "--since", "7d", "--json").stdout)
    assert told["step"] == 86_400
    assert told["series"][0]["total"] == 7
    told = msgspec.json.decode(chart(site.state, "--json").stdout)
    assert len(told["series"]) == 4


def test_nothing_that_fits_is_exit_status_1(site: DeskSite) -> None:
    assert chart(site.state, "no").exit_code == 1
    assert chart(site.state, "verdicts", "--since", "nonsense").exit_code == 2
    assert chart(site.state, "verdicts", "--step", "5m").exit_code == 2
