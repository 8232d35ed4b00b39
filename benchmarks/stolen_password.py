"""How much a stolen password gets out, behind a real Postfix and four workers.

    python benchmarks/stolen_password.py [--runs 5] [--pace 0] [--policy FILE]

Four connections at a time send one message after the other, each to an address that nobody wrote to
before, as fast as they are answered, or --pace of them a second together; every other account of
the site is silent.  Each run begins with an empty state and the policy that ships.  Four kinds of
mail:

    pitch     one text of a hundred words that no rule knows, with a link
    varied    the same, with the recipient's name and another number in each
    phish     a short letter that asks for a password
    short     "At noon?", which no rule of content can stop, with the limits that ship switched on

Told for each run: messages that left (accepted, and not on hold) before the first that did not, all
that left, how many were sent a second, and for `short` the limit and what left above it in seconds
of the flow.  JSON on standard output.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from tests.peers.dns import Zones  # noqa: E402
from tests.peers.postfix import Postfix, transaction  # noqa: E402
from tests.whole.gate import Gate  # noqa: E402
from tests.whole.queued import OUTGOING, queue  # noqa: E402

WORKERS: Final = 4
CONNECTIONS: Final = 4
EACH: Final = 120  # messages of a connection
GIVEN_UP: Final = 10  # refusals in a row: Postfix puts off the client more and more
LIMIT: Final = 200  # HOURLY_RECIPIENTS as it ships
LOGIN: Final = "ann@example.test"
LIVE: Final = "".join(
    f'[[limit]]\nname = "{name}"\nmode = "live"\n'
    for name in ("HOURLY_RECIPIENTS", "DAILY_RECIPIENTS", "OWN_SPAM")
)
_PITCH: Final = """Good morning,

we run a small workshop in the north of the country and make tables, shelves and boards of old
oak, each of which has a number and the name of who made it. This spring we have begun to send
them abroad. If your house could do with a table that your grandchildren will still fight over,
have a look at what is ready at https://workshop.tables.example/spring and tell us which of them
you like best. We answer every letter ourselves, mostly in the evening, when the saws are still.
Measures on demand; wood from our own forest; six weeks from your word to your door. Those who
come by may also sit down at one first, and have coffee with us.
"""
_PHISH: Final = """Dear customer,

your mailbox is full and will be closed within 24 hours. To keep your messages confirm your
password at once: https://mailbox-upgrade.webstorage.example/login.php?user={to}

The mail administration
"""


def letter(kind: str, number: int, to: str) -> bytes:
    """Return one message of a kind."""
    chance = random.Random(number)  # noqa: S311 - no secret
    name = to.partition("@")[0].capitalize()
    text, subject = {
        "pitch": (_PITCH, "Tables of old oak"),
        "varied": (
            f"Dear {name},\n\n{_PITCH}\nYour number is {chance.randrange(10**6)}.\n",
            f"{name}, tables of old oak",
        ),
        "phish": (_PHISH.format(to=to), "Your mailbox is full"),
        "short": ("At noon?\n", "Lunch"),
    }[kind]
    head = (
        f"From: Ann <{LOGIN}>\nTo: {to}\nSubject: {subject}\nDate: Fri, 20 Nov 2026 10:00:00 +0000\n"
        f"Message-ID: <{number}.{chance.randrange(10**9)}@example.test>\n\n"
    )
    return (head + text).replace("\n", "\r\n").encode()


def run(kind: str, policy: str, pace: float) -> dict[str, object]:
    """Return what one run of a kind got out, at so many messages a second (0: at full speed)."""
    more = LIVE if kind == "short" else ""
    settings = {"worker.processes": WORKERS}
    main = OUTGOING | {"smtpd_error_sleep_time": "0", "smtpd_hard_error_limit": "10000"}
    taken: list[tuple[float, str]] = []
    refused: list[float] = []
    with (
        Zones() as zones,
        Gate(zones.setting, more + policy, settings=settings) as gate,
        Postfix(f"unix:{gate.folder}/milter.sock", main=main) as postfix,
    ):

        def flood(connection: int) -> None:
            told = {"ADDR": f"192.0.2.{connection + 9}", "NAME": "[UNAVAILABLE]", "LOGIN": LOGIN}
            in_a_row = 0
            with postfix.connect(told) as smtp:
                for number in range(EACH):
                    if pace:
                        due = began + (number * CONNECTIONS + connection) / pace
                        time.sleep(max(0.0, due - time.monotonic()))
                    to = f"person{connection}x{number}@d{number % 7}.example"
                    raw = letter(kind, connection * EACH + number, to)
                    reply = transaction(smtp, raw, LOGIN, [to])[-1]
                    at = time.monotonic()
                    if reply.startswith("250"):
                        taken.append((at, reply.rsplit(" ", 1)[-1]))
                        in_a_row = 0
                        continue
                    refused.append(at)
                    in_a_row += 1
                    if in_a_row == GIVEN_UP:
                        return

        began = time.monotonic()
        threads = [threading.Thread(target=flood, args=(number,)) for number in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        held = {ident for ident, where in queue(postfix).items() if where == "hold"}
    stops = [at for at, ident in taken if ident in held] + refused
    left = [at for at, ident in taken if ident not in held]
    first = min(stops, default=float("inf"))
    speed = len(taken) / (max(at for at, _ in taken) - began)
    return {
        "before_first_stop": sum(at < first for at in left),
        "left": len(left),
        "held": len(held),
        "refused": len(refused),
        "taken_a_second": round(speed, 1),
        "above_limit_s": round((len(left) - LIMIT) / speed, 2) if kind == "short" else None,
    }


def main() -> None:
    """Run, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pace", type=float, default=0.0, help="messages a second, 0 = all")
    parser.add_argument("--policy", type=Path, help="more policy")
    parser.add_argument("--kind", choices=("pitch", "varied", "phish", "short"))
    asked = parser.parse_args()
    policy = asked.policy.read_text() if asked.policy else ""
    found = {}
    for kind in [asked.kind] if asked.kind else ("pitch", "varied", "phish", "short"):
        found[kind] = [run(kind, policy, asked.pace) for _ in range(asked.runs)]
        print(kind, *found[kind], sep="\n  ", file=sys.stderr)
    json.dump(found, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
