"""Pages of a data file, made wrong as a disk may do it; of LMDB's data format 1."""

from __future__ import annotations

import sys
from pathlib import Path

PAGE = 4096
FLAGS, LOWER = slice(10, 12), slice(12, 14)  # in the header of a page
BRANCH = 1
# where the keys end on a page that has one; LMDB ends the process over a branch with one
ONE_KEY = 18


def break_branches(path: Path) -> None:
    """Leave one key on each branch of a file; the file stays the same, and is not cut meanwhile."""
    broken = 0
    with path.open("r+b") as file:
        pages = bytearray(file.read())
        for at in range(2 * PAGE, len(pages), PAGE):
            page = memoryview(pages)[at : at + PAGE]
            if int.from_bytes(page[FLAGS], sys.byteorder) == BRANCH:
                page[LOWER] = ONE_KEY.to_bytes(2, sys.byteorder)
                broken += 1
        file.seek(0)
        file.write(pages)
    assert broken, "it has no branch"
