"""What rules did to messages of the journal, added up."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from oborona import state_files
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.policy.decisive_rules import hangs_on
from oborona.policy.load import Policy
from oborona.types import RuleMode


class RuleStats(msgspec.Struct, kw_only=True):
    """What one rule did."""

    hits: int = 0
    shadow: int = 0  # of these, in shadow mode
    decided: int = 0  # messages whose verdict it decided
    alone: int = 0  # messages that are spam, or are not, only by its part
    verdicts: Counter[str] = msgspec.field(default_factory=Counter)  # of the messages that it hit


class PolicyStats:
    """Adds up journal entries.

    Args:
        policy: in force: its spam line is what verdicts are held to, and its silent rules are told.
    """

    def __init__(self, policy: Policy) -> None:
        self._line = policy.verdict.spam_score
        self.messages = 0
        self.damaged = 0
        self.verdicts: Counter[str] = Counter()
        self.would: Counter[str] = (
            Counter()
        )  # "accept → spam": messages of which all in shadow mode would have made that
        self.rules: dict[str, RuleStats] = {
            rule.name: RuleStats() for rule in policy.rules if rule.enabled
        }

    def add(self, entry: JournalEntry) -> None:
        """Take one message."""
        self.messages += 1
        self.verdicts[entry.verdict] += 1
        if entry.would is not None:
            self.would[f"{entry.verdict} → {entry.would.action}"] += 1
        alone = hangs_on(entry.rules, entry.score, self._line)
        for hit in entry.rules:
            rule = self.rules.setdefault(hit.name, RuleStats())
            rule.hits += 1
            rule.shadow += hit.mode is RuleMode.SHADOW
            rule.decided += hit.name == entry.decided_by
            rule.alone += hit.name in alone
            rule.verdicts[entry.verdict] += 1


class JournalTally(Protocol):
    """Adds up journal entries."""

    damaged: int

    def add(self, entry: JournalEntry) -> None:
        """Take one message."""
        ...


async def read_newest(statistics: JournalTally, state: Path, since: float, within_s: float) -> bool:
    """Add up the entries of the last seconds, the newest first.

    Args:
        statistics: takes them.
        state: folder of the stores.
        since: seconds.
        within_s: when this is over it ends with those that were read.

    Returns:
        Whether all were read.

    Raises:
        StoreError: the journal can't be read.
    """
    until, start, before = time.monotonic() + within_s, time.time() - since, 0
    async with await JournalReader.open(state / state_files.JOURNAL) as journal:
        while entries := await journal.latest_below(before, 200):
            for entry in entries:
                if isinstance(entry, int):
                    statistics.damaged += 1
                    before = entry
                    continue
                if entry.time < start:
                    return True
                statistics.add(entry)
                before = entry.id
            if time.monotonic() > until:
                return False
    return True


async def read_all(
    statistics: JournalTally, state: Path, since: float, begun: Callable[[int], Callable[[], None]]
) -> None:
    """Add up all entries of the last seconds.

    Args:
        statistics: takes them.
        state: folder of the stores.
        since: seconds.
        begun: is told how many there are, and returns what is called with each.

    Raises:
        StoreError: the journal can't be read.
    """
    async with await JournalReader.open(state / state_files.JOURNAL) as journal:
        start = time.time() - since
        one_more = begun(await journal.count_since(start))
        async for entry in journal.since(start):
            one_more()
            if isinstance(entry, int):
                statistics.damaged += 1
            else:
                statistics.add(entry)
