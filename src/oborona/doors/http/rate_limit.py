"""A rate limit for each client: one token bucket each.  Pure: the caller passes the time.

A bucket holds `burst` tokens and gains `rate` of them a second; each request takes one.  Of clients
whose buckets are full again nothing is kept, so that the table holds only those who have asked of
late.  Where even those are too many, the ones who have asked least are forgotten, and begin anew
with a full bucket.
"""

from __future__ import annotations

from typing import Final

MOST: Final = 10_000  # clients in the table


class RateLimiter:
    """Buckets of many clients.

    Args:
        rate: tokens a second; 0: nobody is limited.
        burst: that a bucket holds.
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        # client → tokens, and when they were counted
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait_s(self, client: str, now: float) -> float:
        """Take a token of a client; return 0 if there was one, else seconds until there is one.

        Args:
            client: any name.
            now: seconds of a clock that only grows.
        """
        if not self._rate:
            return 0.0
        tokens = self._tokens(self._buckets.get(client, (self._burst, now)), now)
        if tokens < 1.0:
            return (1.0 - tokens) / self._rate
        if client not in self._buckets and len(self._buckets) >= MOST:
            self._forget(now)
        self._buckets[client] = (tokens - 1.0, now)
        return 0.0

    def _tokens(self, bucket: tuple[float, float], now: float) -> float:
        tokens, counted = bucket
        return min(self._burst, tokens + (now - counted) * self._rate)

    def _forget(self, now: float) -> None:
        """Make room for at least half of the table."""
        left = {client: self._tokens(bucket, now) for client, bucket in self._buckets.items()}
        poorest = sorted(
            (tokens, client) for client, tokens in left.items() if tokens < self._burst
        )
        self._buckets = {client: (tokens, now) for tokens, client in poorest[: MOST // 2]}
