"""How often strangers may call: so often within a while from a network, and so often in all.

Counted in the memory of the desk: a restart begins anew.  No more times are kept than the site's
limit, so that nobody fills it.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import Final

from oborona.desk.call import CallError
from oborona.people.wait import network_of

HOUR_S: Final = 3_600.0


class CallLimitError(CallError):
    """Somebody, or everybody, called too often."""

    status = 429

    def __init__(self, wait_s: float) -> None:
        super().__init__("too many questions came from there, or in all; come again later")
        self.wait_s = wait_s


class CallRate:
    """The calls of a while; for any number of threads.

    Args:
        of_network: at most so many from a network (/24, IPv6 /48).
        of_site: at most so many in all.
        period_s: the while.
    """

    def __init__(self, of_network: int, of_site: int, period_s: float = HOUR_S) -> None:
        self.of_network = of_network
        self.of_site = of_site
        self._period_s = period_s
        self._calls = deque[tuple[float, str]]()
        self._networks = Counter[str]()
        self._turn = threading.Lock()

    def charge(self, place: str, now: float) -> None:
        """Count a call; who is refused is not counted.

        Args:
            place: address of the client; what can't be told is one network.
            now: seconds of a clock that never goes back.

        Raises:
            CallLimitError: too many came.
        """
        network = network_of(place)
        with self._turn:
            while self._calls and self._calls[0][0] <= now - self._period_s:
                _, oldest = self._calls.popleft()
                self._networks[oldest] -= 1
                if not self._networks[oldest]:
                    del self._networks[oldest]
            if len(self._calls) >= self.of_site:
                raise CallLimitError(self._calls[0][0] + self._period_s - now)
            if self._networks[network] >= self.of_network:
                first = next(when for when, one in self._calls if one == network)
                raise CallLimitError(first + self._period_s - now)
            self._calls.append((now, network))
            self._networks[network] += 1
