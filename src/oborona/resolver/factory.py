"""The resolver that the settings describe."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from oborona.config import DnsSettings, ResolverAddress, parse_servers
from oborona.errors import ConfigError
from oborona.resolver.resolver import TRIES, UNDER_WAY, Resolver

SYSTEM: Final = Path("/etc/resolv.conf")
MOST: Final = 3  # servers that a system asks: MAXNS of resolv.conf(5)


def open_resolver(settings: DnsSettings) -> Resolver:
    """Return a resolver for a site's settings; it asks nothing yet."""
    servers = parse_servers(settings.servers) or system_servers()
    return Resolver(
        servers,
        timeout_s=settings.timeout_s,
        cache_entries=settings.cache_entries,
        under_way=max_questions_under_way(servers),
    )


def max_questions_under_way(servers: Sequence[ResolverAddress], files: int | None = None) -> int:
    """Return how many questions may be under way in a process that may open so many files.

    None: as many as this one.

    A question to a server on another machine has a socket of its own for each try; together they
    take a quarter of the files, the mail servers' connections have the others.
    """
    if files is None:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    far = sum(not server.loopback for server in servers)
    if not far or files == resource.RLIM_INFINITY:
        return UNDER_WAY
    return max(1, min(UNDER_WAY, files // 4 // (far * TRIES)))


def system_servers(file: Path = SYSTEM) -> tuple[ResolverAddress, ...]:
    """Return the servers that the system asks, as its file is now.

    The one on this machine if it names none.
    """
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    servers: list[ResolverAddress] = []
    for line in lines:
        match line.split():
            case ["nameserver", address, *_]:
                try:
                    servers += parse_servers(f"[{address}]")
                except ConfigError:
                    continue  # as the system does
    return tuple(servers[:MOST]) or (ResolverAddress("127.0.0.1"),)
