"""What local lists of a million entries cost, and what DNS lists cost beside the DNS itself.

    python benchmarks/lists.py                     a million entries of each sort
    python benchmarks/lists.py --entries 100000

Each sort is read in a process of its own.  `seconds` and `CPU` are of reading the file's bytes into
a table in a thread, with an event loop beside it that wakes every millisecond; `held` is the
longest that it waited for its turn.  `memory` is what the process holds more afterwards, with what
the allocator keeps for next time.  `hit` and `miss` are one look-up each among all entries, as a
stage makes it, text in and match out.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table as Shown

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona.errors import PolicyError  # noqa: E402
from oborona.policy.merge import merge  # noqa: E402
from oborona.reputation.dnsbl import DnsblInputs, questions  # noqa: E402
from oborona.reputation.locallists import ListAction, ListTable, LocalList, LocalLists, read  # noqa: E402
from oborona.reputation.networks import NOWHERE  # noqa: E402
from oborona.reputation.subject import ListSubject  # noqa: E402
from oborona.toml import read as read_document  # noqa: E402

LOOKS: Final = 100_000
PAGE: Final = resource.getpagesize()
TICK_S: Final = 0.001

draw = random.Random(1)  # noqa: S311 - the same entries on every run


def _address(bits: int = 32) -> str:
    return ".".join(map(str, (draw.getrandbits(bits) << 32 - bits).to_bytes(4, "big")))


def _network() -> str:
    length = draw.randint(16, 32)
    return f"{_address(length)}/{length}"


def _network6() -> str:
    return f"2001:{draw.getrandbits(16):x}:{draw.getrandbits(16):x}:{draw.getrandbits(16):x}::/64"


def _name() -> str:
    return f"host{draw.getrandbits(30)}.example{draw.getrandbits(17)}.com"


SORTS: Final[dict[str, tuple[Callable[[], str], ListSubject]]] = {
    "IPv4 addresses": (_address, ListSubject.CLIENT),
    "IPv4 networks, /16 to /32": (_network, ListSubject.CLIENT),
    "IPv6 networks, /64": (_network6, ListSubject.CLIENT),
    "names": (_name, ListSubject.RDNS),
    "names with all below": (lambda: f".{_name()}", ListSubject.RDNS),
    "mail addresses": (lambda: f"user{draw.getrandbits(30)}@{_name()}", ListSubject.SENDER),
}


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


async def _loaded(raw: bytes) -> tuple[ListTable, float, float, float]:
    """Read in a thread; return seconds, CPU seconds, and the longest that the loop was held up."""
    held = 0.0
    loading = asyncio.create_task(asyncio.to_thread(read, raw))
    begun, used = time.perf_counter(), time.process_time()
    while not loading.done():
        slept = time.perf_counter()
        await asyncio.sleep(TICK_S)
        held = max(held, time.perf_counter() - slept - TICK_S)
    return await loading, time.perf_counter() - begun, time.process_time() - used, held


def _one(sort: str, entries: int) -> dict[str, float]:
    """Measure one sort in this process."""
    make, subject = SORTS[sort]
    known = [make() for _ in range(min(entries, LOOKS))]
    raw = (
        "".join(f"{make()}\n" for _ in range(entries - len(known))).encode()
        + "".join(f"{text}\n" for text in known).encode()
    )
    asyncio.run(_loaded(b"192.0.2.1\nwarm.example\n"))
    gc.collect()
    before = _resident()
    table, seconds, cpu, held = asyncio.run(_loaded(raw))
    gc.collect()
    after = _resident()
    lists = LocalLists(
        [LocalList(name="X", action=ListAction.DENY, of=(subject,), tables=(table,))]
    )
    inside = [text.split("/")[0].lstrip(".") for text in known]
    outside = [text.split("/")[0].lstrip(".") for text in (make() for _ in range(len(known)))]
    return {
        "seconds": seconds,
        "cpu": cpu,
        "held": held,
        "memory": after - before,
        "table": table.nbytes,
        "hit": _looks(lists, subject, inside),
        "miss": _looks(lists, subject, outside),
        "file": len(raw),
    }


def _looks(lists: LocalLists, subject: ListSubject, values: Sequence[str]) -> float:
    begun = time.perf_counter()
    for value in values:
        lists.look(subject, value)
    return (time.perf_counter() - begun) / len(values)


def _dns_lists() -> tuple[float, int]:
    """Return seconds to make the questions of a message for all lists that ship, and their
    number.
    """
    files = sorted((ROOT / "etc/policy.d").glob("15-*.toml"))
    documents = [read_document(path, PolicyError)[0] for path in files]
    local = "".join(
        f'[[dns_list]]\nname = "{one.name}"\nenabled = true\n' for one in merge(documents).dns_lists
    )
    from oborona.toml import parse  # noqa: PLC0415 - of this figure alone

    lists = merge([*documents, parse(local.encode(), "local", PolicyError)]).dns_lists
    messages = [
        DnsblInputs(
            client=_address(),
            helo=_name(),
            rdns=_name(),
            sender=f"a@{_name()}",
            from_=(f"a@{_name()}",),
            links=tuple(_name() for _ in range(5)),
        )
        for _ in range(2000)
    ]
    begun = time.perf_counter()
    number = sum(len(questions(lists, one, NOWHERE, lambda _: True)) for one in messages)
    return (time.perf_counter() - begun) / len(messages), number // len(messages)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--sort", choices=SORTS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.sort:
        print(json.dumps(_one(given.sort, given.entries)))
        return
    shown = Shown(
        "entries",
        "file MB",
        "seconds",
        "CPU s",
        "held ms",
        "table MB",
        "memory MB",
        "hit µs",
        "miss µs",
    )
    for sort in SORTS:
        command = [sys.executable, __file__, "--sort", sort, "--entries", str(given.entries)]
        found = json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout
        )
        shown.add_row(
            sort,
            f"{found['file'] / 1e6:.1f}",
            f"{found['seconds']:.2f}",
            f"{found['cpu']:.2f}",
            f"{found['held'] * 1e3:.0f}",
            f"{found['table'] / 1e6:.1f}",
            f"{found['memory'] / 1e6:.1f}",
            f"{found['hit'] * 1e6:.1f}",
            f"{found['miss'] * 1e6:.1f}",
        )
    seconds, number = _dns_lists()
    console = Console(width=130)
    console.print(f"{given.entries} entries of each sort")
    console.print(shown)
    console.print(
        f"questions of a message with 5 links to all DNS lists that ship: {number}, "
        f"{seconds * 1e6:.0f} µs"
    )


if __name__ == "__main__":
    main()
