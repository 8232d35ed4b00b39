"""The one DNS resolver of a process: a stub towards the recursive resolvers that the site names.

`Resolver` satisfies `oborona.dns.DnsAsker`; `BudgetedAsker` is one for a single connection or
message; `open_resolver` makes what the settings describe. `wire`, `names` and `chain` are the
protocol without a socket.
"""

from oborona.config import ResolverAddress
from oborona.resolver.budget import BudgetedAsker
from oborona.resolver.factory import open_resolver, system_servers
from oborona.resolver.resolver import Resolver
from oborona.resolver.server_follower import FollowedServers
from oborona.resolver.stats import ResolverStats

__all__ = [
    "BudgetedAsker",
    "FollowedServers",
    "Resolver",
    "ResolverAddress",
    "ResolverStats",
    "open_resolver",
    "system_servers",
]
