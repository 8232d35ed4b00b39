"""The one DNS resolver of a process: a stub towards the recursive resolvers that the site names.

`Resolver` satisfies `oborona.dns.Asker`; `Budgeted` is one for a single connection or message;
`open_resolver` makes what the settings describe. `wire`, `names` and `chain` are the protocol
without a socket.
"""

from oborona.config import Server
from oborona.resolver.budget import Budgeted
from oborona.resolver.following import FollowedServers
from oborona.resolver.opening import open_resolver, system_servers
from oborona.resolver.resolver import Resolver
from oborona.resolver.stats import Stats

__all__ = [
    "Budgeted",
    "FollowedServers",
    "Resolver",
    "Server",
    "Stats",
    "open_resolver",
    "system_servers",
]
