"""DNS lists (RFC 5782): whom to ask what, what the answers mean, and which lists can be believed.

Nothing here asks the DNS: `questions` says what to ask, all at once; `read` what an answer means;
`DnsblHealth` hears every answer, and has probes of its own to be asked.
"""

from oborona.reputation.dnsbl.codes import CodeWeights, parse, refusals
from oborona.reputation.dnsbl.health import DnsblHealth, DnsblState, DnsblStateChange
from oborona.reputation.dnsbl.model import (
    ASKABLE,
    HASHABLE,
    DnsblFailure,
    DnsblFault,
    DnsblListing,
    DnsblQuestion,
    DnsList,
    EmailHash,
    FreeTo,
)
from oborona.reputation.dnsbl.probe_points import point, probes
from oborona.reputation.dnsbl.queries import (
    MAX_HOSTS,
    MAX_MAILBOXES,
    DnsblInputs,
    public,
    questions,
    read,
    strongest,
)

__all__ = [
    "ASKABLE",
    "HASHABLE",
    "MAX_HOSTS",
    "MAX_MAILBOXES",
    "CodeWeights",
    "DnsList",
    "DnsblFailure",
    "DnsblFault",
    "DnsblHealth",
    "DnsblInputs",
    "DnsblListing",
    "DnsblQuestion",
    "DnsblState",
    "DnsblStateChange",
    "EmailHash",
    "FreeTo",
    "parse",
    "point",
    "probes",
    "public",
    "questions",
    "read",
    "refusals",
    "strongest",
]
