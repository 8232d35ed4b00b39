"""Recursive DNS resolvers as settings name them: addresses, each alone or with a port."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

import msgspec

from oborona.errors import ConfigError

PORT: Final = 53
EXAMPLES: Final = "127.0.0.1, ::1, 10.0.0.1:5353 or [::1]:5353"


class ResolverAddress(msgspec.Struct, frozen=True):
    """A recursive resolver."""

    host: str  # address without brackets; a scope (%eth0) may follow
    port: int = PORT

    @property
    def loopback(self) -> bool:
        """Whether it runs on this machine: nobody outside can send in its name."""
        return ip_address(self.host).is_loopback

    def __str__(self) -> str:
        """Return it as settings write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_servers(text: str) -> tuple[ResolverAddress, ...]:
    """Return the servers of a setting, with spaces between, in their order.

    Raises:
        ConfigError: what is wrong, and how a server is written; without a place.
    """
    return tuple(_server(word) for word in text.split())


def _server(word: str) -> ResolverAddress:
    host, colon, port = word, "", ""
    if word.startswith("["):
        host, bracket, behind = word[1:].partition("]")
        nothing, colon, port = behind.partition(":")
        host = host if bracket and not nothing else ""
    elif word.count(":") == 1:
        host, colon, port = word.partition(":")
    try:
        ip_address(host)
    except ValueError:
        raise ConfigError(
            f"{word[:60]!r} is no address of a DNS server; write {EXAMPLES}"
        ) from None
    if not colon:
        return ResolverAddress(host)
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and 1 <= int(port) <= 65535):
        raise ConfigError(f"the port of {word[:60]!r} is not one of 1 to 65535")
    return ResolverAddress(host, int(port))
