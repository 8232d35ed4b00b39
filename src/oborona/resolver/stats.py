"""The counts of a resolver."""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.metrics import Counter

DNS: Final = Counter("oborona_dns", "What the resolver did, by kind of event.", ("event",))


class ResolverStats(msgspec.Struct, kw_only=True):
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

    def tell(self) -> None:
        """Have the metrics of this process tell these.

        A message asks many questions, and adding to a field is the cheapest way to count.
        """
        DNS.set_function(
            lambda: {(event,): getattr(self, event) for event in self.__struct_fields__}
        )
