"""Flagged entities as other programs read them: zones of rbldnsd, constant databases, CIDR tables
of Postfix, JSON; pure.

    rbldnsd  one zone, `combined`: addresses and networks as DNS lists have them, domains with all
             below them; 127.0.0.2 bad, .3 poor, .5 good
    cdb      a key for each: what Postfix and Exim look up, each in its own spelling
    cidr     addresses and networks alone
    json     what `oborona reputation import` takes

Source: rbldnsd(8); RFC 5782 section 5 (test points); access(5); Exim's specification, "Host list
patterns for single-key lookups by host address".
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from ipaddress import IPv6Address, IPv6Network, ip_network
from typing import Final

import cdbx
import msgspec

from oborona.desk.reputation.flagged_entities import FlaggedEntity
from oborona.domains import normal_host
from oborona.message.shingles import ShingleType
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.networks import plain

TTL_S: Final = 300
CODES: Final = {
    ReputationFlag.BAD: 2,
    ReputationFlag.POOR: 3,
    ReputationFlag.GOOD: 5,
    ReputationFlag.UNKNOWN: 4,
}
"""The last number of 127.0.0.x."""
ADDRESSES: Final = frozenset({ShingleType.CLIENT_IP, ShingleType.CLIENT_NETWORK})
DOMAINS: Final = frozenset({ShingleType.AUTHOR_DOMAIN, ShingleType.LINK_DOMAIN})
FORMAT: Final = 1  # of the JSON


class ExportedEntity(msgspec.Struct, frozen=True, kw_only=True):
    """One entity of the JSON."""

    entity: str  # as it is typed
    flag: ReputationFlag
    say: str = ""
    until: float = 0.0  # Unix seconds; 0 = no end


class ReputationExport(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON."""

    oborona_reputation: int  # FORMAT
    site: str
    time: float  # Unix seconds
    entities: list[ExportedEntity]


def as_json(entities: Sequence[FlaggedEntity], site: str, now: float) -> bytes:
    """Return entities as JSON.

    What has no name is left out, for its hash means nothing elsewhere.
    """
    rows = [
        ExportedEntity(
            entity=flagged.entity.name, flag=flagged.flag, say=flagged.say, until=flagged.until
        )
        for flagged in entities
        if flagged.entity.piece
    ]
    export = ReputationExport(oborona_reputation=FORMAT, site=site, time=now, entities=rows)
    return msgspec.json.format(msgspec.json.encode(export), indent=1) + b"\n"


def as_rbldnsd(entities: Sequence[FlaggedEntity], site: str, now: float) -> bytes:
    """Return addresses, networks and domains as a zone of the type `combined`."""
    lines = [
        f"# flags of {site}; 127.0.0.2 bad, 127.0.0.3 poor, 127.0.0.5 good",
        f"$SOA {TTL_S} localhost. nobody.localhost. {int(now)} {TTL_S} {TTL_S} 7d {TTL_S}",
        f"$TTL {TTL_S}",
    ]
    four, six = _split(entities)
    for title, test, entries in (
        ("ip4trie:addresses", "127.0.0.2", four),
        ("ip6trie:addresses6", "::ffff:7f00:2", six),
        (
            "dnset:domains",
            "test",
            [(f".{flagged.entity.piece}", flagged.flag) for flagged in _domains(entities)],
        ),
    ):
        lines += [f"$DATASET {title} @", f":{CODES[ReputationFlag.BAD]}:flag at {site}: $", test]
        lines += [f"{name} :{CODES[flag]}:{flag} at {site}: $" for name, flag in sorted(entries)]
    return "\n".join(lines).encode() + b"\n"


def as_cidr(entities: Sequence[FlaggedEntity], action: str) -> bytes:
    """Return addresses and networks as a table of Postfix, cidr_table(5), the narrow before the
    wide: the first that matches counts.
    """
    four, six = _split(entities)
    networks = sorted(
        (ip_network(name) for name, _ in (*four, *six)), key=lambda net: -net.prefixlen
    )
    return "".join(f"{net} {action}\n" for net in networks).encode()


def as_cdb(entities: Sequence[FlaggedEntity], action: str) -> bytes:
    """Return addresses, networks and domains as a constant database.

    The value of each key is the action.
    """
    with tempfile.TemporaryFile() as file:
        maker = cdbx.CDB.make(file)
        for key in dict.fromkeys(key for flagged in entities for key in _keys(flagged)):
            maker.add(key.encode(), action.encode())
        maker.commit().close()
        file.seek(0)
        return file.read()


def _keys(flagged: FlaggedEntity) -> Iterator[str]:
    """Yield what Postfix and Exim look up for an entity."""
    piece = flagged.entity.piece
    if flagged.entity.type == ShingleType.CLIENT_IP:
        yield piece
        if ":" in piece:
            yield _dotted(IPv6Address(piece))  # net-cdb of Exim
    elif flagged.entity.type == ShingleType.CLIENT_NETWORK:
        if ":" in piece:
            network = IPv6Network(piece)
            yield f"{_dotted(network.network_address)}/{network.prefixlen}"  # net64-cdb of Exim
        else:
            yield piece  # net24-cdb of Exim
            yield piece.removesuffix(".0/24")  # access(5) of Postfix
    elif _is_domain(flagged):
        yield piece


def _dotted(address: IPv6Address) -> str:
    return address.exploded.replace(":", ".")


def _split(
    entities: Sequence[FlaggedEntity],
) -> tuple[list[tuple[str, ReputationFlag]], list[tuple[str, ReputationFlag]]]:
    """Return addresses and networks, IPv4 and IPv6, each with its flag."""
    pairs = [
        (flagged.entity.piece, flagged.flag)
        for flagged in entities
        if flagged.entity.type in ADDRESSES and flagged.entity.piece
    ]
    return [pair for pair in pairs if ":" not in pair[0]], [
        pair for pair in pairs if ":" in pair[0]
    ]


def _is_domain(flagged: FlaggedEntity) -> bool:
    """Tell whether it is a domain.

    Links may lead to bare addresses, which say nothing about clients.

    Names come from mail: one that is no host's would be more than one line of a zone.
    """
    piece = flagged.entity.piece
    return (
        flagged.entity.type in DOMAINS
        and normal_host(piece) == piece != ""
        and plain(piece) is None
    )


def _domains(entities: Sequence[FlaggedEntity]) -> list[FlaggedEntity]:
    # a domain may be in both as an author's and as a link's; the worse flag of the two counts
    worst: dict[str, FlaggedEntity] = {}
    for flagged in entities:
        if _is_domain(flagged):
            former = worst.get(flagged.entity.piece)
            if former is None or flagged.flag.order > former.flag.order:
                worst[flagged.entity.piece] = flagged
    return list(worst.values())
