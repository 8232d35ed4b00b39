"""One day of the outgoing month through postfwd and policyd-rate-limit of Debian, beside ours.

    python benchmarks/outgoing_peers.py [--seed 1]         some minutes, as root (the peers drop it)

The day is the workday on which most spammers begin.  The peers have the configuration that their
documents suggest (benchmarks/outgoing/peers.py), begin it without a past, and are asked over their
policy-service sockets, in the order of the mail and with its clock; a spammer sends on, whatever
they say.  Ours has been there for two weeks and more, as in benchmarks/outgoing_month.py: what it
bans, or a person has closed by then, does not send.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from heapq import merge
from operator import itemgetter
from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.outgoing.letter import DAY_S, Letter, Sender, is_workday  # noqa: E402
from benchmarks.outgoing.peers import (  # noqa: E402
    Peer,
    PeerClock,
    policyd_rate_limit,
    postfwd,
    unpack,
)
from benchmarks.outgoing.population import population  # noqa: E402
from benchmarks.outgoing.site import START, Answer  # noqa: E402
from benchmarks.outgoing.world import DAYS, LEARNING, World  # noqa: E402
from benchmarks.outgoing_month import month  # noqa: E402
from oborona.policy.outgoing_table import OutgoingOutcome  # noqa: E402

OURS: Final = "ours"


class DayOf(msgspec.Struct):
    """What became of one sender's mail of a day, by program.

    Attributes:
        spam: it is.
        recipients: written to.
        left: of these, not stopped.
        first: seconds from the sender's first message to the first that was stopped; by program.
        begun: when the first message came, seconds from the first midnight.
    """

    kind: str
    spam: bool
    begun: float
    recipients: int = 0
    left: Counter[str] = msgspec.field(default_factory=Counter)
    first: dict[str, float] = msgspec.field(default_factory=dict)

    def note(self, program: str, letter: Letter, stopped: int) -> None:
        """Take into account how many recipients of a message a program stopped."""
        self.left[program] += len(letter.recipients) - stopped
        if stopped:
            self.first.setdefault(program, letter.at - self.begun)


def busiest(seed: int) -> tuple[int, list[tuple[Letter, Sender]]]:
    """Return the workday on which most spammers begin, and its mail in the order of time."""
    senders = population(World(), seed, START).senders
    plans = [(sender, [*sender.letters]) for sender in senders]
    begins = Counter(int(plan[0].at // DAY_S) for sender, plan in plans if sender.spam and plan)
    day = max(
        (each for each in range(LEARNING + 1, DAYS) if is_workday(each)),
        key=lambda one: begins[one],
    )
    of_day = (
        [(letter, sender) for letter in plan if letter.at // DAY_S == day] for sender, plan in plans
    )
    return day, [*merge(*of_day, key=lambda one: one[0].at)]


def ours(seed: int, policy: Path, day: int) -> dict[tuple[float, str], bool]:
    """Return of each message of a day that came to us whether it left."""
    answers: dict[tuple[float, str], bool] = {}

    def told(letter: Letter, answer: Answer) -> None:
        if letter.at // DAY_S == day:
            answers[letter.at, letter.login] = answer.outcome is OutgoingOutcome.ACCEPT

    month(seed, policy, told)
    return answers


def through(seed: int, policy: Path) -> tuple[int, list[DayOf]]:
    """Return the day, and what became of each sender's mail."""
    day, mail = busiest(seed)
    left = ours(seed, policy, day)
    found: dict[str, DayOf] = {}
    with tempfile.TemporaryDirectory(prefix="oborona-peers-") as name:
        folder = Path(name)
        for each in (folder, folder / "run"):
            each.mkdir(exist_ok=True)
            each.chmod(0o777)  # the peers run as nobody
        root = unpack(folder)
        clock = PeerClock(folder / "clock")
        clock.set(START + day * DAY_S)
        with postfwd(folder, root) as first, policyd_rate_limit(folder, root) as second:
            programs: dict[str, Peer] = {"postfwd": first, "policyd-rate-limit": second}
            for letter, sender in mail:
                clock.set(START + letter.at)
                of = found.setdefault(
                    sender.name, DayOf(kind=sender.kind, spam=sender.spam, begun=letter.at)
                )
                of.recipients += len(letter.recipients)
                for program, peer in programs.items():
                    of.note(program, letter, peer.stops(letter))
                gone = left.get((letter.at, letter.login), False)
                of.note(OURS, letter, 0 if gone else len(letter.recipients))
    return day, [*found.values()]


def show(day: int, found: list[DayOf]) -> None:
    """Print what became of the mail of a day."""
    programs = (OURS, "postfwd", "policyd-rate-limit")
    print(f"day {day - LEARNING + 1} of the month: recipients; of these left, by program")
    kinds = sorted({(of.spam, of.kind) for of in found}, key=itemgetter(0, 1))
    for spam, kind in kinds:
        some = [of for of in found if (of.spam, of.kind) == (spam, kind)]
        print(
            f"{'spam' if spam else 'good'} {kind:12} {len(some):5} senders"
            f" {sum(of.recipients for of in some):9,}",
            *(
                f"{program} {sum(of.left[program] for of in some):,}"
                f" ({sum(program in of.first for of in some)} stopped)"
                for program in programs
            ),
            sep="  ",
        )
    print("spammers: recipients, minutes to the first that was stopped, recipients that left")
    for of in found:
        if of.spam:
            print(
                f"{of.kind:8} {of.recipients:7,}",
                *(
                    f"{program} "
                    + (f"{of.first[program] / 60:.1f} min" if program in of.first else "never")
                    + f" {of.left[program]:,}"
                    for program in programs
                ),
                sep="  ",
            )


def main() -> None:
    """Let the day through, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", type=Path, default=ROOT / "etc/policy.d", help="a folder")
    asked = parser.parse_args()
    if os.geteuid():
        parser.error("the peers are started as root, and drop it")
    show(*through(asked.seed, asked.policy))


if __name__ == "__main__":
    main()
