"""What a question to the DNS costs: CPU of the asking process, beside dnspython in the same run.

    python benchmarks/resolver.py [--messages 300] [--runs 3]

The responder is a process of its own on loopback that answers any question with one A record at
once; a message asks 20 questions at a time, as lists and authentication do. Each figure is the best
of the runs, in microseconds of CPU per question (user and system).
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Final

import dns.asyncresolver
import dns.resolver
import uvloop

from oborona.dns import DnsOutcome, DnsType
from oborona.resolver import Resolver, ResolverAddress

AT_ONCE: Final = 20  # questions of a message
Ask = Callable[[str], Awaitable[None]]


def respond() -> None:
    """Answer until killed; say the port first."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    print(sock.getsockname()[1], flush=True)
    record = bytes.fromhex("c00c 0001 0001 0000012c 0004 7f000002")
    while True:
        data, asker = sock.recvfrom(4096)
        end = data.index(b"\0", 12) + 5
        head = data[:2] + bytes.fromhex("8180 0001 0001 0000 0000")
        sock.sendto(head + data[12:end] + record, asker)


async def ours(port: int, *, cached: bool, host: str = "127.0.0.1") -> tuple[Ask, Resolver]:
    """Return how to ask our resolver; uncached, the answers are not kept."""
    resolver = Resolver([ResolverAddress(host, port)], cache_entries=10_000 if cached else 0)

    async def ask(name: str) -> None:
        assert (await resolver.ask(name, DnsType.A)).outcome is DnsOutcome.FOUND

    return ask, resolver


def dnspythons(port: int, *, cached: bool) -> Ask:
    """Return how to ask dnspython."""
    resolver = dns.asyncresolver.Resolver(configure=False)
    resolver.nameservers = ["127.0.0.1"]
    resolver.port = port
    resolver.cache = dns.resolver.LRUCache(10_000) if cached else None

    async def ask(name: str) -> None:
        assert await resolver.resolve(name, "A")

    return ask


async def cost(ask: Ask, names: list[list[str]]) -> float:
    """Return microseconds of CPU per question."""
    begin = time.process_time()
    for message in names:
        await asyncio.gather(*map(ask, message))
    return (time.process_time() - begin) / sum(map(len, names)) * 1e6


def distinct(messages: int, mark: str) -> list[list[str]]:
    """Return names, each once."""
    return [
        [f"{number}.{place}.2.0.192.{mark}.zone.test." for place in range(AT_ONCE)]
        for number in range(messages)
    ]


async def measure(port: int, messages: int, runs: int) -> dict[str, float]:
    """Return all figures, by name."""
    figures: dict[str, float] = {}

    def note(name: str, value: float) -> None:
        figures[name] = min(value, figures.get(name, value))

    for run in range(runs):
        few = distinct(5, f"warm{run}")
        same = few * (messages // 5)
        for cached in (False, True):
            kind = "cached" if cached else "uncached"
            names = same if cached else distinct(messages, f"r{run}")
            ask, resolver = await ours(port, cached=cached)
            async with resolver:
                await cost(ask, few)
                note(f"oborona, {kind}", await cost(ask, names))
            ask = dnspythons(port, cached=cached)
            await cost(ask, few)
            note(f"dnspython, {kind}", await cost(ask, names))
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=300)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--respond", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.respond:
        respond()
    with subprocess.Popen(
        [sys.executable, __file__, "--respond"], stdout=subprocess.PIPE
    ) as responder:
        try:
            assert responder.stdout is not None
            port = int(responder.stdout.readline())
            for loop, run in (("uvloop", uvloop.run), ("asyncio", asyncio.run)):
                for name, value in run(measure(port, options.messages, options.runs)).items():
                    print(f"{loop:8} {name:22} {value:7.1f} µs per question")
        finally:
            responder.kill()


if __name__ == "__main__":
    main()
