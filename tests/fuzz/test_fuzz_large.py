"""The largest inputs a parser can get, of shapes that cost the most: under 2 s of CPU and 300 MB
each, on a machine that is not slow just then.

Whole messages lead to all parsers; those that are given largest inputs by other ways are tried by
themselves. `large.py TARGET` tries any.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from tests.fuzz.watched import CPU_S, MEMORY

# CPU of `slowness`' work on a machine of the speed that the bound is meant for
USUAL_S: Final = 0.12


@pytest.mark.slow
@pytest.mark.parametrize("target", ["message", "picture"])
def test_no_shape_costs_too_much(target: str) -> None:
    found = costs(target)
    assert len(found) > 20
    dear = too_much(found, 1.0)
    # who shares a core with others takes more of its time; what explodes takes more than any
    # neighbour costs
    if dear:
        before = slowness()
        again = costs(target, *dear)
        dear = too_much(again, max(before, slowness()))
    assert not dear


def costs(target: str, *shapes: str) -> dict[str, tuple[float, int]]:
    """Return seconds of CPU and octets of memory by shape."""
    script = Path(__file__).with_name("large.py")
    bare = {
        name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")
    }  # it costs more than the parser
    ran = subprocess.run(
        [sys.executable, script, target, *shapes],
        capture_output=True,
        text=True,
        check=True,
        env=bare,
    )
    return {name: (cpu, memory) for name, cpu, memory in map(json.loads, ran.stdout.splitlines())}


def slowness() -> float:
    """Return how many times as long as usual this machine takes for some work of its processor, 1
    or more.
    """
    began = time.process_time()
    sum(number * number for number in range(2_000_000))
    return max(1.0, (time.process_time() - began) / USUAL_S)


def too_much(found: dict[str, tuple[float, int]], slow: float) -> dict[str, tuple[float, int]]:
    return {
        name: cost for name, cost in found.items() if cost[0] > CPU_S * slow or cost[1] > MEMORY
    }
