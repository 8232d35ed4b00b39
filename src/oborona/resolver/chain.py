"""From what messages say to the answer of a question: CNAMEs are followed to the name that has the
records.

    chain = Chain(name, kind); while (answer := chain.follow(await ask(chain.name))) is None: ...

A loop, or more links than anybody needs, is TEMPERROR: RFC 1034 section 3.6.2 wants chains followed
and loops signalled as an error, and nothing is known of the name's records then; recursive
resolvers say SERVFAIL to it.
"""

from __future__ import annotations

from typing import Final

from oborona.dns import DnsAnswer, DnsOutcome, DnsType
from oborona.resolver.wire import DnsResponse

MAX_LINKS: Final = 16  # of a chain; Unbound follows 11
FOREVER: Final = 2**31 - 1  # seconds: the greatest TTL


class CnameChain:
    """The way from a name to its records.

    Args:
        name: asked for, as it travels, lower case.
        kind: of record.
    """

    def __init__(self, name: bytes, kind: DnsType) -> None:
        self.name = name  # to be asked for next
        self._kind = kind
        self._seen = {name}
        self._ttl = FOREVER

    def follow(self, reply: DnsResponse) -> DnsAnswer | None:
        """Return the answer; None when `name` has yet to be asked for, which happens `MAX_LINKS`
        times at most.

        Args:
            reply: to a question for `name`.
        """
        question = self.name
        if self._kind is not DnsType.CNAME:
            while self.name not in reply.records and (alias := reply.aliases.get(self.name)):
                self.name, ttl = alias
                self._ttl = min(self._ttl, ttl)
                if self.name in self._seen:
                    return failure("cname-loop")
                if len(self._seen) > MAX_LINKS:
                    return failure("cname-chain-too-long")
                self._seen.add(self.name)
        entry = reply.records.get(self.name)
        if entry is not None and reply.exists:
            records, ttl = entry
            return DnsAnswer(outcome=DnsOutcome.FOUND, records=records, ttl=min(self._ttl, ttl))
        if reply.records:  # of a name that does not exist, or of others than the one asked for
            return failure("nonsense")
        if not reply.exists:
            return DnsAnswer(outcome=DnsOutcome.NO_NAME, ttl=self._denial_ttl(reply))
        if question != self.name and reply.denied is None:
            return None  # the chain leads where this server did not look
        return DnsAnswer(outcome=DnsOutcome.NO_DATA, ttl=self._denial_ttl(reply))

    def _denial_ttl(self, reply: DnsResponse) -> int:
        """RFC 2308 section 5: a denial without an SOA is not to be kept."""
        return min(self._ttl, reply.denied or 0)


def failure(why: str) -> DnsAnswer:
    """Return TEMPERROR with its reason."""
    return DnsAnswer(outcome=DnsOutcome.TEMPERROR, why=why)
