"""The order of a run: tests that boot machines, minutes each, are spread over it.

Left where their names put them they are one process's, one after the other, and the others have
long ended when it is still at them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import groupby
from typing import Final

import pytest

LONG: Final = "tests/boot/"
# their machine is that of all tests of a file, or of a run
TOGETHER: Final = ("tests/boot/test_exim_day.py", "tests/boot/test_package.py")


def spread(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the same tests, the long ones at even distances between the files of the others."""
    rest = [item for item in items if not item.nodeid.startswith(LONG)]
    groups = [
        list(some)
        for _, some in groupby((item for item in items if item.nodeid.startswith(LONG)), _group)
    ]
    bounds = [
        place for place in range(1, len(rest)) if _file(rest[place]) != _file(rest[place - 1])
    ]
    places = [0, *bounds, len(rest)]
    ordered = list[pytest.Item]()
    begin = 0
    for number, group in enumerate(groups):
        end = places[bisect_left(places, len(rest) * number // len(groups))]
        ordered += rest[begin:end]
        ordered += group
        begin = end
    return ordered + rest[begin:]


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _group(item: pytest.Item) -> str:
    name = _file(item)
    return name if name in TOGETHER else item.nodeid
