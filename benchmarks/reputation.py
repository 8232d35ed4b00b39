"""Thirty days of made-up traffic: whom RepIP refuses at connect, how soon, and for how long.

The tables of docs/measured/senders.md.

    python benchmarks/reputation.py                   five months of worlds drawn from their ranges;
                                                      some minutes
    python benchmarks/reputation.py --usual           of the world that RepIP was tuned on, by other
                                                      seeds
    python benchmarks/reputation.py --put-off         with poor = "tempfail" in [repip]: what that
                                                      costs good mail
    python benchmarks/reputation.py --unlearned       refusing from the first day on, with an empty
                                                      memory
    python benchmarks/reputation.py --numbers         what the worlds are made of, and where each
                                                      number is from
    python benchmarks/reputation.py --plots FOLDER    with pictures; needs the extra oborona[ml]

What connects, what its messages are and what people say of them is made up (benchmarks/traffic);
what the site does is the daemon's own code on its own counters, with the clock of the traffic.  It
learns for two weeks and refuses nobody; then thirty days are measured.
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
from benchmarks.traffic.figures import CRIES, Figures, Reaction, Share, figures  # noqa: E402
from benchmarks.traffic.forgiving import OFFENCES, forgiven_h  # noqa: E402
from benchmarks.traffic.month import month  # noqa: E402
from benchmarks.traffic.world import DAYS, LEARNING, NUMBERS, World, drawn  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import Policy, load_policy  # noqa: E402

FIRST_SEED: Final = 101  # RepIP was tuned on smaller ones
MONTHS: Final = 5
QUICK_LEARNING: Final = 1.0
QUICK_DAYS: Final = 2.0  # those included
OUT: Final = Console(width=150)


def policy(*, put_off: bool) -> Policy:
    """Return the policy that ships, with what is done about a poor address."""
    found = load_policy(ROOT / "etc/policy.d", SCHEMA)
    poor = msgspec.structs.replace(
        found.repip, bad="reject", poor="tempfail" if put_off else "none"
    )
    return msgspec.structs.replace(found, repip=poor)


def one(
    seed: int, *, usual: bool, quick: bool, put_off: bool, learning: float
) -> tuple[Figures, list[Reaction]]:
    """Return what one month shows, and its bursts that the filter does not see."""
    rules = policy(put_off=put_off)
    world = World() if usual else drawn(np.random.default_rng(seed))
    days: float = learning + DAYS - LEARNING
    if quick:
        learning, days = QUICK_LEARNING, QUICK_DAYS
    shown = figures(month(world, seed, rules, learning=learning, days=days))
    return shown, [] if quick else blind(world, seed, rules)


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


def months(every: list[Figures], first: int) -> Table:
    """Return a row for each month."""
    table = Table(
        "seed",
        "connections",
        "caught at once",
        "spam refused",
        "good",
        "good refused",
        "of them",
        title="Refused at connect",
    )
    for name, each in zip(
        [*map(str, range(first, first + len(every))), "all"],
        [[one] for one in every] + [every],
        strict=True,
    ):
        spam, good = together(one.spam for one in each), together(one.good for one in each)
        caught = percent(together(one.caught for one in each))
        table.add_row(
            name,
            f"{spam.all + good.all:,}",
            caught,
            percent(spam),
            f"{good.all:,}",
            str(good.refused),
            percent(good, 4),
        )
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
        table.add_row(
            kind.words, f"{together(shares).all:,}", *span(shares, 1 if kind.spam else 3), senders
        )
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
    seconds, passed = (
        np.array([each.seconds for each in found]),
        np.array([each.passed for each in found]),
    )
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
            "over 16 days"
            if hours is None
            else f"{hours} hours"
            if hours < 48
            else f"{hours / 24:.1f} days"
        )
        table.add_row(offence.words, words)
    return table


def main() -> None:
    """Make months, let them come, and show what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--months", type=int, default=MONTHS)
    parser.add_argument(
        "--seed", type=int, default=FIRST_SEED, help="of the first month; the others follow"
    )
    parser.add_argument("--usual", action="store_true", help="the world that RepIP was tuned on")
    parser.add_argument("--put-off", action="store_true", help='poor = "tempfail"')
    parser.add_argument("--unlearned", action="store_true", help="refuse from the first day on")
    parser.add_argument("--quick", action="store_true", help="a few days")
    parser.add_argument(
        "--numbers", action="store_true", help="show what the worlds are made of, and leave"
    )
    parser.add_argument("--plots", type=Path, metavar="FOLDER")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if options.numbers:
        OUT.print(numbers())
        return
    began = time.perf_counter()
    work = partial(
        one,
        usual=options.usual,
        quick=options.quick,
        put_off=options.put_off,
        learning=0 if options.unlearned else LEARNING,
    )
    seeds = range(options.seed, options.seed + options.months)
    with ProcessPoolExecutor(
        options.processes, mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        found = list(pool.map(work, seeds))
    every = [shown for shown, _ in found]
    OUT.print(months(every, options.seed))
    OUT.print(kinds(every))
    bursts, stopped = sum(each.bursts for each in every), sum(each.bursts_refused for each in every)
    OUT.print(f"{stopped} of {bursts} bursts were refused at some time.")
    OUT.print(
        reaction(
            f"From {CRIES} complaints and trap hits to the refusal",
            [one for each in every for one in each.reactions],
        )
    )
    unseen = [one for _, each in found for one in each]
    if unseen:
        OUT.print(reaction("The same, of bursts of which the filter catches nothing", unseen))
    OUT.print(forgiving())
    OUT.print(f"{time.perf_counter() - began:.0f} s")
    if options.plots:
        from benchmarks.traffic.plots import draw  # noqa: PLC0415 - needs the extra

        draw(options.plots, every, unseen)


if __name__ == "__main__":
    main()
