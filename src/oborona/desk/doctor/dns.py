"""What `oborona doctor` says of the DNS: each resolver, each DNS list that is switched on, and what
the running workers think of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from oborona.accounts.addresses.list_probe import probe_list
from oborona.config import ResolverAddress, Settings, parse_servers
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.dns import DnsAnswer, DnsAsker, DnsOutcome, DnsType
from oborona.errors import OboronaError
from oborona.reputation.dnsbl import DnsblFault, DnsblState, DnsList, probes
from oborona.resolver import Resolver, open_resolver, system_servers
from oborona.telemetry import status

NOBODY: Final = "oborona-doctor.invalid"  # RFC 6761 section 6.4: nobody has it
PUBLIC: Final = frozenset(
    {"1.0.0.1", "1.1.1.1", "8.8.4.4", "8.8.8.8", "9.9.9.9", "149.112.112.112", "208.67.220.220", "208.67.222.222",
     "2001:4860:4860::8888", "2001:4860:4860::8844", "2606:4700:4700::1111", "2606:4700:4700::1001", "2620:fe::fe"}
)  # fmt: skip
"""Resolvers that everybody uses, and that most DNS lists therefore refuse to answer."""


def dns(context: Site) -> Iterator[CheckReport]:
    """Look at the resolvers and the DNS lists."""
    settings = context.loaded.settings
    try:
        lists = [dns_list for dns_list in context.policy().dns_lists if dns_list.enabled]
    except OboronaError:
        lists = []  # another check says what is wrong with the policy
    yield from asyncio.run(_all(settings, lists))
    yield from _workers(context)


async def _all(settings: Settings, lists: list[DnsList]) -> list[CheckReport]:
    servers = parse_servers(settings.dns.servers) or system_servers()
    reports = await asyncio.gather(*(_server(server, settings.dns.timeout_s) for server in servers))
    async with open_resolver(settings.dns) as resolver:
        return [*reports, *await asyncio.gather(*(_list(dns_list, resolver) for dns_list in lists))]


async def _server(server: ResolverAddress, timeout_s: float) -> CheckReport:
    async with Resolver([server], timeout_s=timeout_s) as resolver:
        started = time.monotonic()
        root, nobody = await asyncio.gather(
            resolver.ask(".", DnsType.NS), resolver.ask(NOBODY, DnsType.A)
        )
        return resolver_report(server, root, nobody, took_ms=(time.monotonic() - started) * 1000)


def resolver_report(
    server: ResolverAddress, root: DnsAnswer, nobody: DnsAnswer, *, took_ms: float
) -> CheckReport:
    """Return what is to be thought of a resolver.

    Args:
        server: that was asked.
        root: its answer about the root's name servers.
        nobody: its answer about a name that nobody has.
        took_ms: both together.
    """
    subject = f"resolver {server}"
    if root.outcome is DnsOutcome.TEMPERROR:
        words = f"no answer: {root.why}; without it SPF, DKIM, DMARC and DNS lists know nothing"
        return CheckReport(subject, CheckState.WARN, words)
    if nobody.outcome is DnsOutcome.FOUND:
        words = (
            f"makes up answers: {NOBODY} is {' '.join(nobody.names)[:100]}; no DNS list can "
            f"be trusted through it"
        )
        return CheckReport(subject, CheckState.FAIL, words)
    if server.host in PUBLIC:
        return CheckReport(
            subject,
            CheckState.WARN,
            "is everybody's: most DNS lists refuse it; run a resolver of your own",
        )
    return CheckReport(subject, CheckState.OK, f"answers in {took_ms:.0f} ms")


async def _list(dns_list: DnsList, asker: DnsAsker) -> CheckReport:
    subject, points = f"DNS list {dns_list.name}", probes(dns_list)
    if not points:
        return CheckReport(
            subject,
            CheckState.OK,
            "has no test points; it is trusted until its answers tell otherwise",
        )
    started = time.monotonic()
    state = await probe_list(dns_list, asker)
    took = (time.monotonic() - started) * 1000
    if state.state is DnsblState.HEALTHY:
        return CheckReport(
            subject, CheckState.OK, f"{len(points)} test points are right, {took:.0f} ms"
        )
    refused = state.fault is DnsblFault.REFUSED
    hint = "docs/senders/dns-lists.md says what each refusal means" if refused else ""
    if refused and dns_list.terms:
        hint += f"; its terms: {dns_list.terms}"
    return CheckReport(subject, CheckState.FAIL, f"counts nothing: {state.why}", hint)


def _workers(context: Site) -> Iterator[CheckReport]:
    """Yield what the running workers do not believe at present."""
    now_asked = " ".join(
        map(str, parse_servers(context.loaded.settings.dns.servers) or system_servers())
    )
    for worker in status.read_workers(context.state, time.time()):
        subject = f"resolver of worker {worker.worker}"
        if worker.dns_trouble:
            yield CheckReport(
                subject,
                CheckState.FAIL,
                f"{worker.dns_trouble}: SPF, DKIM, DMARC and DNS lists know nothing",
            )
        elif worker.resolvers and worker.resolvers != now_asked:
            yield CheckReport(
                subject,
                CheckState.WARN,
                f"asks {worker.resolvers}; {now_asked} is set now",
                "restart the daemon if it stays so",
            )
        for name, listed in worker.lists.items():
            if listed.state == DnsblState.SICK:
                since = datetime.fromtimestamp(listed.since, UTC).isoformat(
                    sep=" ", timespec="seconds"
                )
                words = f"worker {worker.worker} does not ask it since {since}: {listed.why}"
                yield CheckReport(f"DNS list {name}", CheckState.WARN, words)
