"""The largest inputs a parser can get, of shapes that cost the most: under 2 s of CPU and 300 MB each.

Whole messages lead to all parsers; those that are given largest inputs by other ways are tried by themselves. `large.py TARGET` tries any.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.watched import CPU_S, MEMORY


@pytest.mark.slow
@pytest.mark.parametrize("target", ["message", "picture"])
def test_no_shape_costs_too_much(target: str) -> None:
    found = costs(target)
    assert len(found) > 20
    dear = too_much(found)
    if dear:  # who shares a core with others takes more of its time
        dear = too_much(costs(target, *dear))
    assert not dear


def costs(target: str, *shapes: str) -> dict[str, tuple[float, int]]:
    """Return seconds of CPU and octets of memory by shape."""
    script = Path(__file__).with_name("large.py")
    bare = {
        name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")
    }  # it costs more than the parser
    ran = subprocess.run(
        [sys.executable, script, target, *shapes], capture_output=True, text=True, check=True, env=bare
    )
    return {name: (cpu, memory) for name, cpu, memory in map(json.loads, ran.stdout.splitlines())}


def too_much(found: dict[str, tuple[float, int]]) -> dict[str, tuple[float, int]]:
    return {name: cost for name, cost in found.items() if cost[0] > CPU_S or cost[1] > MEMORY}
