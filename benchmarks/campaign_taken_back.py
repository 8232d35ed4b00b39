"""A campaign delivered to many mailboxes is taken back: real Postfix, real Dovecot, our daemon as
it is shipped.

    python benchmarks/campaign_taken_back.py                    500 mailboxes; needs root, Postfix
                                                                and Dovecot
    python benchmarks/campaign_taken_back.py --mailboxes 100    fewer of them
    python benchmarks/campaign_taken_back.py --brigade 200      then so many readers, who were
                                                                bought, move theirs back from Junk

Near-duplicates are delivered to all of them, a tenth of the readers opens theirs, ten move theirs
to Junk with IMAP.  Prints one JSON line: seconds of the delivery; seconds from the tenth complaint
until the first unread copy, and the last, is in Junk; how many copies that were opened are where
they were; what became of the next copy; after the brigade, how many copies of others left Junk and
what became of a further copy; seconds of CPU that our processes took meanwhile, and whether moves
stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from tests.whole.after import After  # noqa: E402

COMPLAIN: Final = 10
WITHIN_S: Final = 60.0  # for whatever takes seconds
TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_s(parent: int) -> float:
    """Return the CPU of a process and its children, seconds."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    total = 0.0
    for pid in (str(parent), *children):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def until(name: str, what: Callable[[], bool], within_s: float = WITHIN_S) -> float:
    """Wait until something is so; return the seconds."""
    began = time.monotonic()
    while not what():
        if time.monotonic() - began > within_s:
            raise SystemExit(f"it never came: {name}")
        time.sleep(0.02)
    return time.monotonic() - began


def _moved(site: After, users: Sequence[str]) -> int:
    return sum((site.inbox(one), site.junk(one)) == (0, 1) for one in users)


def _next_copy(site: After, user: str) -> str:
    """Send another copy to a reader who has none; return what became of it."""
    (reply,) = site.campaign([user])
    if reply.startswith("550"):
        return "refused"
    until("the next copy", lambda: site.junk(user) + site.inbox(user) > 0)
    return "filed" if site.junk(user) else "delivered"


def _decided(site: After) -> int:
    """Return how many pardons were decided about."""
    said = site.oborona.run(
        "feedback", "list", "--what", "pardon", "--last", "100000", "--json"
    ).stdout
    return sum(json.loads(line)["decided"] is not None for line in said.splitlines())


def _brigade(site: After, users: Sequence[str], bought: int) -> dict[str, object]:
    """Let bought accounts pardon; return what changed for the others."""
    for user in users[:bought]:
        site.drag(user, "Junk", "INBOX")
    until("all pardons decided", lambda: _decided(site) >= bought)
    time.sleep(5)  # whatever would follow from them follows within that
    others = users[bought:]
    return {
        "pardoned": bought,
        "kept_by_who_pardoned": sum(site.inbox(one) == 1 for one in users[:bought]),
        "others_changed": len(others) - _moved(site, others),
        "copy_after_pardons": _next_copy(site, "last"),
    }


def measured(mailboxes: int, bought: int = 0) -> dict[str, object]:
    """Return the figures."""
    users = [f"reader{number}" for number in range(mailboxes)]
    opened = users[COMPLAIN : COMPLAIN + mailboxes // 10]
    unread = users[COMPLAIN + mailboxes // 10 :]
    with After([*users, "later", "last"]) as site:
        began = time.monotonic()
        site.campaign(users)
        until("delivery", lambda: sum(site.dovecot.counts().values()) >= mailboxes)
        delivered_s = time.monotonic() - began
        inbox = site.dovecot.counts()["INBOX"]
        for user in opened:
            site.read(user)
        for user in users[: COMPLAIN - 1]:
            site.drag(user, "INBOX", "Junk")
        process = site.oborona.process
        assert process is not None
        used = cpu_s(process.pid)
        site.drag(users[COMPLAIN - 1], "INBOX", "Junk")
        complained = time.monotonic()
        first_s = until("the first move", lambda: any(site.junk(user) for user in unread))
        moved = _moved(site, unread)
        while moved < len(unread) and time.monotonic() - complained < WITHIN_S:
            time.sleep(0.1)
            moved = _moved(site, unread)
        last_s = time.monotonic() - complained
        used = cpu_s(process.pid) - used
        copy = _next_copy(site, "later")
        brigade = _brigade(site, unread, bought) if bought else {}
        said = json.loads(site.oborona.run("recheck", "status", "--json").stdout)
        return {
            "mailboxes": mailboxes,
            "delivered_s": round(delivered_s, 1),
            "to_inbox": inbox,
            "first_s": round(first_s, 2),
            "all_s": round(last_s, 2),
            "unread": len(unread),
            "moved": moved,
            "opened_stay": sum((site.inbox(one), site.junk(one)) == (1, 0) for one in opened),
            "opened": len(opened),
            "next_copy": copy,
            **brigade,
            "cpu_s": round(used, 2),
            "moves": said["moves"],
            "stopped": said["paused"],
        }


def main() -> None:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mailboxes", type=int, default=500)
    parser.add_argument("--brigade", type=int, default=0)
    asked = parser.parse_args()
    json.dump(measured(asked.mailboxes, asked.brigade), sys.stdout)
    print()


if __name__ == "__main__":
    main()
