"""The table of docs/operate/sizing.md is what the documents' figures make."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import sizing
from benchmarks.sizing import (
    BUSY,
    CORES,
    SIZES,
    FigureMissingError,
    figures,
    reckon,
    tables,
)

PAGE = Path(__file__).resolve().parents[2] / "docs/operate/sizing.md"


def test_the_page_has_what_is_reckoned_from_today_s_figures() -> None:
    found = re.search(r"<!-- reckoned -->\n(.*?)\n<!-- /reckoned -->", PAGE.read_text(), re.DOTALL)
    assert found is not None
    assert found[1].strip() == tables(), "python benchmarks/sizing.py prints it anew"


def test_figures_are_those_of_the_documents() -> None:
    known = figures()
    lines = (sizing.ROOT / sizing.LEDGER).read_text().rstrip().splitlines()[-10:]
    ledger = [line.split("|") for line in lines]
    by_cost = sorted(float(cells[4].partition("(")[2].split()[0]) for cells in ledger)
    by_memory = sorted(float(cells[-3]) for cells in ledger)
    assert (known.cpu_least_ms, known.cpu_most_ms) == (by_cost[0], by_cost[-1])
    assert known.cpu_ms == sum(by_cost[4:6]) / 2
    assert known.pss_mb == sum(by_memory[4:6]) / 2
    assert f"{known.changes_s:g} to" in (sizing.ROOT / sizing.MACHINES).read_text()


def test_twice_the_mail_needs_twice_the_cores_and_any_machine_may_be_away() -> None:
    known = figures()
    one, two = reckon(50, known), reckon(100, known)
    assert two.cores == pytest.approx(2 * one.cores)
    for size in (reckon(millions, known) for millions in SIZES):
        assert size.cores <= (size.machines - 1) * CORES * BUSY
        assert size.writer < 1, "one process counts"
        assert size.keeper < 1


def test_a_figure_that_is_gone_is_missed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for page in (sizing.LEDGER, sizing.MACHINES, sizing.CLUSTER, sizing.SEARCH, sizing.JOURNALS):
        path = tmp_path / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((sizing.ROOT / page).read_text())
    monkeypatch.setattr(sizing, "ROOT", tmp_path)
    before = figures()
    assert reckon(1, before)
    text = (tmp_path / sizing.MACHINES).read_text()
    (tmp_path / sizing.MACHINES).write_text(text.replace("changes a second", "changes"))
    with pytest.raises(FigureMissingError, match=r"machines\.md"):
        figures()
