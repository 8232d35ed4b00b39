"""The arithmetic of docs/measured/scaling.md holds at a thousandth of ten million shingles a day,
through a real store for 17 days.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scaling import GROWN, Ranks, need, run
from oborona.counters.window import BUCKETS_A_DAY

A_DAY = 10_000
TABLE_BYTES = 1 << 16  # keeps a singleton for two and a half days


def test_records_bytes_and_spools_are_as_computed(tmp_path: Path) -> None:
    said = need(A_DAY, flushes_a_day=BUCKETS_A_DAY, page_fill=GROWN)
    there, sightings = run(tmp_path / "all", A_DAY, 0)
    assert there.records == pytest.approx(said.records, rel=0.03)
    assert there.bytes_a_record == pytest.approx(said.bytes_a_record, rel=0.1)
    assert there.spool_bytes_a_day == pytest.approx(said.spool_bytes_a_day, rel=0.1)

    door = need(A_DAY, flushes_a_day=BUCKETS_A_DAY, table_bytes=TABLE_BYTES, page_fill=GROWN)
    kept, _ = run(tmp_path / "door", A_DAY, TABLE_BYTES, exact=sightings)
    assert kept.records == pytest.approx(door.records, rel=0.2)
    assert kept.records * kept.bytes_a_record == pytest.approx(
        door.records * door.bytes_a_record, rel=0.25
    )
    assert kept.lost == pytest.approx(door.lost, abs=0.05)
    assert 20 * kept.records < there.records


@pytest.mark.parametrize("a_day", [100, 10_000, 1e9])
def test_all_ranks_together_are_the_known_share_of_a_day(a_day: float) -> None:
    ranks = Ranks(a_day)
    assert ranks.sum(ranks.hits_a_day) == pytest.approx(0.4 * a_day, rel=1e-3)
    assert ranks.sum(ranks.hits_a_day**0) == pytest.approx(9 * a_day, rel=1e-3)


def test_a_larger_table_loses_less_and_keeps_more() -> None:
    tables = [
        need(1e7, flushes_a_day=864_000, table_bytes=mib << 20) for mib in (1, 16, 64, 256, 512)
    ]
    assert [one.lost for one in tables] == sorted((one.lost for one in tables), reverse=True)
    assert [one.records for one in tables] == sorted(one.records for one in tables)
    assert tables[-1].lost == 0  # a singleton stays for the fortnight
