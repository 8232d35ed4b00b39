"""Two runs of the comparator over the same state write the same."""

from pathlib import Path

from tests.whole.verdicts import written


async def test_the_same_state_writes_the_same_verdicts(tmp_path: Path) -> None:
    for name in ("one", "other"):
        assert await written(tmp_path / name, 12) == 12
    first = (tmp_path / "one").read_text()
    assert first == (tmp_path / "other").read_text()
    assert first.count("\nINFO verdict ") == first.count("\nkeeper ") == 12
