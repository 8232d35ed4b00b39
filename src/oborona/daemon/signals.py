"""Signals as bytes on a socket: what lets one `select` wait for signals, children and time.

The kernel's signal runs a C handler of Python's that writes its number into the pair
(signal.set_wakeup_fd); the handler in Python does nothing, and exists only because ignored and
default signals are not written. Limits: one per process, main thread only. A full pair loses
numbers, after some hundred signals that nobody read.
"""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Iterator
from typing import Final, Self

TAKEN: Final = frozenset(
    {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2}
)
"""Signals that a supervisor takes or ignores, and that its children get back as they were born."""

_IGNORED: Final = frozenset({signal.SIGUSR1, signal.SIGUSR2})


class SignalSocket:
    """Turns the signals of `TAKEN` into something to select on, while it is entered.

    Guaranteed: a signal that comes between two calls of `taken` makes `reader` readable.
    """

    def __enter__(self) -> Self:
        self.reader, self._writer = socket.socketpair()
        self.reader.setblocking(False)
        self._writer.setblocking(False)
        self._fd_before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._before = {
            number: signal.signal(number, signal.SIG_IGN if number in _IGNORED else lambda *_: None)
            for number in TAKEN
        }
        # a mask that we inherited would make us deaf
        signal.pthread_sigmask(signal.SIG_UNBLOCK, TAKEN)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        signal.set_wakeup_fd(self._fd_before)
        self.close()

    def taken(self) -> Iterator[int]:
        """Yield the numbers of the signals that came since the last call, each as often as it was
        seen.
        """
        with contextlib.suppress(BlockingIOError):
            while numbers := self.reader.recv(4096):
                yield from numbers

    def close(self) -> None:
        """Close the pair of this process; a child does, and touches no handler of its parent."""
        self.reader.close()
        self._writer.close()
