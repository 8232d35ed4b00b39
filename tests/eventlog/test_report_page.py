"""`oborona eventlog report`: a page that is well-formed and fetches nothing, with the figures of
the object, whatever names strangers chose.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from oborona.eventlog.batch.store import DroppedFile, DropState, LogStore
from oborona.eventlog.batch.threshold_book import EventThreshold, ThresholdBook
from oborona.eventlog.report.figure_tables import figure_text
from oborona.eventlog.report.log_page import report_page
from oborona.eventlog.report.log_report import report_figures
from oborona.eventlog.report.span import MOST_PIECES
from oborona.page import Markup, element
from tests.eventlog.reported import (
    HOUR_S,
    NOON,
    NOW,
    checked,
    delivered,
    merged,
    passed,
    read_page,
)

HOSTILE = "\"></td><script>alert(1)</script><b onload='x'>&amp;]]>\x00\x1b[31m\u202e"
SHOWN = "\"></td><script>alert(1)</script><b onload='x'>&amp;]]>\ufffd\ufffd[31m\ufffd"
SHAPES = ("rect", "circle", "polyline")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LogStore]:
    with LogStore(tmp_path / "eventlog.db") as opened:
        yield opened


@pytest.fixture
def hostile(store: LogStore) -> LogStore:
    """A book in which everything that somebody chose is hostile."""
    fired = {HOSTILE: 3, f"{HOSTILE} (shadow)": 2, "x" * 5000: 1}
    with store.transaction():
        for place in range(1, 40):
            at = NOON - 600 * place
            checked(store, at, log=HOSTILE, fired=fired, marked=3, rows=9)
        names = [checked(store, NOON - 600 * place, rows=2000) for place in range(1, 1300)]
    merged(store, "30min", names[-5:], NOON)
    merged(store, "1d", names[-5:], NOON, repaired=["2025-11-23"])
    delivered(store, NOON - 300)
    for log in ("clicks", HOSTILE):
        delivered(store, NOON - 900, log=log, why=HOSTILE)
        file = DroppedFile(
            file=HOSTILE, size=1, changed=1, seen=NOON, name="", state=DropState.ASIDE, why=HOSTILE
        )
        store.note_file(log, file)
        ThresholdBook(store, log).renew(
            [
                EventThreshold(date=date, event=event, threshold=line, people=30, most=4.0)
                for event in ("", HOSTILE)
                for date, line in (("2025-11-21", 5.0), ("2025-11-22", 20.0))
            ]
        )
    passed(store, "2025-11-21", rows=1000, revised=5, persons=3)
    passed(store, "2025-11-22", rows=1000, why=HOSTILE)
    return store


def page_of(store: LogStore, path: Path, days: int = 30) -> tuple[ET.Element, dict[str, Any]]:
    """Return a page, read strictly, and the object of its figures."""
    figures = report_figures(
        store, store.logs(), {"clicks": HOSTILE}, days=days, now=NOW, late_s=HOUR_S
    )
    path.write_text(report_page(figures, NOW), "utf-8")
    return read_page(path), msgspec.to_builtins(figures)


def tables_of(section: ET.Element) -> dict[str, list[list[str]]]:
    """Return the tables of a part of a page, by caption: the cells of each row."""
    return {
        table.findtext("caption") or "": [
            [cell.text or "" for cell in row] for row in table.findall("tbody/tr")
        ]
        for table in section.iter("table")
    }


def told_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return figures of an object as a table has them."""
    return [
        [figure_text(name, value).replace(HOSTILE, SHOWN) for name, value in row.items()]
        for row in rows
    ]


def test_what_strangers_chose_is_text(hostile: LogStore, tmp_path: Path) -> None:
    tree, _ = page_of(hostile, tmp_path / "page.html")
    texts = list(tree.itertext())
    assert texts.count(SHOWN) > 10
    assert any(text.startswith(f"{SHOWN}: 117 (") for text in texts)
    assert f"It waits: {SHOWN}" in texts


