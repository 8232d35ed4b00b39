"""Checks a log again and again, killed at another step each time:
`checking_program.py DELIVERED WORK [STEP...]`.

DELIVERED is a state folder with tables that are not checked. Each child checks a copy of it in
WORK/STEP, kills itself at that step (all of them, where none is named), and another one goes on;
WORK/0 is checked undisturbed. A step is each time at which something is about to be on the disk,
and just after: a file that takes its name, a transaction of the store. It prints how many there
are. Children are forked by a process that has imported all and opened nothing.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oborona.eventlog.batch import run
from oborona.eventlog.batch.store import LogStore
from tests.eventlog.worlds import opened_log

MOST = 3  # tables of a batch
STEPS: tuple[tuple[Any, str], ...] = (
    (run, "write_table"),
    (run, "write_checked"),
    *((LogStore, name) for name in ("begin", "remember", "finish")),
)


class StepKiller:
    """Counts steps, and kills the process at one of them."""

    def __init__(self, at: int) -> None:
        self.passed = 0
        self._at = at

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function with a step before it and one after."""

        def stepped(*given: Any, **named: Any) -> Any:
            self.step()
            result = function(*given, **named)
            self.step()
            return result

        return stepped

    def step(self) -> None:
        """Take a step."""
        self.passed += 1
        if self.passed == self._at:
            os.kill(os.getpid(), signal.SIGKILL)


def check(state: Path, at: int) -> int:
    """Check all that is due in a child; return its wait status."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    killer = StepKiller(at)
    for owner, name in STEPS:
        setattr(owner, name, killer.around(getattr(owner, name)))
    with opened_log(state, most=MOST) as log:
        log.check()
    (state / "steps").write_text(str(killer.passed))
    os._exit(0)


def main(delivered: Path, work: Path, steps: list[int]) -> None:
    """Check without kills, and with one at each step."""
    shutil.copytree(delivered, work / "0")
    assert check(work / "0", 0) == 0
    number = int((work / "0" / "steps").read_text())
    for step in steps or range(1, number + 1):
        state = work / str(step)
        shutil.copytree(delivered, state)
        assert os.WTERMSIG(check(state, step)) == signal.SIGKILL, step
        assert check(state, 0) == 0, step
    print(number)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), list(map(int, sys.argv[3:])))
