"""The processes of a run, as their parent sees them."""

from __future__ import annotations

import contextlib
import select
import subprocess
import sys
import time
from typing import Final, Self

import msgspec

from oborona.counter_load.job import BenchJob
from oborona.errors import StoreError

# of a process: clock_getcpuclockid(3) makes the clock's number of this and its pid
CPU_CLOCK: Final = 2


def cpu_s(pid: int) -> float:
    """Return the CPU that a process has used with all its threads, in seconds.

    Raises:
        OSError: there is no such process.
    """
    return time.clock_gettime(~pid << 3 | CPU_CLOCK)


class BenchProcess:
    """A process that does a job; a terminal's Ctrl-C does not reach it.

    Use it as a context, which kills what has not ended.
    """

    def __init__(self, job: BenchJob) -> None:
        self._name = "the writer" if job.number is None else f"worker {job.number}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "oborona.counter_load.child", msgspec.json.encode(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
            bufsize=0,
        )
        assert self._process.stdin is not None, "it is a pipe"
        assert self._process.stdout is not None, "it is a pipe"
        self._input, self._output = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._input.close()
        self._output.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        """Return where its words come from."""
        return self._output.fileno()

    def expect(self, words: bytes, limit_s: float) -> None:
        """Wait until it says so, at most so many seconds.

        Raises:
            StoreError: it ended instead, or said nothing.
        """
        if not select.select([self._output], [], [], limit_s)[0]:
            raise StoreError(f"{self._name} of the bench has said nothing for {limit_s:.0f} s")
        if self._output.readline() != words:
            raise StoreError(f"{self._name} of the bench ended with status {self._process.wait()}")

    def tell(self, words: bytes) -> None:
        """Say something to it; one that is gone is told of by `expect`."""
        with contextlib.suppress(BrokenPipeError):
            self._input.write(words)

    def stop(self) -> None:
        """End its input, which asks it to end."""
        self._input.close()

    def end(self) -> None:
        """Ask it to end and wait for that.

        Raises:
            StoreError: it did not end well.
        """
        self.stop()
        if status := self._process.wait():
            raise StoreError(f"{self._name} of the bench ended with status {status}")
