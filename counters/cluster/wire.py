"""What is said to a node and what its answers mean; no socket here.

    address    "host:port"
    map        which node has a slot, from CLUSTER SLOTS
    errors     MOVED and ASK name another node; some say that the map is old, one that a function is
               missing

Source: Redis cluster specification ("MOVED Redirection", "ASK Redirection"); Valkey and Kvrocks say
the same.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, Self

import hiredis
import msgspec

from oborona.counters.cluster.layout import SLOTS
from oborona.errors import StoreError

NO_FUNCTION: Final = "ERR Function not found"
NO_CLUSTER: Final = "ERR This instance has cluster support disabled"
OLD_MAP: Final = ("READONLY ", "CLUSTERDOWN ")  # another node may have it by now

Word = str | bytes | int
Role = Literal["primary", "replica"]
_NO_MAP: Final = (
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
)  # what reading an answer of another shape ends in
BROKEN: Final = (
    hiredis.ProtocolError,
    TypeError,
)  # what reading what is no answer ends in; a TypeError for a map whose key is a list
Reply = object  # int, bytes, list, None, or hiredis.ReplyError


def pack(words: Sequence[Word]) -> bytes:
    """Return a command as it is sent."""
    packed: bytes = hiredis.pack_command(tuple(words))  # type: ignore[arg-type] # its stub knows one word
    return packed


MAP: Final = pack((b"CLUSTER", b"SLOTS"))
ASKING: Final = pack((b"ASKING",))


class NodeAddress(NamedTuple):
    """Where a node listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address of "host:port" or "[v6]:port".

        Raises:
            ValueError: it is none.
        """
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise ValueError(f"a node is HOST:PORT, not {text!r}")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))


class ClusterAccess(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach a cluster."""

    nodes: tuple[NodeAddress, ...]  # some of them; they name the others
    user: str = ""  # empty: the default one
    password: str = ""  # empty: none is asked
    authority: str = ""  # file of the certificates that vouch for the nodes; empty: no TLS
    connect_s: float = 2.0  # deadline for a new connection

    def greeting(self) -> bytes:
        """Return what a connection begins with; each command of it is answered with OK."""
        if not self.password:
            return b""
        return pack(("AUTH", self.user, self.password) if self.user else ("AUTH", self.password))

    def tls(self) -> ssl.SSLContext | None:
        """Return how to encrypt; None: not at all.

        Raises:
            StoreError: the file of certificates cannot be used.
        """
        if not self.authority:
            return None
        try:
            return ssl.create_default_context(cafile=Path(self.authority))
        except OSError as error:
            raise StoreError(f"cannot use the certificates in {self.authority}: {error}") from error


class SlotMap(msgspec.Struct, frozen=True):
    """Which primary has each slot; None where nobody has it."""

    owners: list[NodeAddress | None]

    @classmethod
    def parse(cls, reply: Reply, address: NodeAddress) -> SlotMap:
        """Return the map from an answer to MAP.

        Of a server that is no cluster, one that has it all.

        Raises:
            StoreError: it is no such answer.
        """
        if isinstance(reply, hiredis.ReplyError) and str(reply) == NO_CLUSTER:
            return cls([address] * SLOTS)
        owners: list[NodeAddress | None] = [None] * SLOTS
        try:
            for first, last, primary, *_ in reply:  # type: ignore[attr-defined]
                owner = NodeAddress(_host(primary[0]) or address.host, _port(primary[1]))
                _check_range(first, last)
                owners[first : last + 1] = [owner] * (last + 1 - first)
        except _NO_MAP:
            raise StoreError(f"{address} does not tell its slots: {reply!r:.200}") from None
        return cls(owners)

    def nodes(self) -> list[NodeAddress]:
        """Return the primaries."""
        return [owner for owner in dict.fromkeys(self.owners) if owner is not None]


def members(reply: Reply, source: NodeAddress) -> dict[NodeAddress, tuple[Role, int]]:
    """Return the nodes that an answer to MAP names, each with its role and how many slots it holds.

    Raises:
        StoreError: it is no such answer.
    """
    if isinstance(reply, hiredis.ReplyError) and str(reply) == NO_CLUSTER:
        return {source: ("primary", SLOTS)}
    roles: dict[NodeAddress, tuple[Role, int]] = {}
    try:
        for first, last, *nodes in reply:  # type: ignore[attr-defined]
            _check_range(first, last)
            for place, node in enumerate(nodes):
                address = NodeAddress(_host(node[0]) or source.host, _port(node[1]))
                _role, slots = roles.get(address, ("", 0))
                roles[address] = ("replica" if place else "primary"), slots + last + 1 - first
    except _NO_MAP:
        raise StoreError(f"{source} does not tell its slots: {reply!r:.200}") from None
    return roles


class SlotRedirect(NamedTuple):
    """Where a node says that a slot is."""

    for_good: bool  # MOVED; else ASK: for this one command, while the slot moves
    slot: int
    address: NodeAddress


def redirect(error: hiredis.ReplyError, source: NodeAddress) -> SlotRedirect | None:
    """Return what MOVED and ASK say.

    None for other errors, and for one that names no slot and no node.
    """
    kind, *rest = str(error).split(" ")
    if kind not in ("MOVED", "ASK") or len(rest) != 2:
        return None
    host = source.host if rest[1].startswith(":") else ""
    try:
        slot, address = int(rest[0]), NodeAddress.parse(host + rest[1])
    except ValueError:
        return None
    return SlotRedirect(kind == "MOVED", slot, address) if 0 <= slot < SLOTS else None


def tells_old_map(error: hiredis.ReplyError) -> bool:
    """Whether another node may answer by now."""
    return str(error).startswith(OLD_MAP)


def _check_range(first: int, last: int) -> None:
    if not 0 <= first <= last < SLOTS:
        raise ValueError("slots that no cluster has")


def _port(port: object) -> int:
    if not isinstance(port, int) or not 0 < port < 65_536:
        raise ValueError("no port")
    return port


def _host(name: bytes | None) -> str:
    host = (name or b"").decode()
    return "" if host == "?" else host
