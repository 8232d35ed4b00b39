"""Which clients RepIP would refuse now, and whom analysts have pinned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_network
from typing import Final, NamedTuple

from oborona.client_network import client_network
from oborona.counters.cluster.reader import ClusterReader
from oborona.counters.readonly import ReadOnlyCounters
from oborona.daemon.exporter.list_rows import ListRows
from oborona.daemon.exporter.row import MAX_WHY, ExportRow, deny_row
from oborona.message.shingles import Hasher, ShingleType, envelope_shingles
from oborona.policy.counts import MessageCounts, shingles_to_read
from oborona.policy.history import REPIP_BAD
from oborona.policy.local_clients import is_own
from oborona.policy.memory_age import ALL_MAIL, is_young
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.networks import Network, NetworkSet, plain
from oborona.reputation.pins import Pin
from oborona.reputation.subject import ListSubject
from oborona.types import Client, Envelope

AT_ONCE: Final = 200  # addresses in one read
BELIEVED_S: Final = 86_400  # a bad past is not refused for longer by a table that nobody keeps up
STEP_S: Final = 3_600  # in which that time moves, so that a table is not another one each minute

Counts = ReadOnlyCounters | ClusterReader
_SENDERS: Final = (ShingleType.AUTHOR, ShingleType.PROVED_SENDER)


class ReputationRows(NamedTuple):
    """The rows of clients and senders that come from pins and history, not from lists."""

    networks: dict[Network, ExportRow]
    senders: dict[str, ExportRow]


def pinned_rows(
    pins: Iterable[Pin], hasher: Hasher, listed: ListRows, own: NetworkSet
) -> ReputationRows:
    """Return what analysts say of addresses, networks, senders and domains.

    Args:
        pins: in force.
        hasher: of the site: a pin whose name is not what it is of says nothing here.
        listed: by lists, which stand above pins.
        own: networks of the site, of whom nothing is remembered.
    """
    rows = ReputationRows({}, {})
    for pin in pins:
        name = pin.name.partition(":")[2] if pin.type == ShingleType.PROVED_SENDER else pin.name
        if not name or hasher.shingle(pin.type, name) != pin.shingle:
            continue
        if pin.type in (ShingleType.CLIENT_IP, ShingleType.CLIENT_NETWORK):
            network = _network(name)
            if (
                network
                and not _is_own(str(network.network_address), own)
                and not _above(network, listed)
            ):
                rows.networks[network] = _row(pin, refuses=listed.by_history)
        elif pin.type in _SENDERS:
            rows.senders[name] = _row(pin, refuses=False)
        elif pin.type == ShingleType.AUTHOR_DOMAIN:
            rows.senders[f"*@{name}"] = _row(pin, refuses=False)
    return rows


def _network(name: str) -> Network | None:
    try:
        return ip_network(name)
    except ValueError:
        return None


def _row(pin: Pin, *, refuses: bool) -> ExportRow:
    why, until = pin.say, int(pin.until)
    if refuses and pin.flag is ReputationFlag.BAD:
        return deny_row("Client", f"{REPIP_BAD} {why}", until=until)
    return ExportRow(pin.flag.value, why[:MAX_WHY], until=until)


async def refused_rows(
    addresses: Sequence[str],
    counters: Counts,
    hasher: Hasher,
    listed: ListRows,
    pins: ReputationRows,
    own: NetworkSet,
    now: float,
) -> dict[Network, ExportRow]:
    """Return those of some addresses that RepIP would refuse at Unix time `now`.

    Whom a list or pin speaks of is left out.

    Raises:
        StoreError: the counters can't be read.
    """
    if not listed.by_history or is_young((await counters.timelines([ALL_MAIL], now))[0]):
        return {}
    rows_refused: dict[Network, ExportRow] = {}
    until = (int(now) + BELIEVED_S) // STEP_S * STEP_S
    candidates = [
        address
        for address in addresses
        if not _is_own(address, own) and not _spoken_of(address, listed, pins)
    ]
    for begin in range(0, len(candidates), AT_ONCE):
        some = candidates[begin : begin + AT_ONCE]
        pieces = [
            shingles_to_read(envelope_shingles(Envelope(client=Client(ip=address)), hasher))
            for address in some
        ]
        rows = await counters.read([shingle for shingles in pieces for shingle in shingles], now)
        place = 0
        for address, shingles in zip(some, pieces, strict=True):
            counts = MessageCounts(shingles, rows[place : place + len(shingles)])
            place += len(shingles)
            repip = counts.repip()
            if repip.flag is ReputationFlag.BAD:
                rows_refused[_single(address)] = deny_row(
                    "Client", f"{REPIP_BAD} {repip.say}", until=until
                )
    return rows_refused


def _is_own(address: str, own: NetworkSet) -> bool:
    client = plain(address)
    return client is None or is_own(Envelope(client=Client(ip=address), own=client in own))


def _above(network: Network, listed: ListRows) -> bool:
    """Whether a list speaks of a network as a whole, or of a wider one."""
    match = listed.lists.look(ListSubject.CLIENT, str(network.network_address))
    return match is not None and ip_network(match.entry).prefixlen <= network.prefixlen


def _spoken_of(address: str, listed: ListRows, pins: ReputationRows) -> bool:
    if listed.lists.look(ListSubject.CLIENT, address) is not None:
        return True
    return _single(address) in pins.networks or ip_network(client_network(address)) in pins.networks


def _single(address: str) -> Network:
    """Return an address as a network of its own, one of IPv4 that is written as IPv6 as itself."""
    return ip_network(plain(address) or address)
