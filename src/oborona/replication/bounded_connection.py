"""A connection to PostgreSQL that waits for an answer for so long, and not without end.

psycopg waits as long as the connection is there. It is there while PostgreSQL stands still (its
disk hangs, it was stopped), and while a commit waits for a standby that is gone.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, Final, TypeVar

import psycopg

ANSWER_S: Final = 12.0
"""That nothing may come for: more than a statement may take (`log.STATEMENT_S`)."""

_Answer = TypeVar("_Answer")


class BoundedConnection(psycopg.Connection[Any]):
    """A connection whose methods raise `psycopg.OperationalError` once PostgreSQL has said nothing
    for `ANSWER_S`. What was asked may still be done.
    """

    def wait(self, gen: Generator[Any, Any, _Answer], *args: Any, **options: Any) -> _Answer:
        """Do what a generator of psycopg asks for, to its end."""
        return super().wait(self._bounded(gen), *args, **options)

    def _bounded(self, asking: Generator[Any, Any, _Answer]) -> Generator[Any, Any, _Answer]:
        """Pass on what a generator waits for; who waits comes back at intervals, with nothing."""
        try:
            wanted = next(asking)
            until = time.monotonic() + ANSWER_S
            while True:
                ready = yield wanted
                now = time.monotonic()
                if ready:
                    until = now + ANSWER_S
                elif now >= until:
                    asking.close()
                    self.close()  # nobody asks it to take anything back, either
                    raise psycopg.OperationalError("PostgreSQL does not answer")
                wanted = asking.send(ready)
        except StopIteration as end:
            answer: _Answer = end.value
            return answer
