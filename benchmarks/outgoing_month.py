"""A month of outgoing mail: whom limits and the inspector stop, and whom they should not have.

    python benchmarks/outgoing_month.py                    seeds 1 to 5; some minutes each
    python benchmarks/outgoing_month.py --seeds 7 --say    with each spammer
    python benchmarks/outgoing_month.py --policy FOLDER    by another policy than the one that ships
    python benchmarks/outgoing_month.py --numbers          what the mail is made of

A thousand respectable accounts and fifty spammers send for two weeks, in which limits are in
shadow mode, and for thirty days with limits and inspector live.  Who sends what is made up
(benchmarks/outgoing); what becomes of it is decided by the product's own code
(benchmarks/outgoing/site.py).
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.outgoing.duty import Duty  # noqa: E402
from benchmarks.outgoing.figures import Figures  # noqa: E402
from benchmarks.outgoing.letter import Letter, Sender  # noqa: E402
from benchmarks.outgoing.population import population  # noqa: E402
from benchmarks.outgoing.site import START, Answer, Site  # noqa: E402
from benchmarks.outgoing.world import SOURCES, World  # noqa: E402
from oborona.policy.outgoing_table import OutgoingOutcome  # noqa: E402

Told = Callable[[Letter, Answer], None]


def month(seed: int, policy: Path, told: Told = lambda _letter, _answer: None) -> Figures:
    """Return what a month of a seed came to by a policy; `told` hears of each message."""
    logging.disable(logging.WARNING)
    world = World()
    found = Figures()
    with tempfile.TemporaryDirectory(prefix="oborona-month-") as folder:
        site = Site(Path(folder), policy, population(world, seed, START))
        duty = Duty(site, world, seed)

        def seen(sender: Sender, letter: Letter, answer: Answer) -> None:
            found.note(sender, letter, answer)
            told(letter, answer)
            if sender.spam:
                duty.begun.add(letter.login)
            if answer.outcome is OutgoingOutcome.HOLD:
                duty.held(letter.login, answer.by)

        try:
            asyncio.run(site.run(seen, duty.come, duty.ticks))
        finally:
            site.close()
    return found


def show(seed: int, found: Figures, *, say: bool) -> None:
    """Print what a month came to."""
    sprees = [*found.sprees.values()]
    held, stopped = sum(found.held.values()), sum(spree.stopped for spree in sprees)
    print(
        f"seed {seed}: {found.sent:,} messages of respectable senders, {held:,} held"
        f" ({100 * held / found.sent:.3f} %), {sum(found.refused.values()):,} refused or put off;"
        f" accounts wrongly {_sizes(found)}; spammers stopped {stopped} of {len(sprees)}"
    )
    print("   held by", dict(found.held.most_common()))
    for kind, by in sorted(found.held_of.items()):
        print(f"      {kind:12}", dict(by.most_common()))
    for kind in dict.fromkeys(spree.kind for spree in sprees):
        of = [spree for spree in sprees if spree.kind == kind]
        left = sorted(spree.left for spree in of)
        print(
            f"   {kind:8} stopped {sum(spree.stopped for spree in of):2} of {len(of):2};"
            f" never an excess {sum(spree.excess is None for spree in of)};"
            f" messages left: {sum(left):,}, median {left[len(left) // 2]}, most {left[-1]}"
            f" of {max(spree.tried for spree in of):,} tried;"
            f" recipients reached {sum(spree.recipients_left for spree in of):,}"
        )
    if say:
        for name, spree in found.sprees.items():
            print(
                f"      {name:12} tried {spree.tried:6} left {spree.left:6} late {spree.late:6}"
                f" first excess {'never' if spree.excess is None else f'{spree.excess / 86400:.2f}'}"
            )


def _sizes(found: Figures) -> str:
    sizes = Counter({state: len(logins) for state, logins in found.wronged.items()})
    return f"banned {sizes['banned']}, limited {sizes['limited']}"


def main() -> None:
    """Run the months that are asked for, and print them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--policy", type=Path, default=ROOT / "etc/policy.d", help="a folder")
    parser.add_argument("--say", action="store_true", help="with each spammer")
    parser.add_argument("--numbers", action="store_true", help="what the mail is made of, alone")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    if asked.numbers:
        world = World()
        for name, (meaning, source) in SOURCES.items():
            print(f"{name:18} {getattr(world, name)!s:12} {meaning}; {source}")
        return
    begun = time.monotonic()
    with ProcessPoolExecutor(min(asked.processes, len(asked.seeds))) as pool:
        months = pool.map(partial(month, policy=asked.policy), asked.seeds)
        for seed, found in zip(asked.seeds, months, strict=True):
            show(seed, found, say=asked.say)
            sys.stdout.flush()
    print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
