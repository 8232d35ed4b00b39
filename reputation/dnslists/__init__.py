"""DNS lists (RFC 5782): whom to ask what, what the answers mean, and which lists can be believed.

Nothing here asks the DNS: `questions` says what to ask, all at once; `read` what an answer means;
`Health` hears every answer, and has probes of its own to be asked.
"""

from oborona.reputation.dnslists.ask import (
    MAX_HOSTS,
    MAX_MAILBOXES,
    Asked,
    public,
    questions,
    read,
    strongest,
)
from oborona.reputation.dnslists.codes import Codes, parse, refusals
from oborona.reputation.dnslists.health import Event, Health, State
from oborona.reputation.dnslists.model import (
    ASKABLE,
    HASHABLE,
    DnsList,
    Fault,
    Hash,
    Listing,
    Question,
    Trouble,
)
from oborona.reputation.dnslists.points import point, probes

__all__ = [
    "ASKABLE",
    "HASHABLE",
    "MAX_HOSTS",
    "MAX_MAILBOXES",
    "Asked",
    "Codes",
    "DnsList",
    "Event",
    "Fault",
    "Hash",
    "Health",
    "Listing",
    "Question",
    "State",
    "Trouble",
    "parse",
    "point",
    "probes",
    "public",
    "questions",
    "read",
    "refusals",
    "strongest",
]
