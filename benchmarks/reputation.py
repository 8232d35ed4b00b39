"""Thirty days of made-up traffic: whom RepIP refuses at connect, how soon, and for how long; the tables of docs/repip.md.

    python benchmarks/reputation.py                     five months of worlds drawn from their ranges; some minutes
    python benchmarks/reputation.py --usual             of the world that RepIP was tuned on, by other seeds
    python benchmarks/reputation.py --put-off           with poor = "tempfail" in [repip]: what that costs good mail
    python benchmarks/reputation.py --numbers           what the worlds are made of, and where each number is from
    python benchmarks/reputation.py --plots FOLDER      with pictures; needs the extra oborona[ml]

What connects, what its messages are and what people say of them is made up (benchmarks/traffic); what the site does is the daemon's own code on its
own counters, with the clock of the traffic.  All thirty days count, from an empty memory on; beside them the days after the first two weeks.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.traffic.blind import blind  # noqa: E402
from benchmarks.traffic.connections import Kind  # noqa: E402
from benchmarks.traffic.figures import CRIES, WARM_DAYS, Figures, Reaction, Share, figures  # noqa: E402
from benchmarks.traffic.forgiving import OFFENCES, forgiven_h  # noqa: E402
from benchmarks.traffic.month import month  # noqa: E402
from benchmarks.traffic.world import DAYS, NUMBERS, World, drawn  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import Policy, load_policy  # noqa: E402

FIRST_SEED: Final = 101  # RepIP was tuned on smaller ones
MONTHS: Final = 5
QUICK: Final = 4  # a world so many times smaller
QUICK_DAYS: Final = 12
OUT: Final = Console(width=150)


def policy(*, put_off: bool) -> Policy:
    """Return the policy that ships, with what is done about a poor address."""
    found = load_policy(ROOT / "etc/policy.d", SCHEMA)
    poor = msgspec.structs.replace(found.repip, bad="reject", poor="tempfail" if put_off else "none")
    return msgspec.structs.replace(found, repip=poor)


def smaller(world: World) -> World:
    """Return a world for a quick look, as dense as it was."""
    parts = {name: getattr(world, name) / QUICK for name in ("spam", "good", "pools")}
    return msgspec.structs.replace(world, **parts)


def one(seed: int, *, usual: bool, quick: bool, put_off: bool) -> tuple[World, Figures, list[Reaction]]:
    """Return what one month shows, and its bursts that the filter does not see."""
    rules = policy(put_off=put_off)
    world = World() if usual else drawn(np.random.default_rng(seed))
    if quick:
        world = smaller(world)
    shown = figures(month(world, seed, rules, QUICK_DAYS if quick else DAYS))
    return world, shown, [] if quick else blind(world, seed, rules)


def numbers() -> Table:
    """Return what the worlds are made of."""
    table = Table("number", "usual", "drawn from", "meaning", "source", title="The worlds")
    usual = World()
    for name, number in NUMBERS.items():
        table.add_row(
            name,
            f"{getattr(usual, name):g}",
            f"{number.low:g} .. {number.high:g}",
            number.meaning,
            number.source,
        )
    return table


def percent(share: Share, digits: int = 1) -> str:
    """Return a share as people read it."""
    return f"{share.value * 100:.{digits}f} %"


def together(shares: Iterable[Share]) -> Share:
    """Return several shares as one."""
    every = list(shares)
    return Share(sum(each.all for each in every), sum(each.refused for each in every))


def span(shares: list[Share], digits: int = 1) -> list[str]:
    """Return the share of all together, the least and the most."""
    return [percent(together(shares), digits), percent(min(shares, key=lambda one: one.value), digits),
            percent(max(shares, key=lambda one: one.value), digits)]  # fmt: skip


def months(shown: list[tuple[World, Figures]], first: int) -> Table:
    """Return a row for each month."""
    title = f"Refused at connect; in brackets: after the first {WARM_DAYS} days"
    table = Table(
        "seed",
        "connections",
        "caught at once",
        "spam refused",
        "good refused",
        "good ones, number",
        title=title,
    )
    for seed, (_, each) in enumerate(shown, first):
        table.add_row(
            str(seed), f"{each.spam.all + each.good.all:,}", percent(each.caught),
            f"{percent(each.spam)} ({percent(each.later_spam)})",
            f"{percent(each.good, 4)} ({percent(each.later_good, 4)})",
            f"{each.good.refused} ({each.later_good.refused})",
        )  # fmt: skip
    every = [each for _, each in shown]
    table.add_section()
    table.add_row(
        "all", f"{sum(each.spam.all + each.good.all for each in every):,}", percent(together(each.caught for each in every)),
        f"{percent(together(each.spam for each in every))} ({percent(together(each.later_spam for each in every))})",
        f"{percent(together(each.good for each in every), 4)} ({percent(together(each.later_good for each in every), 4)})",
        f"{sum(each.good.refused for each in every)} ({sum(each.later_good.refused for each in every)})",
    )  # fmt: skip
    return table


def kinds(every: list[Figures]) -> Table:
    """Return a row for each kind of sender."""
    table = Table(
        "who",
        "connections",
        "refused",
        "least",
        "most",
        "senders refused",
        title="By kind of sender, all months",
    )
    for kind in Kind:
        if kind is Kind.BOT:
            table.add_section()
        shares = [each.kinds[kind] for each in every]
        senders = "" if kind.spam else str(sum(each.senders[kind] for each in every))
        table.add_row(kind.words, f"{together(shares).all:,}", *span(shares, 1 if kind.spam else 3), senders)
    return table


def reaction(title: str, found: list[Reaction]) -> Table:
    """Return how soon bursts were refused."""
    table = Table(
        "bursts with so many",
        "refused before",
        "seconds after, median",
        "most",
        "let in, median",
        "most",
        title=title,
    )
    seconds, passed = np.array([each.seconds for each in found]), np.array([each.passed for each in found])
    if len(found):
        table.add_row(
            str(len(found)), str(int((seconds == 0).sum())), f"{np.median(seconds):.0f}", f"{seconds.max():.0f}",
            f"{np.median(passed):.0f}", str(passed.max()),
        )  # fmt: skip
    return table


def forgiving() -> Table:
    """Return how long an address is refused after its last bad message."""
    table = Table("what it did", "let in again after", title="Forgiving")
    for offence in OFFENCES:
        hours = forgiven_h(offence)
        words = (
            "over 16 days" if hours is None else f"{hours} hours" if hours < 48 else f"{hours / 24:.1f} days"
        )
        table.add_row(offence.words, words)
    return table


def main() -> None:
    """Make months, let them come, and show what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--months", type=int, default=MONTHS)
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="of the first month; the others follow")
    parser.add_argument("--usual", action="store_true", help="the world that RepIP was tuned on")
    parser.add_argument("--put-off", action="store_true", help='poor = "tempfail"')
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_DAYS} days of a world {QUICK} times smaller"
    )
    parser.add_argument("--numbers", action="store_true", help="show what the worlds are made of, and leave")
    parser.add_argument("--plots", type=Path, metavar="FOLDER")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if options.numbers:
        OUT.print(numbers())
        return
    began = time.perf_counter()
    work = partial(one, usual=options.usual, quick=options.quick, put_off=options.put_off)
    seeds = range(options.seed, options.seed + options.months)
    with ProcessPoolExecutor(options.processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(work, seeds))
    every = [shown for _, shown, _ in found]
    OUT.print(months([(world, shown) for world, shown, _ in found], options.seed))
    OUT.print(kinds(every))
    bursts, stopped = sum(each.bursts for each in every), sum(each.bursts_refused for each in every)
    OUT.print(f"{stopped} of {bursts} bursts were refused at some time.")
    OUT.print(
        reaction(
            f"From {CRIES} complaints and trap hits to the refusal",
            [one for each in every for one in each.reactions],
        )
    )
    unseen = [one for _, _, each in found for one in each]
    if unseen:
        OUT.print(reaction("The same, of bursts of which the filter catches nothing", unseen))
    OUT.print(forgiving())
    OUT.print(f"{time.perf_counter() - began:.0f} s")
    if options.plots:
        from benchmarks.traffic.plots import draw  # noqa: PLC0415 - needs the extra

        draw(options.plots, every, unseen)


if __name__ == "__main__":
    main()
