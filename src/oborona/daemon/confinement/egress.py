"""The addresses beyond this machine and private networks to which a site's settings lead: the units
allow the service those networks only.

Source: systemd.resource-control(5) on IPAddressAllow, RFC 1918, RFC 4193, RFC 6598.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import ip_network
from typing import Final
from urllib.parse import urlsplit

import msgspec

from oborona.config import ResolverAddress, Settings
from oborona.config.access import open_listeners
from oborona.config.address import InetAddress, parse_address

ANY: Final = "any"  # in the words of systemd
ALLOWED: Final = (  # IPAddressAllow of the units
    *("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"),
    *("fc00::/7", "fe80::/10"),
)
_NETWORKS: Final = tuple(map(ip_network, ALLOWED))


def egress_networks(
    settings: Settings, resolvers: Iterable[ResolverAddress], databases: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return what a unit has to be let reach beside what it may, in the form of IPAddressAllow.

    `ANY` alone where that can't be told.

    It can't where a host is named, for its address may be another one tomorrow, for a cluster,
    whose nodes name others, and for a listener to which keys give access, from wherever they come.

    Args:
        settings: of the site.
        resolvers: that are asked.
        databases: hosts of the log of a site of several machines.
    """
    hosts = {server.host for server in resolvers} | set(databases)
    for address in _addresses(settings):
        hosts.add(address.host)
    asked = (settings.flows.url,) if settings.flows.source == "clickhouse" else ()
    told = (settings.alarm.webhook, settings.inspector.hook)
    for url in (*told, settings.mailboxes.url, *asked):
        hosts.add(urlsplit(url).hostname or "localhost")
    hosts.add(_host(settings.alarm.mail_server))
    if settings.console.enabled:
        hosts.add(urlsplit(settings.console.oidc_issuer).hostname or "localhost")
        hosts.add(settings.console.imap_server.host if settings.console.imap else "localhost")
        hosts |= {address.host for address in settings.console.other_desks.values()}
        if settings.console.desk_listen and not parse_address(settings.console.desk_listen).local:
            hosts |= set(settings.console.desk_allowed.split() or (ANY,))
    for listener in open_listeners(settings):
        if not listener.address.local:
            hosts |= set(listener.allowed.split() or (ANY,))
    clustered = settings.counters.store == "cluster"
    nodes = {_host(node) for node in settings.cluster.nodes.split()} if clustered else set()
    outside = {host for host in hosts | nodes if not _is_near(host)}
    if any(host in nodes or not _is_network(host) for host in outside):
        return (ANY,)
    return tuple(sorted(outside))


def _addresses(settings: Settings) -> Iterator[InetAddress]:
    """Yield what the service connects to, as far as it is written the way of listeners."""
    engines = (
        getattr(settings.engines, engine.name).ask
        for engine in msgspec.structs.fields(settings.engines)
    )
    doors = (settings.doors.proxy, settings.doors.delivery)
    next_hops = (door.next_hop for door in doors if door.listen)
    yield from _inet((*engines, *next_hops, settings.mailboxes.imap))


def _inet(texts: Iterable[str]) -> Iterator[InetAddress]:
    for text in texts:
        address = parse_address(text) if text else None
        if isinstance(address, InetAddress):
            yield address


def _host(text: str) -> str:
    """Return the host of HOST:PORT."""
    return text.rpartition(":")[0].strip("[]")


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def _is_near(text: str) -> bool:
    if not _is_network(text):
        return text == "localhost"
    network = ip_network(text)
    return any(
        isinstance(network, type(near)) and network.subnet_of(near)  # type: ignore[arg-type]
        for near in _NETWORKS
    )
