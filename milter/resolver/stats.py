"""What a resolver counts of itself."""

from __future__ import annotations

import msgspec


class Stats(msgspec.Struct, kw_only=True):
    """Since it was opened."""

    questions: int = 0  # that callers asked
    cached: int = 0  # of them, answered from the cache
    shared: int = 0  # of them, answered with another that was under way
    sent: int = 0  # datagrams
    streams: int = 0  # questions repeated over TCP, for their answers did not fit
    timeouts: int = 0  # times that a server said nothing while it had its turn
    unreachable: int = 0  # times that nobody listened there, or no way led there
    servfails: int = 0  # answers with SERVFAIL
    refused: int = 0  # answers with any other error
    malformed: int = 0  # answers that could not be read
    ignored: int = 0  # messages that answered no question of ours: late, or forged
