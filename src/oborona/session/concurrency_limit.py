"""Admission control: which messages a worker accepts for scanning, and which it defers.

One thread of a worker scans all of its messages, each a little at a time.  If it took on more than
it can finish in time, all of them would be late.  While the thread is behind, a new message is
therefore deferred at once, which costs next to nothing, and those in progress are finished.  The
first to be deferred are clients whose mail took very long lately: the cost of honest mail is never
counted.
"""

from __future__ import annotations

import time
from typing import Final

from oborona.client_network import client_home
from oborona.metrics import Counter
from oborona.session.loop_lag import LoopLag

CHEAP_S: Final = 0.1  # CPU of a message that is never counted; 10 MB of honest mail take less
FORGIVEN: Final = 0.02  # CPU seconds of a client's that are forgotten each second
# by one client: forgotten in less than two minutes, whatever came from there
MOST_OWED_S: Final = 2.0
MOST_CLIENTS: Final = 4096  # that are remembered
# of a message's deadline that the loop may be behind before all are turned away; each has some four
# turns to wait for
FULL_SHARE: Final = 0.2
DEAR_SHARE: Final = 0.02  # the same, for clients whose mail was dear
# at least: a worker that is busy all the time, and late with nothing, computes a tenth between two
# beats
FULL_S: Final = 0.5
DEAR_S: Final = 0.2  # the same

BUSY: Final = Counter(
    "oborona_busy",
    (
        "Messages of all listeners, and commands before one, that got a temporary failure, "
        "for too many were being judged, or more than can be in time."
    ),
    (),
)


class ConcurrencyLimit:
    """The messages in progress, of all doors together.

    Args:
        most: at a time.
        pulse: of the loop.
        deadline_s: of a message.
    """

    __slots__ = ("_owed", "_patience_s", "inside", "most", "pulse")

    def __init__(
        self, most: int, pulse: LoopLag | None = None, *, deadline_s: float = 10.0
    ) -> None:
        self.most = most
        self.pulse = pulse or LoopLag()
        self.inside = 0
        self._patience_s = (
            max(DEAR_SHARE * deadline_s, DEAR_S),
            max(FULL_SHARE * deadline_s, FULL_S),
        )
        self._owed: dict[str, tuple[float, float]] = {}  # client → CPU seconds, and when that was

    def should_defer(self, ip: str) -> bool:
        """Tell before a message whether `bars` holds for its client, and count it where it is so:
        who asks answers that.
        """
        barred = self.bars(ip)
        if barred:
            BUSY.inc()
        return barred

    def bars(self, ip: str) -> bool:
        """Tell whether a client had better come again: there is no time for it now.

        Args:
            ip: its address; of IPv6 the /64 counts.
        """
        behind_s = self.pulse.behind_s
        dear_s, full_s = self._patience_s
        return behind_s > dear_s and (behind_s > full_s or self._owes(client_home(ip)) > 0)

    def enter(self, ip: str) -> bool:
        """Tell whether there is room for a message more, and take it in; who is in must `leave`."""
        if self.inside >= self.most or self.bars(ip):
            BUSY.inc()
            return False
        self.inside += 1
        return True

    def leave(self, ip: str, spent_s: float) -> None:
        """Let one out, which took so much CPU."""
        self.inside -= 1
        if spent_s > CHEAP_S:
            home = client_home(ip)
            owed = min(self._owes(home) + spent_s - CHEAP_S, MOST_OWED_S)
            self._owed.pop(home, None)
            while len(self._owed) >= MOST_CLIENTS:
                del self._owed[next(iter(self._owed))]  # who was dear longest ago
            self._owed[home] = (owed, time.monotonic())

    def _owes(self, home: str) -> float:
        owed, since = self._owed.get(home, (0.0, 0.0))
        return max(0.0, owed - (time.monotonic() - since) * FORGIVEN)
