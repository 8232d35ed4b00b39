"""What `oborona doctor` says of the DNS lists that are free for the site: whether they are on, and
whether the site is still as small as it said.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.offered_lists import OfferedLists, in_force
from oborona.desk.site import Site
from oborona.errors import PolicyError
from oborona.journal.queries import JournalReader
from oborona.policy.load import Policy

SUBJECT: Final = "free lists"
DAY_S: Final = 86_400.0


def free_lists(context: Site) -> Iterator[CheckReport]:
    """Say what is on, and hold the size that the site said against the journal of a day."""
    try:
        policy = context.policy()
    except PolicyError:
        return  # another check says what is wrong with it
    path = context.state / state_files.JOURNAL
    judged = asyncio.run(_count(path, time.time() - DAY_S)) if path.exists() else 0
    yield size_report(policy, judged)


def size_report(policy: Policy, judged: int) -> CheckReport:
    """Return what is to be said of `[free_lists]`.

    Args:
        policy: in force.
        judged: messages of the last 24 hours whose content was judged.
    """
    words, table = in_force(policy), policy.free_lists
    if not any(dns_list.enabled for dns_list in policy.dns_lists):
        hint = "oborona attach turns on those that are free for you (docs/senders/dns-lists.md)"
        return CheckReport(SUBJECT, CheckState.OK, words, hint)
    if not table.enabled or judged < (table.messages_a_day or 0):
        return CheckReport(SUBJECT, CheckState.OK, words)
    as_it_is = msgspec.structs.replace(table, messages_a_day=judged)
    free = {dns_list.name for dns_list in OfferedLists.of(policy, as_it_is).on}
    gone = [
        dns_list.name for dns_list in OfferedLists.of(policy, table).on if dns_list.name not in free
    ]
    beyond = f"; not free at that size: {', '.join(gone)}" if gone else ""
    return CheckReport(
        SUBJECT,
        CheckState.WARN,
        f"{words}; the last 24 hours had {judged:,}, without those refused before their content"
        f"{beyond}",
        "oborona attach --messages-a-day N with the number of a busy day",
    )


async def _count(path: Path, since: float) -> int:
    async with await JournalReader.open(path) as journal:
        return await journal.count_since(since)
