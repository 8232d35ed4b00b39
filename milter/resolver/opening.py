"""The resolver that the settings describe."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from oborona.config import Dns, Server, parse_servers
from oborona.errors import ConfigError
from oborona.milter.resolver.resolver import Resolver

SYSTEM: Final = Path("/etc/resolv.conf")
MOST: Final = 3  # servers that a system asks: MAXNS of resolv.conf(5)


def open_resolver(settings: Dns) -> Resolver:
    """Return a resolver for a site's settings; it asks nothing yet."""
    return Resolver(
        parse_servers(settings.servers) or system_servers(),
        timeout_s=settings.timeout_s,
        cache_entries=settings.cache_entries,
    )


def system_servers(file: Path = SYSTEM) -> tuple[Server, ...]:
    """Return the servers that the system asks, as its file is now; the one on this machine if it names none."""
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    servers: list[Server] = []
    for line in lines:
        match line.split():
            case ["nameserver", address, *_]:
                try:
                    servers += parse_servers(f"[{address}]")
                except ConfigError:
                    continue  # as the system does
    return tuple(servers[:MOST]) or (Server("127.0.0.1"),)
