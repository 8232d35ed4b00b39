"""What moving delivered messages costs: moves a second, and CPU of the mail server for each, by
each way into the mailboxes.

    python -m benchmarks.mailboxes [--mailboxes 500] [--connections 4] [--runs 3] [--large 50000]

A real Dovecot with a mailbox for each user, each with a spam folder and one letter that nobody has
seen.  All letters are moved in calls of 32, four at a time, as the second look does; then moved
back by force.  The last rows are of one mailbox with many messages: the first look ever, and the
next.  Dovecot, its files and the client share the machine's cores.  Medians of the runs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from oborona.recheck.mailboxes.model import MailboxItem, MoveOutcome, SiteMailboxes
from tests.peers.dovecot import NOBODY
from tests.peers.dovecot_mailboxes import MailboxDovecot, made

KINDS: Final = ("doveadm", "imap", "maildir")
BATCH: Final = 32  # letters in one call
CALLS: Final = 4  # at once
TICKS: Final = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mailboxes", type=int, default=500)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--large", type=int, default=50_000)
    asked = parser.parse_args()
    users = [f"user{number}" for number in range(asked.mailboxes)]
    with MailboxDovecot([*users, "large"]) as dovecot:
        for user in users:
            dovecot.deliver_letter(user, headers=["X-Mras: Probable"])  # there is a spam folder
        for kind in KINDS:
            asyncio.run(_many(dovecot, kind, users, asked))
        _fill(dovecot, asked.large)
        for kind in KINDS:
            asyncio.run(_large(dovecot, kind, asked.large))


async def _many(
    dovecot: MailboxDovecot, kind: str, users: Sequence[str], asked: argparse.Namespace
) -> None:
    there, back, cpu = [], [], []
    for _ in range(asked.runs):
        letters = [dovecot.deliver_letter(user) for user in users]
        boxes = dovecot.opened(kind, connections=asked.connections, deadline_s=60.0)
        before = _cpu_s(dovecot)
        there.append(await _moved(boxes, letters, "INBOX", "Junk", force=False))
        cpu.append((_cpu_s(dovecot) - before) / len(letters) * 1000)
        back.append(await _moved(boxes, letters, "Junk", "INBOX", force=True))
        await boxes.close()
    print(
        f"{kind}: {len(users)} mailboxes: {statistics.median(there):.0f} moves a second, all in"
        f" {len(users) / statistics.median(there):.1f} s; {statistics.median(cpu):.1f} ms CPU of "
        f"Dovecot a move;"
        f" back: {statistics.median(back):.0f} a second"
    )


async def _moved(
    boxes: SiteMailboxes, letters: Sequence[MailboxItem], source: str, target: str, *, force: bool
) -> float:
    """Move all letters; return how many a second."""
    left = [letters[start : start + BATCH] for start in range(0, len(letters), BATCH)]
    began = time.perf_counter()

    async def caller() -> None:
        while left:
            done = await boxes.move(left.pop(0), source, target, force=force)
            assert {one.outcome for one in done} == {MoveOutcome.MOVED}, done

    await asyncio.gather(*(caller() for _ in range(CALLS)))
    return len(letters) / (time.perf_counter() - began)


def _fill(dovecot: MailboxDovecot, number: int) -> None:
    """Put read messages into a mailbox, as of the last months."""
    dovecot.deliver_letter("large")
    folder = dovecot.maildir("large") / "cur"
    now = int(time.time())
    raw, _ = made("large")
    for place in range(number):
        when = now - 86_400 - place * 100
        file = folder / f"{when}.M{place}P1.host:2,S"
        file.write_bytes(raw)
        os.utime(file, (when, when))
        os.chown(file, NOBODY, NOBODY)


async def _large(dovecot: MailboxDovecot, kind: str, number: int) -> None:
    times = []
    for _ in range(3):
        letter = dovecot.deliver_letter("large")
        boxes = dovecot.opened(kind, deadline_s=120.0)
        began = time.perf_counter()
        (done,) = await boxes.move([letter], "INBOX", "Junk")
        times.append(time.perf_counter() - began)
        assert done.outcome is MoveOutcome.MOVED, done
        await boxes.close()
    print(
        f"{kind}: a mailbox with {number} messages: first move {times[0]:.2f} s, then "
        f"{times[-1]:.2f} s"
    )


def _cpu_s(dovecot: MailboxDovecot) -> float:
    """Return the CPU time of a Dovecot and of all its processes that are or were, in seconds."""
    total, left = 0, [dovecot.pid]
    while left:
        process = Path("/proc") / str(left.pop())
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            total += sum(int(one) for one in fields[11:15])
            for task in (process / "task").iterdir():
                left += [int(one) for one in (task / "children").read_text().split()]
        except OSError:  # it is gone, and its parent has its time
            continue
    return total / TICKS


if __name__ == "__main__":
    main()
