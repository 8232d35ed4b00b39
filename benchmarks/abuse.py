"""What accounts, addresses and messages cost others: attacks on a made-up site, by the daemon's own
code, and what became of everybody else's mail.

    python benchmarks/abuse.py              all scenes, some minutes
    python benchmarks/abuse.py 0.2          a fifth of the mail

Each row is one attack: how many of the others' messages were sent after it, and how many of these
were refused or filed.  The scenes are those of `tests/abuse/scenes.py`; docs/people/abuse.md says
what is promised of each.  No mail server and no DNS take part, and the clock is the scenes'.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests has the scenes

from tests.abuse import scenes
from tests.abuse.attacked import HERE, TRAPS, Attacked
from tests.abuse.scenes import Harm, Spammed

SAME_64: Final = [f"2001:db8:bad:1::{place:x}" for place in range(1, 10)]
NINE: Final = [f"100.{64 + place}.0.1" for place in range(9)]


_ACCOUNTS: Final = (
    (1, 10, True),
    (1, 20, True),
    (3, 10, True),
    (10, 2, False),
    (20, 2, False),
    (10, 2, True),
    (20, 2, True),
)
"""How many of the attacker's there are, complaints of each, and whether they have a past."""

T = TypeVar("T")


def rows(size: float) -> Iterator[tuple[str, Callable[[Attacked], Harm]]]:
    """Return the attacks by their names.

    Each, done to a fresh site, returns what the others lost.
    """
    mails = max(20, round(300 * size))
    for accounts, each, aged in _ACCOUNTS:
        for past in (False, True):
            name = (
                f"{accounts} {'aged' if aged else 'new'} accounts, {each} complaints each, of "
                f"a relay {'with' if past else 'without'} a past"
            )
            yield (
                name,
                partial(
                    scenes.relay, accounts=accounts, each=each, aged=aged, mails=mails, past=past
                ),
            )
    for traps, each, past in ((1, 10, False), (3, 5, False), (10, 1, False), (10, 1, True)):
        name = (
            f"{traps} traps, {each} letters to each through a relay "
            f"{'with' if past else 'without'} a past"
        )
        yield name, partial(scenes.relay_to_traps, traps=traps, each=each, mails=mails, past=past)
    for traps, networks in ((1, 1), (3, 1), (2, 2), (3, 3)):
        for proved in (True, False):
            name = (
                f"a newsletter {'with' if proved else 'without'} proof, sent to {traps} traps "
                f"from {networks} networks"
            )
            yield name, partial(_trapped, traps=traps, networks=networks, proved=proved)
    for clients, where in ((SAME_64, "9 addresses of one /64"), (NINE, "9 networks")):
        for proved, forgers in ((True, False), (False, False), (True, True)):
            by = ", each proved by a domain of its own" if forgers else ""
            name = (
                f"a newsletter {'with' if proved else 'without'} proof, 9 copies from {where}{by}"
            )
            yield (
                name,
                partial(
                    scenes.newsletter_flooded,
                    clients=clients,
                    proved=proved,
                    forgers_proved=forgers,
                ),
            )


def _trapped(site: Attacked, *, traps: int, networks: int, proved: bool) -> Harm:
    return scenes.newsletter_to_traps(site, traps=traps, networks=networks, proved=proved)[0]


def spam(size: float) -> Iterator[tuple[str, Callable[[Attacked], Spammed]]]:
    """Return real campaigns, which must be stopped all the same."""
    mails = max(100, round(1000 * size))
    for share in (0.02, 0.05, 0.2):
        name = f"one address, every text another, {share:.0%} of its readers complain"
        yield name, partial(scenes.spammed, mails=mails, complains=share)


def done(run: Callable[[Attacked], T]) -> T:
    """Do something to a fresh site; return what it returns."""
    with tempfile.TemporaryDirectory() as folder, Attacked(Path(folder)) as site:
        return run(site)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "size",
        type=float,
        nargs="?",
        default=1.0,
        help="how much mail, 1 = as in docs/people/abuse.md",
    )
    size = parser.parse_args().size
    print("| attack | others' messages after it | refused | filed |\n|---|---|---|---|")
    for name, run in rows(size):
        harm = done(run)
        print(f"| {name} | {harm.sent} | {harm.refused} | {harm.filed} |", flush=True)
    print(
        "\n| spam | sent | in inboxes | people who complained | refused from message "
        "|\n|---|---|---|---|---|"
    )
    for name, send in spam(size):
        found = done(send)
        print(
            (
                f"| {name} | {found.sent} | {found.inbox} | {found.complained} | "
                f"{found.stopped or 'never'} |"
            ),
            flush=True,
        )
    one, other = (
        done(partial(scenes.told, candidate=candidate))
        for candidate in (f"reader@{HERE}", f"t0@{TRAPS}")
    )
    print(f"\nheaders of one try tell a trap from a person: {'no' if one == other else 'yes'}")


if __name__ == "__main__":
    main()
