"""Addresses to listen on, as mail servers write them.

Postfix and libmilter write the same address in two ways, and both are read:

    unix:/run/oborona/milter.sock     also local:PATH
    inet:8890@127.0.0.1               libmilter; inet6:8890@::1
    inet:127.0.0.1:8890               Postfix; inet:[::1]:8890

A port without a host is refused: a milter port that the world can reach lets anyone ask about any
mail. Host names are not looked up here. Source: postconf(5) smtpd_milters; smfi_setconn of
libmilter.
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address
from typing import Final

import msgspec

from oborona.errors import ConfigError

# bytes: sockaddr_un of Linux holds 108 with the closing NUL. Source: unix(7)
MAX_SOCKET_PATH: Final = 107
EXAMPLES: Final = "unix:/run/oborona/milter.sock, inet:8890@127.0.0.1 or inet6:8890@::1"

_PORT_FIRST = re.compile(r"(?P<port>[0-9]{1,5})@(?P<host>.+)")
_HOST_FIRST = re.compile(r"(?P<host>\[[^\]]+\]|[^:\[\]]+):(?P<port>[0-9]{1,5})")
_HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9-]{0,62})(\.[A-Za-z0-9][A-Za-z0-9-]{0,62})*\.?", re.ASCII
)
_ANY: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # where a server on the same machine reaches it


class UnixAddress(msgspec.Struct, frozen=True):
    """A socket file."""

    path: str  # absolute

    @property
    def local(self) -> bool:
        """Whether this machine alone can reach it."""
        return True

    @property
    def postfix(self) -> str:
        """How main.cf names it, for a Postfix whose milter client is not in a chroot."""
        return f"unix:{self.path}"

    @property
    def libmilter(self) -> str:
        """How smfi_setconn names it."""
        return f"unix:{self.path}"

    def __str__(self) -> str:
        """Return it as settings write it."""
        return self.postfix


class InetAddress(msgspec.Struct, frozen=True):
    """A TCP port of one host."""

    host: str  # address without brackets, or host name
    port: int

    @property
    def v6(self) -> bool:
        """Whether the host is an IPv6 address."""
        return ":" in self.host

    @property
    def local(self) -> bool:
        """Whether this machine alone can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def postfix(self) -> str:
        """How main.cf names it; a wildcard becomes the loopback address."""
        host = _ANY.get(self.host, self.host)
        return f"inet:[{host}]:{self.port}" if ":" in host else f"inet:{host}:{self.port}"

    @property
    def libmilter(self) -> str:
        """How smfi_setconn names it."""
        return f"inet{'6' if self.v6 else ''}:{self.port}@{self.host}"

    def __str__(self) -> str:
        """Return it as settings write it."""
        return self.libmilter


Address = UnixAddress | InetAddress


def parse_address(text: str) -> Address:
    """Return the address that a setting names.

    Raises:
        ConfigError: what is wrong, and how an address is written; without a place.
    """
    scheme, colon, rest = text.partition(":")
    if colon and scheme in ("unix", "local"):
        return _unix(rest)
    if colon and scheme in ("inet", "inet6"):
        return _inet(scheme, rest)
    raise ConfigError(f"no address to listen on; write {EXAMPLES}")


def _unix(path: str) -> UnixAddress:
    if not path.startswith("/") or path.endswith("/"):
        raise ConfigError("a socket needs its absolute path: unix:/run/oborona/milter.sock")
    if not path.isprintable():
        raise ConfigError("the socket's path holds a control character")
    length = len(path.encode("utf-8", "surrogatepass"))
    if length > MAX_SOCKET_PATH:
        raise ConfigError(
            f"the socket's path has {length} bytes; the system allows {MAX_SOCKET_PATH}"
        )
    return UnixAddress(path)


def _inet(scheme: str, rest: str) -> InetAddress:
    match = _PORT_FIRST.fullmatch(rest) or _HOST_FIRST.fullmatch(rest)
    if match is None:
        raise ConfigError(f"an inet address needs host and port; write {EXAMPLES}")
    port = int(match["port"])
    if not 1 <= port <= 65535:
        raise ConfigError(f"port {port} is not one of 1 to 65535")
    host = match["host"].strip("[]")
    try:
        address = ip_address(host)
    except ValueError:
        if not _HOST_NAME.fullmatch(host) or host.replace(".", "").isdigit():
            raise ConfigError(f"{host[:60]!r} is neither an address nor a host name") from None
        if scheme == "inet6":
            raise ConfigError("inet6 needs an IPv6 address: inet6:8890@::1") from None
        return InetAddress(host.lower().rstrip("."), port)
    if scheme == "inet6" and not isinstance(address, IPv6Address):
        raise ConfigError(f"{host} is no IPv6 address; write inet:{port}@{host}")
    return InetAddress(str(address), port)