def test_each_chart_has_the_figures_of_the_object(hostile: LogStore, tmp_path: Path) -> None:
    tree, told = page_of(hostile, tmp_path / "page.html")
    sections = list(tree.iter("section"))
    assert len(sections) == len(told["logs"]) == 2
    for section, log in zip(sections, told["logs"], strict=True):
        wanted = {
            "Delay of checks": log["delays"],
            "Time of batches": log["batches"],
            "Delay of merges into 30min": log["merges"]["30min"],
            "Delay of merges into 1d": log["merges"]["1d"],
            "Rows of tables, and the share of marked ones": log["rows"],
            "Marked rows by rule": log["rules"],
            "Rows by hour": log["hours"],
            "Thresholds": log["thresholds"],
            "Passes over days": log["passes"],
            "Tables that wait for their check": log["waiting"],
            "Set aside": log["aside"],
        }
        shown = {name: told_rows(rows) for name, rows in wanted.items() if rows}
        assert tables_of(section) == shown
    clicks = next(log for log in told["logs"] if log["log"] == "clicks")
    assert all(clicks[name] for name in ("delays", "hours", "thresholds", "passes", "waiting"))
    (glance,) = (rows for name, rows in tables_of(tree).items() if name == "All of the time")
    assert glance == [
        [log["log"].replace(HOSTILE, SHOWN), *told_rows([log["totals"]])[0]] for log in told["logs"]
    ]


def test_what_needs_a_look_has_a_mark(hostile: LogStore, tmp_path: Path) -> None:
    tree, told = page_of(hostile, tmp_path / "page.html")
    clicks = next(place for place, log in enumerate(told["logs"]) if log["log"] == "clicks")
    section = tree.find(f".//section[@id='log-{clicks}']")
    assert section is not None
    marked = {
        block.findtext("h3"): len(block.findall(".//path[@class='odd']"))
        for block in section.iter("div")
        if block.find("h3") is not None
    }
    assert marked["Passes over days"] == 1
    assert marked["Delay of merges into 1d"] == 1
    assert marked["Thresholds"] == 2
    assert marked["Delay of checks"] == 0


@pytest.mark.parametrize("days", [1, 30, 365, 3660])
def test_charts_have_few_bars_however_long(store: LogStore, tmp_path: Path, days: int) -> None:
    with store.transaction():
        for place in range(1, 3000):
            checked(store, NOON - place * days * 28)
    tree, _ = page_of(store, tmp_path / "page.html", days)
    for picture in tree.iter("svg"):
        for shape in SHAPES:
            assert len(list(picture.iter(shape))) <= MOST_PIECES + 1
    assert_inside(tree)


def test_a_log_of_one_table_and_one_of_none(store: LogStore, tmp_path: Path) -> None:
    checked(store, NOON, rows=0)
    tree, _ = page_of(store, tmp_path / "page.html")
    assert_inside(tree)
    assert len(list(tree.iter("svg"))) == 4
    figures = report_figures(store, ["new"], {}, days=1, now=NOW, late_s=90.0)
    (tmp_path / "new.html").write_text(report_page(figures, NOW))
    texts = list(read_page(tmp_path / "new.html").itertext())
    assert texts.count("Nothing in this time.") == 9
    figures = report_figures(store, [], {}, days=1, now=NOW, late_s=90.0)
    (tmp_path / "none.html").write_text(report_page(figures, NOW))
    assert "There is no log yet." in list(read_page(tmp_path / "none.html").itertext())


def assert_inside(tree: ET.Element) -> None:
    """Nothing of a chart stands outside of it."""
    for picture in tree.iter("svg"):
        wide, high = (float(side) for side in (picture.get("viewBox") or "").split()[2:])
        for box in picture.iter("rect"):
            left, top, box_wide, box_high = (
                float(box.get(name, "")) for name in ("x", "y", "width", "height")
            )
            assert box_high >= 0
            assert left >= 0
            assert left + box_wide <= wide
            assert top >= 0
            assert top + box_high <= high


def test_text_in_an_element_is_escaped_whatever_it_is() -> None:
    assert element("p", {"title": '"<'}, "<&\ud800\x00", Markup("<b>")) == (
        '<p title="&quot;&lt;">&lt;&amp;\ufffd\ufffd<b></p>'
    )
    assert element("br") == "<br/>"
    assert element("td") == "<td></td>"
