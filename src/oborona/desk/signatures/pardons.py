"""Signatures in mail that people say is no spam: what may be wrong with them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from oborona import state_files
from oborona.desk.events.event_log import open_event_log
from oborona.desk.site import Site
from oborona.ident import to_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.policy.signatures.finder import OWN_PREFIX

LOOKED_S: Final = 14 * 86_400.0
MOST_PARDONS: Final = 300  # messages that are looked at, the newest
WITHIN_S: Final = 1.0
EXAMPLES: Final = 3


class PardonedSignature(msgspec.Struct, frozen=True, kw_only=True):
    """A signature that was found in mail which people pardoned.

    Args:
        id: its name, as the verdict has it: where it is a rule of its own, in capitals.
        messages: how many.
        examples: ids of some, the newest first.
    """

    id: str
    messages: int
    examples: tuple[str, ...]


def pardoned_signatures(site: Site, now: float) -> tuple[list[PardonedSignature], int, bool]:
    """Return signatures found in pardoned mail, how many messages were looked at, and whether these
    are all.

    Raises:
        StoreError: the log of events or the journal can't be read.
    """
    if not (site.state / state_files.EVENTS).exists():
        return [], 0, True
    with open_event_log(site) as log:
        rows = log.rows(
            "SELECT ident, max(heard) AS last FROM event WHERE what = 'pardon' AND counts"
            " AND ident IS NOT NULL AND heard >= ? GROUP BY ident ORDER BY last DESC LIMIT ?",
            (now - LOOKED_S, MOST_PARDONS + 1),
        )
    numbers = [row[0] for row in rows[:MOST_PARDONS]]
    found: dict[str, list[str]] = {}
    looked, over = asyncio.run(_read(site, numbers, found)) if numbers else (0, False)
    ranked = sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    signatures = [
        PardonedSignature(id=name, messages=len(having), examples=tuple(having[:EXAMPLES]))
        for name, having in ranked
    ]
    return signatures, looked, not over and len(rows) <= MOST_PARDONS


async def _read(site: Site, numbers: list[int], found: dict[str, list[str]]) -> tuple[int, bool]:
    """Note which signatures each message had; return how many were read, and whether the time was
    over before all were.
    """
    ends, looked = time.monotonic() + WITHIN_S, 0
    async with await JournalReader.open(site.state / state_files.JOURNAL) as journal:
        for number in numbers:
            if time.monotonic() > ends:
                return looked, True
            entry = await journal.get(number)
            if entry is None:
                continue
            looked += 1
            for name in dict.fromkeys(_names(entry)):
                found.setdefault(name, []).append(to_text(number))
    return looked, False


def _names(entry: JournalEntry) -> Iterator[str]:
    """Yield the signatures of spam that a message had."""
    named: Any = entry.facts.get("signatures_spam", ())
    if isinstance(named, list | tuple | set | frozenset):
        yield from (name for name in named if isinstance(name, str))
    if entry.kept is not None:
        for hit in entry.kept.signatures:
            own = hit.name.removeprefix(OWN_PREFIX)
            # of the store: s42; those of files are written in capitals anyway
            yield own.lower() if own[:1] == "S" and own[1:].isdigit() else own
