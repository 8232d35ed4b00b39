"""What a page of signatures costs the desk: 20,000 in the store, found over 14 days, looked at in
each view.

    python benchmarks/signature_pages.py

CPU and wall time of `signatures.find` with its answer as JSON, the median and the 95th percentile
of 60; the shipped policy is in force, whose marks are passed over.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

import oborona.desk.calls  # noqa: F401 - declares them
from oborona import state_files
from oborona.daemon.state import prepare_state
from oborona.desk.call import CALLS
from oborona.desk.configured_site import SiteSource
from oborona.desk.followed_site import FollowedSite
from oborona.people.caller import Caller, CallWay, Scope, with_roles
from oborona.people.rights import Role
from oborona.policy.signatures import Signature, SignatureFlag, SignatureKind
from oborona.stores.signatures.hit_counts import DAY_S, DAYS
from oborona.stores.signatures.store import SignatureStore
from oborona.types import RuleMode

ROOT = Path(__file__).resolve().parents[1]
NUMBER = 20_000
TIMES = 60
VIEWS: tuple[dict[str, Any], ...] = (
    {}, {"skip": NUMBER - 50}, {"view": "found"}, {"view": "shadow"}, {"view": "stale"},
    {"view": "ending"}, {"text": "prize 77"}, {"owner": "owner7"}, {"most": 200},
)  # fmt: skip


def fill(path: Path) -> None:
    """Write the signatures, and hits of 14 days."""
    now, dice = time.time(), random.Random(7)  # noqa: S311 - no secret
    rows = [
        Signature(
            id="s1", flag=SignatureFlag.SPAM, kind=SignatureKind.PHRASE,
            value=f"golden parrot prize {number} harbour office", owner=f"owner{number % 50}",
            reason="a campaign that came in parts", author="anna", created=now - number * 300,
            expires=now + number * 60 if number % 3 else 0.0,
            mode=RuleMode.SHADOW if number % 7 == 0 else RuleMode.LIVE,
        )
        for number in range(NUMBER)
    ]  # fmt: skip
    with SignatureStore(path) as store:
        store.add(rows, now=now)
        for day in range(DAYS):
            found = {f"s{dice.randint(1, NUMBER)}": dice.randint(1, 50) for _ in range(6_000)}
            last = now - day * DAY_S
            store.add_hits({name: (count, last) for name, count in found.items()})


def measured(site: FollowedSite, who: Caller, asked: dict[str, Any]) -> tuple[int, list[str]]:
    """Return how many signatures a view has, and what asking for a page of it costs."""
    call = CALLS["signatures.find"]
    question, wall, cpu, number = msgspec.convert(asked, call.asked), [], [], 0
    for _ in range(TIMES):
        began, used = time.perf_counter(), time.process_time()
        answer = call.function(site, who, question)
        msgspec.json.encode(answer)
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
        number = answer.number
    places = (TIMES // 2, TIMES * 95 // 100)
    return number, [f"{sorted(some)[at] * 1e3:.1f}" for some in (cpu, wall) for at in places]


def main() -> None:
    """Print a table."""
    who = with_roles(
        "anna", frozenset({Role.ANALYST}), Scope(), way=CallWay.PAGE, source="", place=""
    )
    table = Table("asked", "signatures", "CPU p50, ms", "p95", "wall p50, ms", "p95")
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        prepare_state(state)
        fill(state / state_files.SIGNATURES)
        source = SiteSource(ROOT / "etc/oborona.toml", {"paths.state": folder})
        site = FollowedSite(source, lambda _: None)
        for asked in VIEWS:
            number, figures = measured(site, who, asked)
            words = " ".join(f"{name}={value}" for name, value in asked.items()) or "in force"
            table.add_row(words, f"{number:,}", *figures)
    Console().print(table)


if __name__ == "__main__":
    main()
